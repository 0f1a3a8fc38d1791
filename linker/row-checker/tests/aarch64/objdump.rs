//! Each instruction compared with the operands that llvm-objdump prints: flow of control, registers and bytes written, values.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use row_checker::aarch64::{AArch64, SP};
use row_checker::architecture::Architecture as _;
use row_checker::instruction::{Effect, Flow, Instruction, Operand, Register, Size};
use row_checker::program::Program;

use super::inputs::{folder, image, program, succeed, tool};
use super::text::{Text, number};

/// Returns the address and the text of each instruction that llvm-objdump knows in a file.
fn disassembled(path: &Path) -> Vec<(u64, String)> {
    // Each version knows some of these extensions, and passes over the others.
    let extensions = "--mattr=+all,+v8.7a,+mte,+sve2,+sme,+lse,+pauth,+rcpc-immo,+fullfp16,+mops";
    let mut command = tool("llvm-objdump", "llvm");
    let output = succeed(command.args(["-d", "-z", extensions]).arg(path));
    let text = String::from_utf8(output.stdout).unwrap();
    let instruction = |line: &str| {
        let (address, rest) = line.trim_start().split_once(": ")?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let (_, text) = rest.split_once('\t')?;
        // System registers with this prefix do not exist.
        let is_known = !text.contains("<unknown>") && !text.contains("S0_");
        is_known.then(|| (address, text.replace('\t', " ")))
    };
    text.lines().filter_map(instruction).collect()
}

/// How much was compared.
#[derive(Debug, Default)]
struct Counts {
    compared: usize,
    values: usize,
    stores: usize,
    branches: usize,
    coarse: usize,
}

/// Compares each instruction with its text.
fn compare(program: &Program<'_>, texts: &[(u64, String)]) -> Counts {
    let mut counts = Counts::default();
    let mut wrong = Vec::new();
    for (at, text) in texts {
        let mut differs = |how: String| {
            let word = program.code(*at).unwrap().first_chunk();
            wrong.push(format!(
                "{at:x}: {:08x} {text}: {how}",
                u32::from_le_bytes(*word.unwrap())
            ));
        };
        let parsed = Text::parse(text);
        let Some(instruction) = AArch64.decode(program, *at) else {
            differs("not decoded".to_owned());
            continue;
        };
        counts.compared += 1;
        if instruction.flow != parsed.flow() {
            differs(format!("is {:?}", instruction.flow));
        }
        if matches!(instruction.flow, Flow::Jump | Flow::Branch | Flow::Call) {
            counts.branches += 1;
            let printed = parsed.operands.last().and_then(|operand| number(operand));
            if printed != Some(instruction.target.cast_signed()) {
                differs(format!("leads to {:#x}", instruction.target));
            }
        }
        if instruction.is_not_equal != matches!(parsed.mnemonic, "b.ne" | "bc.ne") {
            differs("is_not_equal".to_owned());
        }
        let (written, expected) = (written(&instruction), parsed.written());
        if written != expected {
            match is_coarse(&parsed) && written.is_superset(&expected) {
                true => counts.coarse += 1,
                false => differs(format!("writes {written:?}, not {expected:?}")),
            }
        }
        if let Some(value) = parsed.value(*at) {
            counts.values += 1;
            check_value(&instruction, &parsed, value, &mut differs);
        }
        let stored = stored(&instruction);
        let expected = match parsed.stored() {
            _ if parsed.calls_other_software() => Some((Some(SP), None)),
            _ if parsed.stores_anywhere() => Some((parsed.base(), None)),
            Some((offset, count)) => Some((parsed.base(), Some((offset, count)))),
            None => None,
        };
        counts.stores += usize::from(expected.is_some());
        if stored != expected && !is_coarse(&parsed) {
            differs(format!("stores {stored:?}, not {expected:?}"));
        }
    }
    let few = &wrong[..wrong.len().min(40)];
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        few.join("\n")
    );
    counts
}

/// Returns whether the decoder takes the instruction for any of its group, which may write more.
fn is_coarse(text: &Text<'_>) -> bool {
    let name = text.mnemonic;
    let is_of_matrix = text.operands.iter().any(|operand| operand.contains("za"));
    let has_vector_of_addresses = text
        .operands
        .iter()
        .any(|operand| operand.starts_with("[z"));
    is_of_matrix
        || has_vector_of_addresses
        || name.starts_with("rcw")
        || name.starts_with("dc")
        || name == "sys"
}

fn written(instruction: &Instruction) -> BTreeSet<Register> {
    let written = |effect: &Effect| match effect {
        Effect::Set(register, _) if *register <= SP => Some(*register),
        _ => None,
    };
    instruction.effects.iter().filter_map(written).collect()
}

/// The base register of stores; the distance and the number of bytes that they write, if these are known.
type Stored = (Option<Register>, Option<(i64, i64)>);

/// Returns what the stores of an instruction write together.
fn stored(instruction: &Instruction) -> Option<Stored> {
    let mut all: Option<Stored> = None;
    for effect in &instruction.effects {
        let Effect::Store {
            base, offset, size, ..
        } = *effect
        else {
            continue;
        };
        let part = match size {
            Size::Bytes(count) => Some((i64::from(offset), i64::from(count))),
            _ => None,
        };
        all = Some(match all {
            None => (Some(base), part),
            Some((first, Some((start, count)))) => {
                let (offset, more) = part.unwrap();
                assert_eq!((first, start + count), (Some(base), offset));
                (first, Some((start, count + more)))
            }
            Some(_) => panic!("two stores of unknown size"),
        });
    }
    all
}

fn check_value(
    instruction: &Instruction,
    text: &Text<'_>,
    value: Operand,
    differs: &mut impl FnMut(String),
) {
    let to = text.register(0).unwrap();
    // The manual leaves open what a register contains that is loaded and moved, or loaded twice.
    let is_open = text.moves_base() && (text.base() == Some(to) || text.base() == text.register(1))
        || text.register(1) == Some(to) && text.mnemonic.ends_with("p");
    let sets = |effect: &&Effect| matches!(effect, Effect::Set(register, _) if *register == to);
    let set = instruction.effects.iter().rfind(sets);
    if set != Some(&Effect::Set(to, value)) && !is_open {
        differs(format!("gives {set:?}, not {value:?}"));
    }
}

/// Returns words without a pattern, the same in every run: Marsaglia's xorshift.
pub fn random_words() -> Vec<u32> {
    const COUNT: usize = 200_000;
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        with_ones((state >> 16) as u32)
    };
    std::iter::repeat_with(next).take(COUNT).collect()
}

/// Sets the bits of exclusive accesses and multiplications that the manual requires to be ones.
fn with_ones(word: u32) -> u32 {
    let bit = |number: u32| word >> number & 1 == 1;
    let is_exclusive = word >> 24 & 0x3f == 0b00_1000;
    if word & 0xff60_0000 == 0x9b40_0000 {
        return word | 0x1f << 10;
    }
    if !is_exclusive || bit(21) && bit(23) {
        return word;
    }
    let second = if bit(21) { 0 } else { 0x1f << 10 };
    let status = if bit(22) || bit(23) { 0x1f << 16 } else { 0 };
    word | second | status
}

/// Words without a pattern contain rare instructions as often as common ones.
#[test]
fn random_words_have_the_effects_of_their_text() {
    let words = random_words();
    let (architecture, endianness) = (object::Architecture::Aarch64, object::Endianness::Little);
    let mut file = object::write::Object::new(object::BinaryFormat::Elf, architecture, endianness);
    let text = file.section_id(object::write::StandardSection::Text);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    file.append_section_data(text, &bytes, 4);
    let path = folder("random_words").join("words.o");
    fs::write(&path, file.write().unwrap()).unwrap();
    let counts = compare(&program(0, &words), &disassembled(&path));
    println!("{counts:?}");
    assert!(
        counts.compared > 60_000 && counts.values > 1_000,
        "{counts:?}"
    );
    assert!(
        counts.stores > 2_000 && counts.branches > 2_000,
        "{counts:?}"
    );
}

/// The C library contains hand-written code for many extensions, and compiled code.
#[test]
fn a_c_library_has_the_effects_of_its_text() {
    let path = Path::new("/usr/aarch64-linux-gnu/lib/libc.so.6");
    let target = setup::workspace::target_folder().unwrap();
    let path = setup::file(path, "libc6-arm64-cross", &target).unwrap();
    let bytes = fs::read(&path).unwrap();
    let counts = compare(&image(&bytes), &disassembled(&path));
    println!("{counts:?}");
    assert!(
        counts.compared > 250_000 && counts.values > 80_000,
        "{counts:?}"
    );
    assert!(
        counts.stores > 25_000 && counts.branches > 50_000,
        "{counts:?}"
    );
}
