//! Derives rows from states, for instructions without an accepted row. The states come from the pass that judges rows.

use rustc_hash::FxHashSet;
use unwind::sframe::{Base, Row, Rule};
use unwind::{Kept, aarch64};

use crate::architecture::Convention;
use crate::claims::Claims;
use crate::graph::OUT;
use crate::instruction::{Flow, REGISTERS, Register};
use crate::row;
use crate::state::{Kind, State};
use crate::value::{RETURN, SIGNED_RETURN, Value};

/// A row that follows from the state before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The address of the instruction.
    pub at: u64,
    /// Bytes of the instruction.
    pub length: u8,
    /// The row. Its offset is 0.
    pub row: Row,
    /// The row is a row of trap code.
    pub is_trap_code: bool,
}

/// Returns the row that follows from a state, and whether it is a row of trap code. Keeps each rule of `old` that follows. `None`: the state does
/// not yield the frame address or the return address, or no caller exists.
#[must_use]
pub fn derive(old: Option<&Row>, state: &State, convention: &Convention) -> Option<(Row, bool)> {
    let stack_pointer = convention.stack_pointer;
    let (cfa, is_trap_code) = match state.kind {
        Kind::Called => (Value::Cfa(0), false),
        Kind::Trap => (Value::Cfa(0), true),
        Kind::SwitchedTrap => (Value::Entry(stack_pointer), true),
        Kind::Outermost | Kind::Open | Kind::Mixed => return None,
    };
    let places = Places { state, convention };
    let kept = |rule: Option<Rule>, same, right| {
        rule.filter(|rule| row::value(*rule, same, state, convention) == right)
    };
    let frame_pointer = convention.frame_pointer;
    let return_address = convention.return_address;
    let cfa = kept(old.map(|row| row.cfa), stack_pointer, cfa).or_else(|| places.cfa(cfa))?;
    let rule = old.map(|row| row.return_address);
    let find = |right| kept(rule, return_address, right).or_else(|| places.return_address(right));
    let (return_address, signed) = match find(Value::Entry(RETURN)) {
        Some(rule) => (rule, false),
        None => (find(Value::Entry(SIGNED_RETURN))?, true),
    };
    let right = Value::Entry(frame_pointer);
    let lost = Rule::Value {
        base: Base::Register(convention.lost.into()),
        offset: 0,
    };
    let rule = kept(old.map(|row| row.frame_pointer), frame_pointer, right)
        .or_else(|| places.register(frame_pointer))
        .unwrap_or(lost);
    let mut row = Row {
        offset: 0,
        cfa,
        return_address,
        frame_pointer: rule,
        signed,
        kept: Kept::ALL,
    };
    for (register, _) in Kept::ALL.rules() {
        if convention.word == 4 {
            let rule = places.register(register as Register);
            row.kept.set(register, rule.unwrap_or(Rule::Undefined));
        }
    }
    let mut unproven = Vec::new();
    row::judge(&row, is_trap_code, state, convention, &mut unproven);
    unproven.is_empty().then_some((row, is_trap_code))
}

/// Where a state has a value.
struct Places<'a> {
    state: &'a State,
    convention: &'a Convention,
}

impl Places<'_> {
    fn cfa(&self, right: Value) -> Option<Rule> {
        if self.state.kind == Kind::SwitchedTrap {
            return self.word(right).or_else(|| self.in_register(right));
        }
        let bases = [
            (self.convention.stack_pointer, Base::StackPointer),
            (self.convention.frame_pointer, Base::FramePointer),
        ];
        bases
            .into_iter()
            .find_map(|(register, base)| match self.state.get(register) {
                Value::Cfa(offset) => Some(Rule::Value {
                    base,
                    offset: -i64::from(offset),
                }),
                _ => None,
            })
    }

    /// A word of the stack is preferred: at a call, the link register is the callee's.
    fn return_address(&self, right: Value) -> Option<Rule> {
        let is_trap = self.state.kind.is_trap();
        let in_register = || match is_trap {
            true => self.in_register(right),
            false => {
                let link = self.convention.link?;
                (self.state.get(link) == right).then_some(Rule::Same)
            }
        };
        self.word(right).or_else(in_register)
    }

    /// Where the caller's value of a register that callees keep is.
    fn register(&self, register: Register) -> Option<Rule> {
        let right = Value::Entry(register);
        match self.state.get(register) == right {
            true => Some(Rule::Same),
            false => self.word(right),
        }
    }

    /// The word of the stack that has a value: the highest.
    fn word(&self, right: Value) -> Option<Rule> {
        let mut slots = self.state.slots.iter().rev();
        let &(at, _) = slots.find(|(_, value)| *value == right)?;
        if self.state.kind != Kind::SwitchedTrap {
            return Some(Rule::Saved {
                base: Base::Cfa,
                offset: at.into(),
            });
        }
        match self.state.get(self.convention.stack_pointer) {
            Value::Cfa(top) => Some(Rule::Saved {
                base: Base::StackPointer,
                offset: i64::from(at) - i64::from(top),
            }),
            _ => None,
        }
    }

    fn in_register(&self, right: Value) -> Option<Rule> {
        let has_it = |register: &Register| self.state.get(*register) == right;
        let register = (0..REGISTERS as Register)
            .filter(|register| *register != self.convention.lost)
            .find(has_it)?;
        let base = match register {
            crate::aarch64::SP_EL0 => Base::Register(aarch64::SP_EL0),
            register if register == self.convention.frame_pointer => Base::FramePointer,
            register => Base::Register(register.into()),
        };
        Some(Rule::Value { base, offset: 0 })
    }
}

/// For each instruction: whether code that is known to run leads there. A symbol alone does not tell that a function is called.
pub(crate) fn is_called(claims: &Claims<'_>) -> Vec<bool> {
    let program = claims.program;
    let taken = program.taken.iter().map(|(address, _)| *address);
    let taken: FxHashSet<u64> = taken
        .chain(claims.jumps.named.iter().map(|named| named.address))
        .collect();
    let is_known = |number: u32| {
        let at = claims.graph.node(number).at;
        at == program.entry
            || claims.trap_starts.contains_key(&number)
            || taken.contains(&at)
            || program.function(at).is_some()
    };
    let entries = claims.entries.iter().map(|(number, _)| *number);
    let mut work: Vec<u32> = entries.filter(|number| is_known(*number)).collect();
    let mut is_called = vec![false; claims.graph.nodes.len()];
    while let Some(number) = work.pop() {
        if std::mem::replace(&mut is_called[number as usize], true) {
            continue;
        }
        claims.successors(number, |to, _| {
            if to != OUT {
                work.push(to);
            }
        });
        let node = claims.graph.node(number);
        if node.flow == Flow::Call && node.target != OUT {
            work.push(node.target);
        }
    }
    is_called
}
