//! Instructions as text.

use disarm64::InsnDisplay;
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

use crate::hardware::Processor;

/// The instructions in these bytes, the first of which is at `start`: each with its address. Where bytes are none, the text says so.
pub fn disassemble(
    arch: Processor,
    start: u64,
    bytes: &[u8],
) -> Box<dyn Iterator<Item = (u64, String)> + '_> {
    match arch {
        Processor::X86_64 => Box::new(x86_64(start, bytes)),
        Processor::Aarch64 => Box::new(aarch64(start, bytes)),
        Processor::Armv7a => Box::new(armv7a(start, bytes)),
    }
}

fn x86_64(start: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, String)> {
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_space_after_operand_separator(true);
    std::iter::from_fn(move || {
        let instruction = decoder.can_decode().then(|| decoder.decode())?;
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        Some((instruction.ip(), text))
    })
}

fn aarch64(start: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, String)> {
    let (words, _) = bytes.as_chunks();
    let addresses = (start..).step_by(4);
    addresses.zip(words).map(|(at, word)| {
        let word = u32::from_le_bytes(*word);
        let text = match disarm64::decoder::decode(word) {
            // It puts tabs between the name and the operands.
            Some(instruction) => {
                let text = instruction.display_at(at).to_string();
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            None => format!("invalid instruction {word:#010x}"),
        };
        (at, text)
    })
}

/// Words, as nothing here knows the instructions.
fn armv7a(start: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, String)> {
    let (words, _) = bytes.as_chunks();
    let addresses = (start..).step_by(4);
    let words = words.iter().map(|word| u32::from_le_bytes(*word));
    addresses.zip(words.map(|word| format!(".word {word:#010x}")))
}
