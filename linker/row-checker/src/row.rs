//! What a row says, in the checker's terms, and whether it follows from a state.

use unwind::sframe::{Base, Row, Rule};

use crate::architecture::Convention;
use crate::instruction::{REGISTERS, Register};
use crate::state::{Kind, State};
use crate::value::{Cause, RETURN, SIGNED_RETURN, Value, Why};

/// Where a row says that a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is a register plus a number of bytes.
    Register(Register, i32),
    /// It is the word in memory at that.
    Word(Register, i32),
    /// It is the word at an offset from the CFA.
    AtCfa(i32),
}

/// Where a rule says that a value is; `same` is the register that has it if nothing has changed. `None`: it says that the value is lost, or
/// nothing that the checker follows.
#[must_use]
pub fn place(rule: Rule, same: Register, convention: &Convention) -> Option<Place> {
    let offset = |offset: i64| i32::try_from(offset).ok();
    match rule {
        Rule::Same => Some(Place::Register(same, 0)),
        Rule::Undefined => None,
        Rule::Saved {
            base: Base::Cfa,
            offset: at,
        } => Some(Place::AtCfa(offset(at)?)),
        Rule::Value {
            base: Base::Cfa, ..
        } => None,
        Rule::Value { base, offset: at } => {
            Some(Place::Register(register(base, convention)?, offset(at)?))
        }
        Rule::Saved { base, offset: at } => {
            Some(Place::Word(register(base, convention)?, offset(at)?))
        }
    }
}

fn register(base: Base, convention: &Convention) -> Option<Register> {
    match base {
        Base::StackPointer => Some(convention.stack_pointer),
        Base::FramePointer => Some(convention.frame_pointer),
        Base::Register(unwind::aarch64::SP_EL0) => Some(crate::aarch64::SP_EL0),
        Base::Register(number) => Register::try_from(number)
            .ok()
            .filter(|number| usize::from(*number) < REGISTERS),
        Base::Cfa => None,
    }
}

/// What a row says of that does not follow from the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// How the code is entered: called, without a caller, or by a trap.
    Entry,
    /// The canonical frame address.
    Cfa,
    /// The return address.
    ReturnAddress,
    /// The caller's frame pointer.
    FramePointer,
    /// Another register of the caller (32-bit ARM).
    Register(Register),
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Entry => f.write_str("the way the CPU enters the function (call or trap)"),
            Self::Cfa => f.write_str("the CFA"),
            Self::ReturnAddress => f.write_str("the return address"),
            Self::FramePointer => f.write_str("the caller's frame pointer"),
            Self::Register(number) => write!(f, "the caller's r{number}"),
        }
    }
}

/// A row that does not follow: what of it, and why, if something is not known.
pub type Unproven = (Part, Option<Cause>);

/// Judges a row that holds before an instruction with a state. All of it that does not follow is listed.
pub fn judge(
    row: &Row,
    is_trap_code: bool,
    state: &State,
    convention: &Convention,
    unproven: &mut Vec<Unproven>,
) {
    let stack_pointer = convention.stack_pointer;
    let cause = |value| match value {
        Value::Unknown(cause) => Some(cause),
        _ => None,
    };
    if row.is_outermost() && !is_trap_code {
        if state.kind != Kind::Outermost {
            unproven.push((Part::Entry, None));
        }
        return;
    }
    let cfa = match (is_trap_code, state.kind) {
        (false, Kind::Called) | (true, Kind::Trap) => Value::Cfa(0),
        (true, Kind::SwitchedTrap) => Value::Entry(stack_pointer),
        _ => {
            let cause = state.opened.or(cause(state.get(stack_pointer)));
            return unproven.push((Part::Entry, cause));
        }
    };
    let mut follows = |part, rule, same: Register, is_right: &dyn Fn(Value) -> bool| {
        let is_lost = match rule {
            Rule::Undefined => true,
            // A register that no walk has.
            Rule::Value { base, .. } => is_lost(base, convention),
            _ => false,
        };
        if is_lost && part != Part::Cfa && part != Part::ReturnAddress {
            return;
        }
        let value = value(rule, same, state, convention);
        if !is_right(value) {
            unproven.push((part, cause(value)));
        }
    };
    follows(Part::Cfa, row.cfa, stack_pointer, &|value| value == cfa);
    let is_return = |value| {
        let is_signed = row.signed && value == Value::Entry(SIGNED_RETURN);
        value == Value::Entry(RETURN) || is_signed
    };
    follows(
        Part::ReturnAddress,
        row.return_address,
        convention.return_address,
        &is_return,
    );
    let frame_pointer = convention.frame_pointer;
    follows(
        Part::FramePointer,
        row.frame_pointer,
        frame_pointer,
        &|value| value == Value::Entry(frame_pointer),
    );
    if convention.word == 4 {
        for (register, rule) in row.kept.rules() {
            let register = register as Register;
            follows(Part::Register(register), rule, register, &|value| {
                value == Value::Entry(register)
            });
        }
    }
}

/// Returns the value that a rule yields in a state; `same` is the register that has it if nothing has changed.
pub(crate) fn value(rule: Rule, same: Register, state: &State, convention: &Convention) -> Value {
    let not_followed = Cause::new(Why::NotFollowed, 0);
    match place(rule, same, convention) {
        Some(Place::Register(register, offset)) => state.get(register).plus(offset, not_followed),
        Some(Place::Word(register, offset)) => {
            let address = state.get(register).plus(offset, not_followed);
            match address {
                Value::Unknown(_) => address,
                _ => state.load(address, not_followed),
            }
        }
        // Where trap code counts from its own stack, nothing is at a known distance from the interrupted stack pointer.
        Some(Place::AtCfa(_)) if state.kind == Kind::SwitchedTrap => Value::Unknown(not_followed),
        Some(Place::AtCfa(offset)) => state.load(Value::Cfa(offset), not_followed),
        None => Value::Unknown(not_followed),
    }
}

/// Whether a walk never has a register: a row counts from it to say that a value is lost.
fn is_lost(base: Base, convention: &Convention) -> bool {
    match base {
        Base::Register(number) => number == u32::from(convention.lost),
        _ => false,
    }
}
