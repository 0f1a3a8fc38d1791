//! What is known at the head of each block.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::{ALL, Claims};
use crate::graph::{Edge, OUT};
use crate::instruction::Flow;
use crate::state::{Kind, State};
use crate::value::{Cause, Value, Why};

impl Claims<'_> {
    /// Takes into account that control comes to an instruction with a state.
    pub(super) fn arrive(&mut self, number: u32, state: &State, work: &mut VecDeque<u32>) {
        let state = &*self.believed(number, state);
        let is_changed = match &mut self.states[number as usize] {
            Some(own) => own.meet(state, self.convention.stack_pointer, number),
            empty => {
                *empty = Some(Box::new(state.clone()));
                true
            }
        };
        if is_changed {
            work.push_back(number);
        }
    }

    /// The state with which control comes to an instruction. Where trap code starts, what its first row claims. Where a function starts that
    /// is declared to have no caller, that it has none, unless a state with a known stack pointer arrives.
    pub(crate) fn believed<'state>(&self, number: u32, state: &'state State) -> Cow<'state, State> {
        let stack_pointer = self.convention.stack_pointer;
        if let Some(declared) = self.trap_starts.get(&number) {
            return Cow::Owned(declared.unless_contradicted(state, stack_pointer, number));
        }
        let is_open = !state.kind.is_trap() && !state.get(stack_pointer).is_known();
        if is_open && self.outermost_starts.contains(&number) {
            let mut state = state.clone();
            state.kind = Kind::Outermost;
            return Cow::Owned(state);
        }
        Cow::Borrowed(state)
    }

    /// Follows blocks until no state changes.
    pub(super) fn solve(&mut self, mut work: VecDeque<u32>) {
        let mut arrivals: Vec<(u32, State)> = Vec::new();
        while let Some(head) = work.pop_front() {
            if let Some((from, to)) =
                self.follow(head, |to, state| arrivals.push((to, state)), |_, _| {})
            {
                self.pushed.entry(from).or_insert(to);
            }
            for (to, state) in arrivals.drain(..) {
                self.arrive(to, &state, &mut work);
            }
        }
    }

    /// Follows the block with a head: calls `visit` with the state before each instruction, and `arrives` with each state that leaves the
    /// block. Returns a return to an address that was pushed: its number, and that of the instruction at the address.
    pub(crate) fn follow(
        &self,
        head: u32,
        mut arrives: impl FnMut(u32, State),
        mut visit: impl FnMut(u32, &State),
    ) -> Option<(u32, u32)> {
        let mut state = (**self.states[head as usize].as_ref()?).clone();
        let mut number = head;
        loop {
            let node = self.graph.node(number);
            visit(number, &state);
            let compared = state.compared;
            let before = node.is_conditional.then(|| state.clone());
            self.step(number, &mut state);
            if node.runs_on() && node.next != OUT && !self.is_head[node.next as usize] {
                number = node.next;
                continue;
            }
            let leaves = self.leaves(number, &state);
            let is_call = self.leaves_as_called(&state);
            let pointers = [self.convention.stack_pointer, self.convention.frame_pointer];
            let is_known = pointers
                .iter()
                .any(|pointer| state.get(*pointer).is_known());
            self.successors(number, |to, edge| {
                // A trap that marks the end of code that nothing reaches is none that a handler resumes behind.
                let is_end = edge == Edge::Resumed && !node.is_padding && !is_known;
                let is_dropped = match edge {
                    Edge::Table => leaves,
                    Edge::Anywhere => is_call || !self.is_head[to as usize],
                    _ => is_end,
                };
                if to == OUT || is_dropped {
                    return;
                }
                let mut along = match (edge, &before) {
                    (Edge::Passed, Some(before)) => before.clone(),
                    _ => self.along(number, edge, &state, compared),
                };
                // The callee of a thunk has a frame of its own.
                if edge == Edge::Pushed
                    && node.flow != Flow::IndirectJump
                    && self.program.is_start(self.graph.node(to).at)
                {
                    along.kind = Kind::Mixed;
                }
                arrives(to, along);
            });
            if node.flow == Flow::Call && node.target != OUT {
                arrives(node.target, State::called(self.convention));
            }
            return self.constant_target(number, &state);
        }
    }

    /// Applies an instruction's effects.
    pub(crate) fn apply(&self, number: u32, state: &mut State) {
        let code = |address| self.graph.at(address);
        state.apply(
            self.graph.effects(number),
            self.convention,
            self.program.red_zone,
            number,
            &code,
        );
    }

    /// The instruction that a return or a jump goes to, if its address is a constant.
    pub(crate) fn constant_target(&self, number: u32, state: &State) -> Option<(u32, u32)> {
        let address = match self.graph.node(number).flow {
            Flow::Return | Flow::TrapReturn if !state.kind.is_trap() => {
                self.convention.return_address
            }
            Flow::IndirectJump => self.convention.lost,
            _ => return None,
        };
        let to = match state.get(address) {
            Value::Code(to) => Some(to),
            Value::Number(address) if !self.program.is_relocatable => {
                self.graph.at(i64::from(address).cast_unsigned())
            }
            _ => None,
        };
        to.map(|to| (number, to))
    }

    /// The state behind an instruction, as it leaves by an edge.
    fn along(&self, number: u32, edge: Edge, state: &State, compared: Option<u8>) -> State {
        let mut state = state.clone();
        let node = self.graph.node(number);
        let is_call = matches!(node.flow, Flow::Call | Flow::IndirectCall);
        let is_followed = edge == Edge::AfterCall && self.run_straight(number, &mut state);
        if is_call && !is_followed {
            let is_direct = node.flow == Flow::Call && node.target != OUT;
            let breaks = if is_direct {
                self.breaks[node.target as usize]
            } else {
                0
            };
            self.after_call(number, breaks, &mut state);
        }
        if let Edge::LandingPad(arguments) = edge {
            let stack_pointer = self.convention.stack_pointer;
            let moved = state
                .get(stack_pointer)
                .plus(arguments, Cause::new(Why::Moved, number));
            state.set(stack_pointer, moved);
        }
        if node.flow == Flow::Branch
            && node.is_not_equal
            && edge == Edge::Next
            && let Some(other) = compared
            && let equal @ Value::Cfa(_) = state.get(other)
        {
            state.set(self.convention.stack_pointer, equal);
        }
        state
    }

    /// The state behind a call, of a callee that breaks the convention in this.
    fn after_call(&self, number: u32, breaks: u64, state: &mut State) {
        let stack_pointer = self.convention.stack_pointer;
        let may = Cause::new(Why::CalleeMay, number);
        let does = Cause::new(Why::CalleeDoes, number);
        if breaks == ALL {
            state.forget_slots(does);
        } else if let Value::Cfa(top) = state.get(stack_pointer) {
            for (at, value) in &mut state.slots {
                if *at < top {
                    *value = Value::Unknown(may);
                }
            }
        }
        state.scatter(may);
        for register in 0..state.registers.len() as u8 {
            let is_broken = breaks == ALL || breaks >> register & 1 != 0;
            if register == stack_pointer {
                if breaks == ALL {
                    state.set(register, Value::Unknown(does));
                }
            } else if !self.convention.keeps(register) {
                state.set(register, Value::Unknown(may));
            } else if is_broken {
                state.set(register, Value::Unknown(does));
            }
        }
    }
}
