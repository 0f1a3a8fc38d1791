//! Checks that the frames of a report fit the code: every return address follows a call, and a direct call calls the function of
//! the next inner frame. So no frame can be missing, additional or wrong, except the callee of an indirect call.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iced_x86::{Decoder, DecoderOptions, FlowControl};
use object::{Architecture, Object, ObjectSection, ObjectSymbol};

use super::report::{Frame, Report};

/// The code of an image.
#[derive(Debug)]
pub struct Calls {
    is_arm: bool,
    text: Vec<u8>,
    address: u64,
    /// Start and end of functions. Labels of assembly inside of a function end with it.
    functions: BTreeMap<u64, u64>,
    /// What the functions are called, by their first addresses.
    names: BTreeMap<u64, Vec<String>>,
}

impl Calls {
    /// The calls of an image, which is read once.
    pub fn of(image: &Path) -> Arc<Self> {
        static READ: Mutex<Option<HashMap<PathBuf, Arc<Calls>>>> = Mutex::new(None);
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let read = read.get_or_insert_default();
        let calls = read.entry(image.to_owned());
        calls.or_insert_with(|| Arc::new(Self::read(image))).clone()
    }

    fn read(image: &Path) -> Self {
        let data = std::fs::read(image).expect("the image can be read");
        let file = object::File::parse(&*data).expect("the image is ELF");
        let text = file.section_by_name(".text").expect("an image has code");
        let range = text.address()..text.address() + text.size();
        let is_function = |symbol: &object::Symbol<'_, '_>| {
            // `$x` and `$d` are AArch64's mapping symbols.
            let is_mark = symbol.name().is_ok_and(|name| name.starts_with('$'));
            range.contains(&symbol.address()) && !is_mark
        };
        let mut functions = BTreeMap::new();
        let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for symbol in file.symbols().filter(is_function) {
            let name = rustc_demangle::demangle(symbol.name().unwrap_or_default());
            let known = names.entry(symbol.address()).or_default();
            known.push(format!("{name:#}"));
            let end = symbol.address() + symbol.size();
            let known = functions.entry(symbol.address()).or_insert(end);
            *known = end.max(*known);
        }
        Self {
            is_arm: file.architecture() == Architecture::Aarch64,
            text: text.data().expect("its bytes").to_vec(),
            address: text.address(),
            functions,
            names,
        }
    }

    /// Checks that adjacent frames with return addresses are caller and callee in the code.
    pub fn check(&self, report: &Report) -> Result<(), String> {
        let pairs = report.frames.iter().zip(report.frames.iter().skip(1));
        for ((inner, outer), number) in pairs.zip(1..) {
            let is_apart = report.words.iter().any(|(before, _)| *before == number);
            if outer.letter != 'r' || is_apart {
                continue;
            }
            match self.called_before(outer.address) {
                None => return Err(format!("frame {number} follows no call: {outer:x?}")),
                Some(Some(target)) if !self.leads(target, inner) => {
                    return Err(format!(
                        "frame {number} calls {target:#x} and not {inner:x?}"
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Whether the call before an address is indirect.
    pub fn is_by_pointer(&self, address: u64) -> bool {
        self.called_before(address) == Some(None)
    }

    /// The target of the call before an address, or `Some(None)` if that call is indirect; `None` if there is no call.
    fn called_before(&self, address: u64) -> Option<Option<u64>> {
        let (&start, _) = self.functions.range(..address).next_back()?;
        if self.is_arm {
            let word = self.word(address.checked_sub(4)?)?;
            let is_by_register = word & 0xffff_fc1f == 0xd63f_0000; // blr
            return match word >> 26 {
                0b10_0101 => Some(Some(branch(address - 4, word))), // bl
                _ => is_by_register.then_some(None),
            };
        }
        let code = self.text.get((start - self.address) as usize..)?;
        let decoded = Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter();
        let mut decoded = decoded.take_while(|it| it.ip() < address);
        let call = decoded.find(|it| it.next_ip() == address)?;
        match call.flow_control() {
            FlowControl::Call => Some(Some(call.near_branch_target())),
            FlowControl::IndirectCall => Some(None),
            _ => None,
        }
    }

    /// Whether a call of the function at `target` leads to this frame: directly, by a jump as its first instruction, or by a
    /// tail call that the report shows.
    fn leads(&self, target: u64, frame: &Frame) -> bool {
        let pc = match frame.letter {
            'p' => frame.address,
            _ => frame.address - 1,
        };
        let is_told = frame.tail_called_by.as_ref().is_some_and(|by| {
            let names = self.names.get(&target);
            names.is_some_and(|names| names.contains(by)) || *by == format!("{target:#018x}")
        });
        let target = self.jump_at(target).unwrap_or(target);
        let end = self.functions.get(&target);
        is_told || end.is_some_and(|end| (target..*end).contains(&pc))
    }

    /// The target of the instruction at an address, if it is a jump.
    fn jump_at(&self, address: u64) -> Option<u64> {
        if self.is_arm {
            let word = self.word(address)?;
            return (word >> 26 == 0b00_0101).then(|| branch(address, word)); // b
        }
        let code = self.text.get((address - self.address) as usize..)?;
        let first = Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode();
        (first.flow_control() == FlowControl::UnconditionalBranch)
            .then(|| first.near_branch_target())
    }

    fn word(&self, address: u64) -> Option<u32> {
        let at = address.checked_sub(self.address)? as usize;
        let bytes = self.text.get(at..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    }
}

/// The target of a `b` or `bl`: 26 bits, signed, of words from the instruction on.
fn branch(address: u64, word: u32) -> u64 {
    let distance = (word << 6).cast_signed() >> 4;
    address.wrapping_add_signed(distance.into())
}
