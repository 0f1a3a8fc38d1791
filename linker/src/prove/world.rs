//! Facts about the whole image that following one function needs: entries, callees that never return, landing pads, rows.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use unwind::sframe::{Base as RowBase, Row, Rule};

use super::machine::Machine;
use super::value::{Address, Base, Origin, REGISTERS, Register, Value};
use crate::cfi::landing::LandingPad;
use crate::function::Function;

/// Whether a function returns to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// A path leads from its entry to a return instruction.
    Yes,
    /// No path does.
    No,
    /// It was not followed, or not to its end, as at an indirect jump with unknown targets.
    Perhaps,
}

/// A function summary: where a call of it differs from what the calling convention says of any call. Outlined parts of functions,
/// which compilers call like functions, change registers that calls leave as they are; what LLVM's outliner has made leaves others
/// as they are, and its callers rely on that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    registers: Vec<(Register, Value)>,
    /// A bit for each register that it leaves as it is, although it need not.
    spared: u64,
    /// Words in the caller's frame: offsets from the stack pointer at the entry, and values.
    words: Vec<(i64, Value)>,
}

impl Effect {
    /// What differs at the exit, if anything does. `kept` are the callee-saved registers, `relied_on` those caller-saved ones of
    /// which callers know whether they come back as they were. `end` is where the function's own frame ends, in bytes from the
    /// stack pointer at the entry; `word` are the bytes of a register.
    pub(super) fn of(
        exit: &Machine,
        kept: u64,
        relied_on: u64,
        end: i64,
        word: u8,
    ) -> Option<Self> {
        let registers = (0..REGISTERS as Register)
            .filter(|register| kept & 1 << register != 0 && *register != exit.stack_pointer)
            .map(|register| (register, exit.get(register)))
            .filter(|(register, value)| *value != Value::entry(*register))
            .collect::<Vec<_>>();
        let is_saved = |value| matches!(value, Value::Same(Origin::Entry(_)) | Value::Stack(..));
        let words = exit
            .slots
            .iter()
            .filter(|slot| slot.base == Base::ENTRY && slot.offset >= end && slot.size == word)
            .filter(|slot| is_saved(slot.value))
            .map(|slot| (slot.offset, slot.value))
            .collect::<Vec<_>>();
        let is_spared = |register: &Register| {
            relied_on & 1 << register != 0 && exit.get(*register) == Value::entry(*register)
        };
        let spared = (0..REGISTERS as Register).filter(is_spared);
        let spared = spared.fold(0, |spared, register| spared | 1 << register);
        let differs = !registers.is_empty() || spared != 0 || !words.is_empty();
        differs.then_some(Self {
            registers,
            spared,
            words,
        })
    }

    /// Applies it to the caller's state. `before` is that at the call; `pushed`, zero or negative, is what the call itself adds
    /// to the stack pointer.
    pub(super) fn apply(&self, before: &Machine, after: &mut Machine, pushed: i64, word: u8) {
        let sp = before.sp().plus(Value::Constant(pushed.cast_unsigned()));
        let translate = |value: Value| match value {
            Value::Same(Origin::Entry(register)) => before.get(register),
            Value::Stack(Base::ENTRY, offset) => sp.plus(Value::Constant(offset.cast_unsigned())),
            Value::Constant(value) => Value::Constant(value),
            _ => Value::Unknown,
        };
        for (register, value) in &self.registers {
            after.set(*register, translate(*value));
        }
        for register in 0..REGISTERS as Register {
            if self.spared & 1 << register != 0 {
                after.set(register, before.get(register));
            }
        }
        for (offset, value) in &self.words {
            after.store(Address::of(sp, *offset), word, translate(*value));
        }
    }
}

/// Starts of functions. Each instruction is looked for among them, and most are none: a filter of some bits tells that without the large
/// set.
#[derive(Debug, Default)]
pub struct Starts {
    all: FxHashSet<u64>,
    /// A bit for each hash that a start has, or that one had which was removed; a power of two of words.
    filter: Vec<u64>,
}

/// Bits of the filter for each start.
const BITS: usize = 16;

impl Starts {
    /// Whether a function starts there.
    #[must_use]
    pub fn contains(&self, address: &u64) -> bool {
        let (word, bit) = place(&self.filter, *address);
        self.filter.get(word).is_some_and(|word| word & bit != 0) && self.all.contains(address)
    }

    /// Adds a start. Returns whether it is new.
    pub fn insert(&mut self, address: u64) -> bool {
        let is_new = self.all.insert(address);
        if self.filter.len() * 64 < self.all.len() * BITS {
            let words = (self.all.len() * BITS / 64).next_power_of_two() * 2;
            self.filter = vec![0; words];
            for address in &self.all {
                set(&mut self.filter, *address);
            }
        } else {
            set(&mut self.filter, address);
        }
        is_new
    }

    /// Removes a start. Returns whether it was there.
    pub fn remove(&mut self, address: &u64) -> bool {
        self.all.remove(address)
    }
}

fn set(filter: &mut [u64], address: u64) {
    let (word, bit) = place(filter, address);
    filter[word] |= bit;
}

/// The word and the bit of an address in a filter.
fn place(filter: &[u64], address: u64) -> (usize, u64) {
    // Addresses that lie side by side have bits far apart.
    let hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let word = (hash >> 6) as usize & filter.len().wrapping_sub(1);
    (word, 1 << (hash & 63))
}

impl Extend<u64> for Starts {
    fn extend<All: IntoIterator<Item = u64>>(&mut self, all: All) {
        for address in all {
            self.insert(address);
        }
    }
}

impl FromIterator<u64> for Starts {
    fn from_iter<All: IntoIterator<Item = u64>>(all: All) -> Self {
        let mut starts = Self::default();
        starts.extend(all);
        starts
    }
}

/// What is known of the whole image.
#[derive(Debug, Default)]
pub struct World {
    /// The entries of functions.
    pub entries: Starts,
    /// The entries that only a symbol claims.
    pub assumed: FxHashSet<u64>,
    /// The starts of outlined parts of functions (`.cold`, `.warm`), recognized by their symbols.
    pub pieces: FxHashSet<u64>,
    /// The functions with a sized symbol that words of data point to.
    pub pointed: FxHashSet<u64>,
    /// The functions that LLVM's outliner has made of pieces of others, recognized by their symbols. Whoever calls them knows
    /// which registers they change: it keeps its return address in one that other functions may change.
    pub by_outliner: FxHashSet<u64>,
    /// Start and end of each function symbol, ascending.
    pub symbols: Vec<(u64, u64)>,
    /// Addresses of jump tables.
    pub tables: BTreeSet<u64>,
    /// Whether each function that was followed returns.
    pub returning: FxHashMap<u64, Returns>,
    /// Imported functions that never return, known by name: the addresses of their PLT entries and GOT words.
    pub never_returning: FxHashSet<u64>,
    /// Where calls of a function differ from what the calling convention says, by its entry.
    pub effects: FxHashMap<u64, Effect>,
    /// Functions that never return, but end in an interrupt return: the bytes from the stack pointer at the entry to the interrupt frame.
    pub trap_code: FxHashMap<u64, i64>,
    /// Landing pads of exceptions, ascending by the range of calls.
    pub landing_pads: Vec<LandingPad>,
    /// The functions of call frame information, ascending by start.
    pub rows: Vec<Function>,
}

impl World {
    /// Whether a function is entered there.
    #[must_use]
    pub fn is_entry(&self, address: u64) -> bool {
        self.entries.contains(&address)
    }

    /// Whether a jump from one address to the other stays in a function, or leads to a part of one that is no entry itself.
    #[must_use]
    pub fn is_same_function(&self, from: u64, to: u64) -> bool {
        // Mostly so, and then one search tells.
        if let Some(function) = self.function_at(from)
            && (function.start..function.end()).contains(&to)
        {
            return true;
        }
        let (one, other) = (self.extent(from), self.extent(to));
        match (one, other) {
            (Some(one), Some(other)) if one == other => true,
            _ => other.is_some_and(|(piece, _)| !self.entries.contains(&piece)),
        }
    }

    /// Whether the next instruction belongs to the same function. An outlined part that starts there belongs to another one.
    #[must_use]
    pub fn goes_on(&self, at: u64, next: u64) -> bool {
        !self.pieces.contains(&next) && self.is_same_function(at, next)
    }

    /// Where the function that contains an address starts and ends: by call frame information, or by its symbol.
    pub(super) fn extent(&self, address: u64) -> Option<(u64, u64)> {
        if let Some(function) = self.function_at(address) {
            return Some((function.start, function.end()));
        }
        let after = self.symbols.partition_point(|(start, _)| *start <= address);
        let (start, end) = self.symbols[after.checked_sub(1)?];
        (address < end).then_some((start, end))
    }

    /// Whether the function at an address returns.
    #[must_use]
    pub fn returns(&self, address: u64) -> Returns {
        if self.never_returning.contains(&address) {
            return Returns::No;
        }
        let known = self.returning.get(&address);
        known.copied().unwrap_or(Returns::Perhaps)
    }

    /// Where calls of the function at an address differ from what the calling convention says.
    #[must_use]
    pub fn effect(&self, address: u64) -> Option<&Effect> {
        self.effects.get(&address)
    }

    /// Whether a call of the function at an address differs from a call of any other function.
    #[must_use]
    pub fn is_special(&self, address: u64) -> bool {
        self.effects.contains_key(&address) || self.trap_code.contains_key(&address)
    }

    /// The landing pad of the call at an address.
    #[must_use]
    pub fn landing_pad(&self, call: u64) -> Option<&LandingPad> {
        let after = self.landing_pads.partition_point(|pad| pad.start <= call);
        let pad = self.landing_pads.get(after.checked_sub(1)?)?;
        (call < pad.end).then_some(pad)
    }

    /// The function that call frame information has for an address.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<&Function> {
        let after = self.rows.partition_point(|one| one.start <= address);
        let function = self.rows.get(after.checked_sub(1)?)?;
        (address < function.end()).then_some(function)
    }

    /// Bytes of the error code on an interrupt handler's stack, if call frame information places the return address behind one word at the start
    /// of a function (x86-64). No call leaves the return address there.
    #[must_use]
    pub fn error_code(&self, start: u64) -> Option<u8> {
        const WORD: i64 = 8;
        let function = self.function_at(start).filter(|one| one.start == start)?;
        let row = function.rows.first().filter(|row| row.offset == 0)?;
        match (row.cfa, row.return_address) {
            (
                Rule::Value {
                    base: RowBase::StackPointer,
                    offset: cfa,
                },
                Rule::Saved {
                    base: RowBase::Cfa,
                    offset: at,
                },
            ) if cfa.wrapping_add(at) == WORD => Some(WORD as u8),
            _ => None,
        }
    }

    /// The row that call frame information has for an address.
    #[must_use]
    pub fn row_at(&self, address: u64) -> Option<Row> {
        row_of(self.function_at(address)?, address)
    }
}

/// A function's row for an address inside it.
#[must_use]
pub fn row_of(function: &Function, address: u64) -> Option<Row> {
    let mut offset = (address - function.start) as u32;
    if let Some(block) = function.block {
        offset %= u32::from(block).max(1);
    }
    let after = function.rows.partition_point(|row| row.offset <= offset);
    function.rows.get(after.checked_sub(1)?).copied()
}
