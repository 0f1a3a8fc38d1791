//! Checks that the frames of a report fit the code: every return address follows a call, and a direct call calls the function of
//! the next inner frame, or one that jumps there, as the report then says. So no frame can be missing, additional or wrong, except
//! where a pointer tells what is called or jumped to.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iced_x86::{Decoder, DecoderOptions, FlowControl};
use object::{Architecture, Object, ObjectSection, ObjectSymbol};

use super::jumps::Jumps;
use super::memo::Memo;
use super::report::{Frame, Report};

/// The code of an image.
#[derive(Debug)]
pub struct Calls {
    image: PathBuf,
    of: Architecture,
    text: Vec<u8>,
    address: u64,
    /// Start and end of functions. Labels of assembly inside of a function end with it.
    functions: BTreeMap<u64, u64>,
    /// What the functions are called, by their first addresses.
    names: BTreeMap<u64, Vec<String>>,
    /// The jumps of functions asked for so far, by their first addresses.
    jumps: Mutex<HashMap<u64, Arc<Jumps>>>,
}

impl Calls {
    /// The calls of an image, which is read once.
    pub fn of(image: &Path) -> Arc<Self> {
        static READ: Memo<PathBuf, Arc<Calls>> = Memo::new();
        READ.get(image.to_owned(), || Arc::new(Self::read(image)))
    }

    fn read(image: &Path) -> Self {
        let data = std::fs::read(image).expect("the image can be read");
        let file = object::File::parse(&*data).expect("the image is ELF");
        let text = file.section_by_name(".text").expect("an image has code");
        let range = text.address()..text.address() + text.size();
        let is_function = |symbol: &object::Symbol<'_, '_>| {
            // `$x`, `$a` and `$d` are mapping symbols of Arm's architectures.
            let is_mark = symbol.name().is_ok_and(|name| name.starts_with('$'));
            range.contains(&symbol.address()) && !is_mark
        };
        let mut functions = BTreeMap::new();
        let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for symbol in file.symbols().filter(is_function) {
            let name = rustc_demangle::demangle(symbol.name().unwrap_or_default());
            let known = names.entry(symbol.address()).or_default();
            let name = format!("{name:#}");
            // Debug information, which has the names for reports, writes `Type::function` for an inherent one.
            known.extend(name.strip_prefix('<').and_then(|rest| {
                let (path, function) = rest.rsplit_once(">::")?;
                let is_inherent = !path.contains(['<', '>', ' ']);
                is_inherent.then(|| format!("{path}::{function}"))
            }));
            known.push(name);
            let end = symbol.address() + symbol.size();
            let known = functions.entry(symbol.address()).or_insert(end);
            *known = end.max(*known);
        }
        Self {
            image: image.to_owned(),
            of: file.architecture(),
            text: text.data().expect("its bytes").to_vec(),
            address: text.address(),
            functions,
            names,
            jumps: Mutex::default(),
        }
    }

    /// Checks that adjacent frames with return addresses are caller and callee in the code.
    pub fn check(&self, report: &Report) -> Result<(), String> {
        for (index, inner) in report.frames.iter().enumerate() {
            let number = index + 1;
            let is_apart = report.words.iter().any(|(before, _)| *before == number);
            let outer = report.frames.get(number);
            let outer = outer.filter(|outer| outer.letter == 'r' && !is_apart);
            let called = match outer.map(|outer| (outer, self.called_before(outer.address))) {
                Some((outer, None)) => {
                    return Err(format!("frame {number} follows no call: {outer:x?}"));
                }
                Some((_, Some(target))) => target,
                None => None,
            };
            match (called, &inner.tail_called_by) {
                (None, None) => {}
                (None, Some(by)) => {
                    return Err(format!("nothing calls {by} before frame {number}"));
                }
                (Some(target), None) if !self.is_in(inner, target) => {
                    return Err(format!(
                        "frame {number} calls {target:#x} and not {inner:x?}"
                    ));
                }
                (Some(target), Some(by)) if !self.tail_calls(target, by, inner) => {
                    return Err(format!(
                        "frame {number} calls {target:#x}, from where {by} does not jump to {inner:x?}"
                    ));
                }
                _ => {}
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
        if self.of == Architecture::Arm {
            return self.called_in_arm_code(start, address);
        }
        if self.of == Architecture::Aarch64 {
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

    /// The same of ARM code of 32 bits. Thumb code, whose functions are marked by the lowest bit of their addresses, is not read here.
    fn called_in_arm_code(&self, start: u64, address: u64) -> Option<Option<u64>> {
        assert!(start.is_multiple_of(4), "{address:#x} is in Thumb code");
        let at = address.checked_sub(4)?;
        let word = self.word(at)?;
        let is_by_register = word & 0x0fff_fff0 == 0x012f_ff30; // blx
        match (word >> 28, word >> 24 & 15) {
            (0..15, 0b1011) => {
                // bl: 24 bits, from two instructions further on.
                let distance = (word << 8).cast_signed() >> 6;
                Some(Some((at + 8).wrapping_add_signed(distance.into())))
            }
            (0..15, _) => is_by_register.then_some(None),
            _ => None,
        }
    }

    /// Whether a frame is in the function at `target`.
    fn is_in(&self, frame: &Frame, target: u64) -> bool {
        let pc = match frame.letter {
            'p' => frame.address,
            _ => frame.address - 1,
        };
        let end = self.functions.get(&target);
        end.is_some_and(|end| (target..*end).contains(&pc))
    }

    /// Whether the function at `target` is the one that the report names, is another one than the frame's, and gets there by
    /// jumps, also of functions in between.
    fn tail_calls(&self, target: u64, by: &str, frame: &Frame) -> bool {
        let names = self.names.get(&target);
        let is_named = names.is_some_and(|names| names.iter().any(|name| name == by))
            || *by == format!("{target:#018x}");
        if !is_named || self.is_in(frame, target) {
            return false;
        }
        let mut functions = vec![target];
        let mut next = 0;
        while let Some(&function) = functions.get(next) {
            next += 1;
            let jumps = self.jumps_of(function);
            if jumps.anywhere {
                return true;
            }
            for &to in &jumps.to {
                let Some((&start, _)) = self.functions.range(..=to).next_back() else {
                    continue;
                };
                if self.is_in(frame, start) {
                    return true;
                }
                if !functions.contains(&start) {
                    functions.push(start);
                }
            }
        }
        false
    }

    /// Whether a function with this name has a jump by a pointer, so that it may get anywhere.
    pub fn jumps_by_pointer(&self, name: &str) -> bool {
        let named = self.names.iter();
        let mut named = named.filter(|(_, names)| names.iter().any(|known| known == name));
        named.any(|(address, _)| self.jumps_of(*address).anywhere)
    }

    /// The jumps of the function at an address. One of assembly may have no size: it ends where the next one begins.
    fn jumps_of(&self, function: u64) -> Arc<Jumps> {
        let mut known = self.jumps.lock().unwrap_or_else(PoisonError::into_inner);
        let jumps = known.entry(function);
        jumps
            .or_insert_with(|| Arc::new(self.read_jumps_of(function)))
            .clone()
    }

    fn read_jumps_of(&self, function: u64) -> Jumps {
        let after = self.functions.range(function + 1..).next();
        let next = after.map_or(self.address + self.text.len() as u64, |(start, _)| *start);
        let end = self.functions.get(&function).copied();
        let end = end.filter(|end| *end > function).unwrap_or(next);
        Jumps::of(&self.image, function..end)
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
