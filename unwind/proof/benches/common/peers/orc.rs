//! Linux's ORC format for x86-64, and its look-up and step, written anew from what `arch/x86/kernel/unwind_orc.c` and
//! `arch/x86/include/asm/orc_types.h` do: sorted addresses of 4 bytes, an entry of 6 bytes for each, and for every 256 bytes
//! of code the number of the first address to search from.

use super::{Answer, Registers};
use crate::common::program::Program;
use crate::common::shape::Rules;
use crate::common::stack::Stack;

/// Bytes of code for which the search begins at the same address.
const BLOCK: u64 = 256;

/// What `sp_reg` says of the stack pointer before the call.
const FROM_SP: u8 = 5;
const FROM_BP: u8 = 4;
/// What `bp_reg` says of where the frame pointer is.
const UNCHANGED: u8 = 0;
const BY_PREVIOUS_SP: u8 = 1;
/// What `type` says.
const UNDEFINED: u8 = 0;
const END_OF_STACK: u8 = 1;
const CALL: u8 = 2;

/// `struct orc_entry`: its two bytes of bit fields are one number each, as they are read at once.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(2))]
struct Entry {
    sp_offset: i16,
    bp_offset: i16,
    registers: u8,
    kind: u8,
}

impl Entry {
    fn new(rules: Option<Rules>) -> Self {
        let offset = |offset: i32| i16::try_from(offset).expect("an offset that ORC has");
        match rules {
            None => Self {
                sp_offset: 0,
                bp_offset: 0,
                registers: 0,
                kind: END_OF_STACK,
            },
            Some(rules) => {
                let sp = if rules.from_fp { FROM_BP } else { FROM_SP };
                let bp = rules.fp.map_or(UNCHANGED, |_| BY_PREVIOUS_SP);
                Self {
                    sp_offset: offset(rules.cfa),
                    bp_offset: offset(rules.fp.unwrap_or(0)),
                    registers: sp | bp << 4,
                    kind: CALL,
                }
            }
        }
    }

    /// Padding between functions.
    const GAP: Self = Self {
        sp_offset: 0,
        bp_offset: 0,
        registers: 0,
        kind: UNDEFINED,
    };
}

pub struct Peer {
    text: u64,
    text_end: u64,
    /// Linux counts each from its own place in the table; here all count from the start of the code, which is one
    /// addition less.
    addresses: Vec<i32>,
    entries: Vec<Entry>,
    blocks: Vec<u32>,
}

impl Peer {
    pub fn new(program: &Program) -> Self {
        let (text, text_end) = program.text();
        let mut all: Vec<(u64, Entry)> = Vec::new();
        let mut push = |pc: u64, entry: Entry| match all.last_mut() {
            Some(last) if last.0 == pc => last.1 = entry,
            Some(last) if last.1 == entry => {}
            _ => all.push((pc, entry)),
        };
        for function in program.functions() {
            for row in function.rows() {
                push(
                    function.start + u64::from(row.offset),
                    Entry::new(row.rules),
                );
            }
            push(function.end(), Entry::GAP);
        }
        let count = (text_end - text).div_ceil(BLOCK);
        let first = |block: u64| {
            let before = |(pc, _): &(u64, Entry)| *pc <= text + block * BLOCK;
            all.partition_point(before).saturating_sub(1) as u32
        };
        let mut blocks: Vec<u32> = (0..count).map(first).collect();
        blocks.push(all.len() as u32 - 1);
        Self {
            text,
            text_end,
            addresses: all.iter().map(|(pc, _)| (pc - text) as i32).collect(),
            entries: all.iter().map(|(_, entry)| *entry).collect(),
            blocks,
        }
    }

    /// The table's bytes: addresses, entries and blocks.
    pub fn size(&self) -> usize {
        self.entries.len() * (size_of::<i32>() + size_of::<Entry>()) + self.blocks.len() * 4
    }

    /// The entry for an address.
    fn find(&self, pc: u64) -> Option<Entry> {
        if pc < self.text || pc >= self.text_end {
            return None;
        }
        let offset = pc - self.text;
        let block = (offset / BLOCK) as usize;
        let first = *self.blocks.get(block)? as usize;
        let last = *self.blocks.get(block + 1)? as usize + 1;
        let addresses = self.addresses.get(first..last)?;
        let (mut low, mut high, mut found) = (0, addresses.len(), 0);
        while low < high {
            let middle = low + (high - low) / 2;
            if *addresses.get(middle)? <= offset as i32 {
                found = middle;
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let entry = *self.entries.get(first + found)?;
        (entry.kind != UNDEFINED).then_some(entry)
    }

    /// What the next address of a benchmark is computed with.
    pub fn look_up(&self, pc: u64) -> Option<i16> {
        Some(self.find(pc)?.sp_offset)
    }

    pub fn answer(&self, pc: u64) -> Answer {
        let entry = self.find(pc)?;
        if entry.kind == END_OF_STACK {
            return Some(None);
        }
        Some(Some(Rules {
            from_fp: entry.registers & 15 == FROM_BP,
            cfa: entry.sp_offset.into(),
            fp: (entry.registers >> 4 == BY_PREVIOUS_SP).then_some(entry.bp_offset.into()),
        }))
    }

    /// Walks a whole stack, with Linux's checks: each word lies on the stack, and the stack pointer goes up. Whether the
    /// outermost function was reached.
    pub fn walk(
        &self,
        stack: &Stack,
        (mut pc, mut sp, mut fp): Registers,
        mut found: impl FnMut(u64),
    ) -> bool {
        let range = stack.range();
        let read = |address: u64| match range.holds(address, 8) {
            // SAFETY: the address was just checked.
            true => Some(unsafe { stack.read(address) }),
            false => None,
        };
        // The first address is exact; of a return address the call before it is looked up.
        let mut before = 0;
        loop {
            found(pc);
            let Some(entry) = self.find(pc - before) else {
                return false;
            };
            if entry.kind != CALL {
                return entry.kind == END_OF_STACK;
            }
            let base = match entry.registers & 15 {
                FROM_SP => sp,
                FROM_BP => fp,
                _ => return false,
            };
            let caller = base.wrapping_add_signed(entry.sp_offset.into());
            let Some(return_address) = read(caller.wrapping_sub(8)) else {
                return false;
            };
            if entry.registers >> 4 == BY_PREVIOUS_SP {
                let at = caller.wrapping_add_signed(entry.bp_offset.into());
                let Some(word) = read(at) else { return false };
                fp = word;
            }
            if caller <= sp {
                return false;
            }
            (pc, sp, before) = (return_address, caller, 1);
        }
    }
}
