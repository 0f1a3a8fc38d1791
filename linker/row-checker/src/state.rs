//! What is known before an instruction.

mod apply;
mod meet;

use crate::architecture::Convention;
use crate::instruction::{REGISTERS, Register, Size};
use crate::value::{Cause, RETURN, Value, Why};

/// How the code around a place was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Called.
    Called,
    /// Without a caller.
    Outermost,
    /// By an exception or interrupt, which left the interrupted stack pointer at the CFA.
    Trap,
    /// By an exception or interrupt, which saved the interrupted stack pointer: it is [`Value::Entry`] of that register.
    SwitchedTrap,
    /// In an unknown way, with unknown values: no row holds.
    Open,
    /// In several of these ways: no row holds.
    Mixed,
}

impl Kind {
    /// Whether an exception or interrupt has led there.
    #[must_use]
    pub const fn is_trap(self) -> bool {
        matches!(self, Self::Trap | Self::SwitchedTrap)
    }
}

/// Where the CFA of code without a caller is, which its stack pointer is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackBegin {
    /// Not known.
    Unknown,
    /// There is no CFA yet: no instruction has been executed.
    Entry,
    /// At the stack pointer with which the code was entered.
    Entered,
    /// At the value that the instruction with this number has loaded into the stack pointer.
    Loaded(u32),
}

/// What is known before an instruction.
#[derive(Clone, Debug)]
pub struct State {
    /// How the code was entered.
    pub kind: Kind,
    /// Where the stack begins, in code without a caller.
    pub begin: StackBegin,
    /// The registers.
    pub registers: [Value; REGISTERS],
    /// Words of the stack: the offset of each from the CFA, ascending.
    pub slots: Vec<(i32, Value)>,
    /// The register that the stack pointer was compared with.
    pub compared: Option<Register>,
    /// The cause, if an unknown entry ([`Kind::Open`]) also reaches the code.
    pub opened: Option<Cause>,
}

impl State {
    /// Nothing known, for this cause.
    #[must_use]
    pub fn unknown(kind: Kind, cause: Cause) -> Self {
        Self {
            kind,
            begin: StackBegin::Unknown,
            registers: [Value::Unknown(cause); REGISTERS],
            slots: Vec::new(),
            compared: None,
            opened: (kind == Kind::Open).then_some(cause),
        }
    }

    /// That at the first instruction of code without a caller, for this cause.
    #[must_use]
    pub fn outermost(cause: Cause) -> Self {
        Self {
            begin: StackBegin::Entry,
            ..Self::unknown(Kind::Outermost, cause)
        }
    }

    /// That at the first instruction of a function that was called.
    #[must_use]
    pub fn called(convention: &Convention) -> Self {
        let mut state = Self::unknown(Kind::Called, Cause::new(Why::Entered, 0));
        for register in 0..REGISTERS as Register {
            if convention.keeps(register) {
                state.set(register, Value::Entry(register));
            }
        }
        state.set(convention.stack_pointer, Value::Cfa(-convention.pushed()));
        match convention.link {
            Some(link) => state.set(link, Value::Entry(RETURN)),
            None => state
                .slots
                .push((-convention.pushed(), Value::Entry(RETURN))),
        }
        state
    }

    /// The value of a register.
    #[must_use]
    pub fn get(&self, register: Register) -> Value {
        self.registers[usize::from(register)]
    }

    /// Sets a register.
    pub fn set(&mut self, register: Register, value: Value) {
        self.registers[usize::from(register)] = value;
    }

    /// The word at an address.
    #[must_use]
    pub fn load(&self, address: Value, cause: Cause) -> Value {
        let Value::Cfa(at) = address else {
            return Value::Unknown(cause);
        };
        match self.slots.binary_search_by_key(&at, |slot| slot.0) {
            Ok(index) => self.slots[index].1,
            Err(_) => Value::Unknown(cause),
        }
    }

    /// Sets a word of the stack, at an offset from the CFA.
    pub fn put(&mut self, at: i32, value: Value) {
        match self.slots.binary_search_by_key(&at, |slot| slot.0) {
            Ok(index) => self.slots[index].1 = value,
            Err(index) => self.slots.insert(index, (at, value)),
        }
    }

    /// Makes the words unknown that lie, in part, between two offsets from the CFA.
    fn overwrite(&mut self, from: i32, to: i32, word: i32, cause: Cause) {
        for (at, value) in &mut self.slots {
            if *at < to && at.saturating_add(word) > from {
                *value = Value::Unknown(cause);
            }
        }
    }

    /// Makes all words of the stack unknown, except those that hold the caller's registers and the return address. A store to an unknown
    /// place may overwrite the others: see "Assumptions" in `docs/proof.md`.
    pub fn scatter(&mut self, cause: Cause) {
        for (_, value) in &mut self.slots {
            if !matches!(value, Value::Entry(_)) {
                *value = Value::Unknown(cause);
            }
        }
    }

    /// Makes all words of the stack unknown.
    pub fn forget_slots(&mut self, cause: Cause) {
        for (_, value) in &mut self.slots {
            *value = Value::Unknown(cause);
        }
    }

    /// Makes all words and addresses of the stack unknown.
    pub fn leave_stack(&mut self, cause: Cause) {
        self.slots.clear();
        for value in &mut self.registers {
            if matches!(value, Value::Cfa(_) | Value::CfaAnd(..)) {
                *value = Value::Unknown(cause);
            }
        }
    }

    /// Makes the words of the stack below an offset from the frame address unknown.
    pub fn forget_below(&mut self, offset: i32, cause: Cause) {
        for (at, value) in &mut self.slots {
            if *at < offset {
                *value = Value::Unknown(cause);
            }
        }
    }

    fn store(&mut self, address: Value, size: Size, value: Value, word: i32, cause: Cause) {
        let (before, bytes) = match size {
            Size::Bytes(bytes) => (0, Some(i64::from(bytes))),
            // Such an instruction stores downwards while the direction flag is set.
            Size::Counted(register, bytes) => match self.get(register) {
                Value::Number(count @ 0..) => {
                    let bytes = i64::from(count) * i64::from(bytes);
                    (bytes, Some(bytes))
                }
                _ => (0, None),
            },
            Size::Unknown | Size::Anywhere => (0, None),
        };
        let (Value::Cfa(at), Some(bytes)) = (address, bytes) else {
            return self.scatter(cause);
        };
        let from = i32::try_from(i64::from(at) - before).unwrap_or(i32::MIN);
        self.overwrite(
            from,
            i32::try_from(i64::from(at) + bytes).unwrap_or(i32::MAX),
            word,
            cause,
        );
        let is_kept = match value {
            Value::Cfa(_) | Value::CfaAnd(..) | Value::Entry(_) | Value::Code(_) => true,
            // Not a value that the word had before.
            Value::Unknown(cause) => cause.why() == Why::Moved,
            Value::Number(_) => false,
        };
        if bytes == i64::from(word) && is_kept {
            self.put(at, value);
        }
    }
}
