//! What holds from an address on, and how a map stores it.

use unwind::map::format;
use unwind::sframe::{Base, Rule};
use unwind::{Kept, Proof, Rules};

/// What holds from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// There is no function.
    Nothing,
    /// There is a function without rows, trap or signal code or not.
    NoRows {
        /// Which of both.
        signal: bool,
    },
    /// There is a row.
    Row {
        /// What it says.
        rules: Rules,
        /// What it says of further registers.
        kept: Kept,
        /// The function is trap or signal code.
        signal: bool,
        /// The proof of the row.
        proof: Proof,
    },
}

/// A stored rule: its flags, and the numbers behind them or in a long rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Stored {
    pub(super) flags: u16,
    pub(super) numbers: Numbers,
    /// As [`Kept::bytes`] has it.
    pub(super) kept: [u8; Kept::COUNT],
}

impl Stored {
    /// Whether it says that there is no function.
    pub(super) fn is_nothing(&self) -> bool {
        self.flags >> format::SHIFTS[0] == format::NO_FUNCTION
    }
}

/// The numbers of a stored rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Numbers {
    /// Offsets, in words.
    Short([i16; 3]),
    /// Registers and offsets.
    Long([u32; 3], [i32; 3]),
}

/// How a state is stored, with words of so many bytes; `None` if an offset does not fit.
pub(super) fn store(state: &State, word: i64) -> Option<Stored> {
    let other = |codes: u16, signal| {
        Some(Stored {
            flags: codes << format::SHIFTS[0] | if signal { format::SIGNAL } else { 0 },
            numbers: Numbers::Short([0; 3]),
            kept: Kept::ALL.bytes(),
        })
    };
    let (rules, kept, signal, proof) = match *state {
        State::Nothing => return other(format::NO_FUNCTION, false),
        State::NoRows { signal } => return other(format::NO_ROWS, signal),
        State::Row {
            rules,
            kept,
            signal,
            proof,
        } => (rules, kept, signal, proof),
    };
    let parts = [rules.cfa(), rules.return_address(), rules.frame_pointer()].map(part);
    let mut flags = if signal { format::SIGNAL } else { 0 };
    flags |= match proof {
        Proof::Proven | Proof::Unknown => 0,
        Proof::IfEntered if signal => format::UNPROVEN | format::IF_ENTERED,
        Proof::Unproven | Proof::IfEntered => format::UNPROVEN,
    };
    flags |= if rules.is_signed() && !signal {
        format::SIGNED
    } else {
        0
    };
    for ((code, _, _), shift) in parts.into_iter().zip(format::SHIFTS) {
        flags |= u16::from(code) << shift;
    }
    let registers = parts.map(|(_, register, _)| register);
    let offsets = parts.map(|(_, _, offset)| offset);
    let short = offsets.map(|offset| {
        let scaled = offset % word == 0;
        i16::try_from(offset / word).ok().filter(|_| scaled)
    });
    if let ([0, 0, 0], [Some(a), Some(b), Some(c)]) = (registers, short)
        && !parts
            .iter()
            .any(|(code, _, _)| code & 12 == format::FROM_REGISTER)
    {
        return Some(Stored {
            flags,
            numbers: Numbers::Short([a, b, c]),
            kept: kept.bytes(),
        });
    }
    let mut long = [0; 3];
    for (long, offset) in long.iter_mut().zip(offsets) {
        *long = i32::try_from(offset).ok()?;
    }
    Some(Stored {
        flags: flags | format::LONG,
        numbers: Numbers::Long(registers, long),
        kept: kept.bytes(),
    })
}

/// A rule's code, register and offset.
fn part(rule: Rule) -> (u8, u32, i64) {
    let (kind, base, offset) = match rule {
        Rule::Same => return (format::SAME, 0, 0),
        Rule::Undefined => return (format::UNDEFINED, 0, 0),
        Rule::Value { base, offset } => (format::VALUE, base, offset),
        Rule::Saved { base, offset } => (format::SAVED, base, offset),
    };
    let (base, register) = match base {
        Base::Cfa => (format::FROM_CFA, 0),
        Base::StackPointer => (format::FROM_STACK_POINTER, 0),
        Base::FramePointer => (format::FROM_FRAME_POINTER, 0),
        Base::Register(number) => (format::FROM_REGISTER, number),
    };
    (kind | base, register, offset)
}
