//! What functions break of the calling convention: the stack pointer, the return address, and the registers that a callee keeps.
//!
//! At each way out these are compared with the entry. What is seen to be broken, or has different values by ways, is not relied on behind
//! calls. What is not followed is taken as kept.

use super::Claims;
use crate::graph::{Edge, OUT};
use crate::instruction::{Effect, Flow, Operand};
use crate::state::{Kind, State};
use crate::value::{RETURN, Value, Why};

/// The stack pointer or the return address is broken: all is.
pub const ALL: u64 = u64::MAX;

/// How control leaves a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It returns.
    Return,
    /// It jumps.
    Jump,
}

impl Claims<'_> {
    pub(super) fn is_linkage(&self, at: u64) -> bool {
        self.program
            .section(at)
            .is_some_and(|section| section.is_linkage)
    }

    pub(super) fn is_entry(&self, state: &State) -> bool {
        let top = -self.convention.pushed();
        let address = match self.convention.link {
            Some(link) => state.get(link),
            None => state.load(
                Value::Cfa(top),
                crate::value::Cause::new(Why::NothingStored, 0),
            ),
        };
        state.get(self.convention.stack_pointer) == Value::Cfa(top)
            && address == Value::Entry(RETURN)
    }

    /// Whether the stack pointer was loaded, as switches of tasks and long jumps do. Where such code goes on, it goes on as behind a call
    /// that has returned: an assumption.
    pub(super) fn is_switched(&self, state: &State) -> bool {
        match state.get(self.convention.stack_pointer) {
            Value::Entry(_) => true,
            Value::Unknown(cause) => cause.why().is_load(),
            _ => false,
        }
    }

    /// What a way out with this state breaks.
    pub(super) fn broken(&self, state: &State, way: Way) -> u64 {
        if state.kind.is_trap() || state.kind == Kind::Outermost {
            return 0;
        }
        let is_broken = |value: Value, right: Value| match value {
            Value::Unknown(cause) => !cause.why().may_be_right(),
            value => value != right,
        };
        let is_known = state.get(self.convention.stack_pointer).is_known();
        // On a stack whose stack pointer is known, nothing was loaded from another one.
        let is_elsewhere = |value: Value| matches!(value, Value::Unknown(cause) if cause.why() == Why::NotFollowed);
        let lost = self.lost_registers(state, &|value, right| {
            is_broken(value, right) || is_known && is_elsewhere(value)
        });
        if self.is_switched(state) {
            // The function jumps to its return address after it has changed to another stack.
            let is_popped = state.get(self.convention.lost) == Value::Entry(RETURN);
            return match way == Way::Jump && is_popped {
                true => ALL,
                false => lost | self.switched(),
            };
        }
        let target = state.get(self.convention.lost);
        if way == Way::Jump && matches!(target, Value::Unknown(cause) if cause.why() == Why::Moved)
        {
            return ALL;
        }
        let stack_pointer = state.get(self.convention.stack_pointer);
        let pushed = self.convention.pushed();
        // A return may also go to an address that was pushed: as a jump. If that is the caller's, the caller has another stack pointer.
        let is_pushed = pushed > 0 && stack_pointer == Value::Cfa(-pushed);
        let is_back = state.get(self.convention.return_address) == Value::Entry(RETURN);
        let is_back = is_back && self.convention.link.is_none();
        let is_return = is_back || way != Way::Jump && !is_pushed;
        let (top, address) = match (is_return, self.convention.link) {
            (true, _) => (0, state.get(self.convention.return_address)),
            (false, Some(link)) => (0, state.get(link)),
            (false, None) => {
                // Of an unknown stack nothing is stored.
                let why = match stack_pointer {
                    Value::Cfa(_) => Why::NothingStored,
                    _ => Why::NotFollowed,
                };
                let cause = crate::value::Cause::new(why, 0);
                (-pushed, state.load(Value::Cfa(-pushed), cause))
            }
        };
        if is_broken(stack_pointer, Value::Cfa(top)) || is_broken(address, Value::Entry(RETURN)) {
            return ALL;
        }
        lost
    }

    /// The registers that callees keep and this state has lost: a bit for each.
    fn lost_registers(&self, state: &State, is_broken: &dyn Fn(Value, Value) -> bool) -> u64 {
        let kept = (0..64).filter(|register| self.convention.keeps(*register));
        let lost = kept.filter(|register| is_broken(state.get(*register), Value::Entry(*register)));
        lost.fold(0, |all, register| all | 1 << register)
    }

    /// The bit that says of an instruction that a way out is reached with a loaded stack pointer.
    pub(super) fn switched(&self) -> u64 {
        1 << self.convention.stack_pointer
    }

    /// Whether a return removes more than the return address from the stack (`ret N` on x86-64).
    fn pops_more(&self, number: u32) -> bool {
        let (stack_pointer, pushed) = (self.convention.stack_pointer, self.convention.pushed());
        let usual = Effect::Set(stack_pointer, Operand::Sum(stack_pointer, pushed));
        pushed > 0 && !self.graph.effects(number).contains(&usual)
    }

    /// What is broken where control leaves its function at the last instruction of the block with a head.
    pub(crate) fn broken_at(&self, head: u32, number: u32) -> u64 {
        let node = self.graph.node(number);
        let mut falls_out = false;
        self.successors(number, |to, _| falls_out |= to == OUT);
        if falls_out {
            return ALL;
        }
        match node.flow {
            // What a callee does that is seen to go elsewhere, its caller does. If the callee is followed, the state has what the callee does.
            Flow::Call
                if node.target != OUT
                    && self.breaks[node.target as usize] == ALL
                    && self.straight(number).is_none() =>
            {
                return ALL;
            }
            Flow::Return | Flow::TrapReturn | Flow::Unknown | Flow::IndirectJump => {}
            _ => return 0,
        }
        let behind = self.behind(head);
        let Some(behind) = behind.filter(|one| self.constant_target(number, one).is_none()) else {
            return 0;
        };
        match node.flow {
            Flow::Return if self.is_switched(&behind) && self.pops_more(number) => ALL,
            Flow::Return => self.broken(&behind, Way::Return),
            Flow::TrapReturn | Flow::Unknown if !behind.kind.is_trap() => ALL,
            Flow::IndirectJump if self.is_linkage(node.at) => 0,
            Flow::IndirectJump if self.jumps.open.contains(&number) => {
                let mut edges = self.graph.more(number).iter();
                let has_table = edges.any(|one| one.1 == Edge::Table);
                match has_table && !self.leaves_as_called(&behind) {
                    true => 0,
                    false => self.broken(&behind, Way::Jump),
                }
            }
            _ => 0,
        }
    }

    /// Collects what ways from each instruction break. Returns the heads of blocks whose calls, or way out, break more now.
    pub(super) fn find_breaks(&mut self) -> Vec<u32> {
        let mut breaks = self.breaks.clone();
        let mut work: Vec<u32> = Vec::new();
        let mut call_heads: Vec<(u32, u32)> = Vec::new();
        let mut heads: Vec<(u32, u32)> = Vec::new();
        let mut astray: Vec<u32> = Vec::new();
        for head in self.heads() {
            let number = self.last(head);
            let broken = self.broken_at(head, number);
            let node = self.graph.node(number);
            if node.flow == Flow::Call {
                call_heads.push((head, node.target));
                if broken == ALL {
                    astray.push(number);
                }
            }
            heads.push((head, number));
            breaks[number as usize] |= broken;
            if breaks[number as usize] != 0 {
                work.push(number);
            }
        }
        self.astray.extend(astray);
        while let Some(number) = work.pop() {
            let broken = breaks[number as usize];
            for &before in self.predecessors.of(number) {
                let own = &mut breaks[before as usize];
                if broken & !*own != 0 {
                    *own |= broken;
                    work.push(before);
                }
            }
        }
        let before = std::mem::replace(&mut self.breaks, breaks);
        let more = |number: u32| self.breaks[number as usize] & !before[number as usize];
        let is_more = |target: u32| target != OUT && more(target) != 0;
        let again = call_heads.iter().filter(|(_, target)| is_more(*target));
        let left = heads
            .iter()
            .filter(|(_, last)| more(*last) & self.switched() != 0);
        again.chain(left).map(|(head, _)| *head).collect()
    }
}
