//! Stacks on which a walk is complete.

use std::collections::HashMap;

use unwind::sframe::{Abi, Base, Row, Rule, Section};
use unwind::{Code, End, Range};

use super::exercise::{self, Start};
use super::random::Random;

/// A stack as code would leave it: chosen rows of a section, one called by the next, up to a function that nobody calls.
pub struct Chain {
    /// The innermost program counter.
    pc: u64,
    /// Return addresses, by where they lie.
    pub words: HashMap<u64, u64>,
    /// The same addresses, and the instruction that ends there.
    calls: Vec<u64>,
    call: &'static [u8],
    /// The stack, from the innermost stack pointer to its begin.
    pub stack: Range,
}

impl Chain {
    /// One of `length` calls; none if the section has no function that nobody calls, or none that calls.
    pub fn new(section: &Section<'_>, length: usize, random: &mut Random) -> Option<Self> {
        // `call rax`; `blr x0`. What is looked up is the last byte of the one, and the first instruction of the other.
        let (alignment, call, after): (_, &[u8], _) = match section.abi() {
            Abi::Amd64 => (8, &[0xff, 0xd0], 1),
            Abi::AArch64Little | Abi::AArch64Big => (16, &[0, 0, 0x3f, 0xd6], 4),
            _ => return None,
        };
        let rows = section
            .functions()
            .filter(|function| !function.is_signal_frame() && !function.is_pc_mask())
            .flat_map(|function| {
                function.rows().filter_map(move |row| {
                    let pc = function.start().wrapping_add(row.offset.into());
                    // Some tables have rows behind a function's end, and some that the next one replaces.
                    // At even addresses only, so that no call lies over another.
                    (pc % 2 == 0 && section.lookup(pc).ok()?.1 == row).then_some((pc, row))
                })
            });
        let (last, rows): (Vec<_>, Vec<_>) = rows.partition(|(_, row)| row.is_outermost());
        // Bytes from the stack pointer to the CFA and to the return address, if all that is read lies between.
        let frame = |row: &Row| match (row.cfa, row.return_address, row.frame_pointer) {
            (
                Rule::Value {
                    base: Base::StackPointer,
                    offset: cfa,
                },
                Rule::Saved {
                    base: Base::Cfa,
                    offset: return_address,
                },
                Rule::Same
                | Rule::Saved {
                    base: Base::Cfa, ..
                },
            ) => {
                let inside = |offset: i64| (0..cfa).contains(&(cfa + offset));
                let saved = match row.frame_pointer {
                    Rule::Saved { offset, .. } => inside(offset),
                    _ => true,
                };
                (cfa % alignment == 0 && inside(return_address) && saved)
                    .then_some((cfa.cast_unsigned(), (cfa + return_address).cast_unsigned()))
            }
            _ => None,
        };
        let calling: Vec<_> = rows
            .iter()
            .filter_map(|(pc, row)| Some((*pc, frame(row)?)))
            .collect();
        let start = 0x10_0000;
        let (mut pc, mut sp, mut words) = (None, start, HashMap::new());
        let mut slot = None;
        // The return address is behind the call.
        let mut enter = |at: u64, slot: Option<u64>| match slot {
            Some(slot) => _ = words.insert(slot, at.wrapping_add(after)),
            None => pc = Some(at),
        };
        for _ in 0..length {
            let (at, (size, return_address)) = *calling.get(random.below(calling.len()))?;
            enter(at, slot);
            slot = Some(sp + return_address);
            sp += size;
        }
        enter(last.get(random.below(last.len()))?.0, slot);
        Some(Self {
            pc: pc?,
            calls: words.values().copied().collect(),
            words,
            call,
            stack: Range::new(start, sp),
        })
    }

    pub fn walk(&self, bytes: &[u8], address: u64, stack: Range) -> Option<End> {
        let word = |address: u64| self.words.get(&address).copied().unwrap_or(0);
        let length = self.call.len() as u64;
        let call = |end: &u64| Code::new(self.call, end.wrapping_sub(length));
        let code: Vec<_> = self.calls.iter().map(call).collect();
        let start = Start {
            registers: [self.pc, self.stack.start, 0, 0],
            ranges: &[stack],
            code: &code,
            word: &word,
            choices: 0,
        };
        exercise::walk(bytes, address, &start)
    }
}
