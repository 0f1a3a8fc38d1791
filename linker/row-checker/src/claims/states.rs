//! What is known at the head of each block.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::{ALL, Claims, States};
use crate::graph::{Edge, OUT};
use crate::instruction::{Effect, Flow};
use crate::state::{Kind, State};
use crate::value::{Cause, RETURN, Value, Why};

/// Heads of blocks to follow.
struct Work {
    heads: VecDeque<u32>,
    /// For each head: it is to be followed, as its state has changed since it was followed last. A head can be listed several times.
    is_due: Vec<bool>,
}

impl Work {
    fn new(count: usize) -> Self {
        Self {
            heads: VecDeque::new(),
            is_due: vec![false; count],
        }
    }

    fn push(&mut self, head: u32) {
        self.is_due[head as usize] = true;
        self.heads.push_back(head);
    }

    fn pop(&mut self) -> Option<u32> {
        loop {
            let head = self.heads.pop_front()?;
            if std::mem::take(&mut self.is_due[head as usize]) {
                return Some(head);
            }
        }
    }
}

impl Claims<'_> {
    /// The state with which control comes to an instruction. Where trap code starts, what its first row claims. Where a function starts that
    /// is declared to have no caller, that it has none, unless a state with a known stack pointer arrives.
    pub(crate) fn believed<'state>(&self, number: u32, state: &'state State) -> Cow<'state, State> {
        let stack_pointer = self.convention.stack_pointer;
        if let Some(declared) = self.trap_starts.get(&number) {
            return Cow::Owned(declared.unless_contradicted(state, stack_pointer, number));
        }
        let is_open = match state.kind {
            Kind::Trap | Kind::SwitchedTrap => false,
            // Called code counts as code without a caller only if it has loaded its stack pointer and never returns.
            Kind::Called | Kind::Mixed => {
                self.is_switched(state) && !self.leads_out[number as usize]
            }
            Kind::Outermost | Kind::Open => !state.get(stack_pointer).is_known(),
        };
        if is_open && self.outermost_starts.contains(&number) {
            let mut state = state.clone();
            state.kind = Kind::Outermost;
            return Cow::Owned(state);
        }
        Cow::Borrowed(state)
    }

    /// Follows blocks until no state changes. Starts with states that arrive at entries, and with heads of blocks to follow again.
    pub(super) fn solve(&mut self, entries: &[(u32, State)], again: Vec<u32>) {
        let mut states = std::mem::take(&mut self.states);
        let mut work = Work::new(states.len());
        for (number, state) in entries {
            self.arrive(&mut states, &mut work, *number, state);
        }
        again
            .into_iter()
            .for_each(|head| work.push(self.leading(head)));
        while let Some(head) = work.pop() {
            let Some(state) = states[head as usize].as_deref() else {
                continue;
            };
            let (last, before) = self.run(head, state, |_, _| {});
            let arrives = |to, state: &State| self.arrive(&mut states, &mut work, to, state);
            if let Some((from, to)) = self.leave(last, before, arrives) {
                self.pushed.entry(from).or_insert(to);
            }
        }
        self.states = states;
    }

    /// Takes into account that control comes to an instruction with a state.
    fn arrive(&self, states: &mut States, work: &mut Work, number: u32, state: &State) {
        let state = &*self.believed(number, state);
        let is_changed = match &mut states[number as usize] {
            Some(own) => own.meet(state, self.convention.stack_pointer, number),
            empty => {
                *empty = Some(Box::new(state.clone()));
                true
            }
        };
        if is_changed {
            work.push(number);
        }
    }

    /// Follows the block with a head: calls `visit` with the state before each instruction, and `arrives` with each state that leaves the
    /// block. Returns a return to an address that was pushed: its number, and that of the instruction at the address.
    pub(crate) fn follow(
        &self,
        head: u32,
        arrives: impl FnMut(u32, &State),
        visit: impl FnMut(u32, &State),
    ) -> Option<(u32, u32)> {
        let (last, before) = self.run(head, self.states[head as usize].as_deref()?, visit);
        self.leave(last, before, arrives)
    }

    /// Follows the block with a head to its last instruction. Returns this instruction, and the state before it.
    pub(super) fn run(
        &self,
        head: u32,
        state: &State,
        mut visit: impl FnMut(u32, &State),
    ) -> (u32, State) {
        let mut state = state.clone();
        let mut number = head;
        visit(number, &state);
        while let Some(next) = self.next_in_block(number) {
            self.step(number, &mut state);
            number = next;
            visit(number, &state);
        }
        (number, state)
    }

    /// The instruction after another one, if both are in one block.
    fn next_in_block(&self, number: u32) -> Option<u32> {
        let node = self.graph.node(number);
        let is_inside = node.runs_on() && node.next != OUT && !self.is_head[node.next as usize];
        is_inside.then_some(node.next)
    }

    /// The last instruction of the block with a head.
    pub(super) fn last(&self, head: u32) -> u32 {
        let mut number = head;
        while let Some(next) = self.next_in_block(number) {
            number = next;
        }
        number
    }

    /// The heads of all blocks that control reaches.
    pub(super) fn heads(&self) -> impl Iterator<Item = u32> {
        let states = self.states.iter().enumerate();
        states.filter_map(|(head, state)| state.as_ref().map(|_| head as u32))
    }

    /// Executes the last instruction of a block. Calls `arrives` with each state that leaves the block. `passed`: the state if the condition of
    /// the instruction does not hold, if it is not the state before it. Returns as [`Self::follow`] does.
    pub(super) fn leave_instruction(
        &self,
        number: u32,
        before: State,
        passed: Option<State>,
        mut arrives: impl FnMut(u32, &State),
    ) -> Option<(u32, u32)> {
        let node = self.graph.node(number);
        let is_call = matches!(node.flow, Flow::Call | Flow::IndirectCall);
        let throws = |(_, edge): &(u32, Edge)| matches!(edge, Edge::LandingPad(_));
        let throws = !is_call && self.graph.more(number).iter().any(throws);
        let is_last = self.is_last_call(number, &before);
        let thrown = throws.then(|| before.clone());
        let passed = passed.or_else(|| node.is_conditional.then(|| before.clone()));
        // If the branch is not taken, its condition does not hold: the comparison of that state counts.
        let compared = passed.as_ref().unwrap_or(&before).compared;
        let mut state = before;
        self.step(number, &mut state);
        let callee = node.target_of_call();
        let straight = self.run_straight(number, &state);
        if is_call {
            let breaks = callee.map_or(0, |callee| self.breaks[callee as usize]);
            self.after_call(number, breaks, &mut state);
        }
        let leaves = node.flow == Flow::IndirectJump && self.leaves(number, &state);
        let stack_pointer = self.convention.stack_pointer;
        self.successors(number, |to, edge| {
            let is_dropped = match edge {
                Edge::Next => is_last,
                Edge::Table => leaves,
                Edge::Anywhere => {
                    let is_call = node.flow != Flow::Unknown && self.leaves_as_called(&state);
                    let is_back = state.opened.is_none()
                        && state.get(self.convention.lost) == Value::Entry(RETURN);
                    !self.is_head[to as usize] || is_call || is_back
                }
                _ => false,
            };
            if to == OUT || is_dropped {
                return;
            }
            let passed = passed.as_ref().unwrap_or(&state);
            match (edge, compared.map(|other| passed.get(other))) {
                (Edge::Passed, _) => arrives(to, passed),
                (Edge::AfterCall, _) => arrives(to, straight.as_ref().unwrap_or(&state)),
                (Edge::LandingPad(arguments), _) => {
                    // What is no call has no effect if it throws. The handler of the trap runs meanwhile.
                    let mut state = thrown.as_ref().unwrap_or(&state).clone();
                    if !is_call {
                        self.after_call(number, 0, &mut state);
                    }
                    let cause = Cause::new(Why::Moved, number);
                    let moved = state.get(stack_pointer).plus(arguments, cause);
                    state.set(stack_pointer, moved);
                    arrives(to, &state);
                }
                (Edge::Next, Some(equal @ Value::Cfa(_)))
                    if node.flow == Flow::Branch && node.is_not_equal =>
                {
                    let mut state = passed.clone();
                    state.set(stack_pointer, equal);
                    arrives(to, &state);
                }
                (Edge::Next, _) if node.flow == Flow::Branch => arrives(to, passed),
                (Edge::Pushed, _) if node.flow != Flow::IndirectJump => {
                    let mut state = state.clone();
                    let is_trap_return = node.flow == Flow::TrapReturn;
                    // It may be the stack pointer of another level or mode.
                    if is_trap_return && self.convention.link.is_some() {
                        let cause = Cause::new(Why::NotFollowed, number);
                        state.set(stack_pointer, Value::Unknown(cause));
                    }
                    // The callee of a thunk has a frame of its own.
                    let is_start = self.program.is_start(self.graph.node(to).at);
                    if is_start && !(is_trap_return && state.kind == Kind::Outermost) {
                        state.kind = Kind::Mixed;
                    }
                    arrives(to, &state);
                }
                _ => arrives(to, &state),
            }
        });
        if let Some(callee) = callee {
            arrives(callee, &self.called);
        }
        self.constant_target(number, &state)
    }

    /// Whether an instruction is a system call that never continues.
    fn is_last_call(&self, number: u32, state: &State) -> bool {
        self.is_hosted
            && state.opened.is_none()
            && self.graph.effects(number).iter().any(|effect| {
                matches!(effect, Effect::SystemCall(calls)
                    if matches!(state.get(calls.number), Value::Number(called) if calls.never_continues(called)))
            })
    }

    /// Applies an instruction's effects.
    pub(crate) fn apply(&self, number: u32, state: &mut State) {
        let code = |address| self.graph.at(address);
        let red_zone = if self.is_hosted {
            self.program.red_zone
        } else {
            0
        };
        state.apply(
            self.graph.effects(number),
            self.convention,
            red_zone,
            number,
            &code,
        );
    }

    /// The instruction that a return or a jump goes to, if its address is a constant.
    pub(crate) fn constant_target(&self, number: u32, state: &State) -> Option<(u32, u32)> {
        let convention = self.convention;
        let addresses = match self.graph.node(number).flow {
            Flow::Return if !state.kind.is_trap() => {
                std::slice::from_ref(&convention.return_address)
            }
            Flow::TrapReturn if !state.kind.is_trap() => convention.trap_returns,
            Flow::IndirectJump => std::slice::from_ref(&convention.lost),
            _ => return None,
        };
        let to = addresses
            .iter()
            .find_map(|address| match state.get(*address) {
                Value::Code(to) => Some(to),
                Value::Number(address) if !self.program.is_relocatable => {
                    self.graph.at(i64::from(address).cast_unsigned())
                }
                _ => None,
            });
        to.map(|to| (number, to))
    }

    /// The state that the row of an instruction is judged by. In another mode no row holds. The row of a call serves while the callee runs, to which all below the stack
    /// pointer belongs: also the return address, where the call pushes it.
    pub(crate) fn during_call<'state>(
        &self,
        number: u32,
        state: &'state State,
    ) -> Cow<'state, State> {
        let is_call = matches!(
            self.graph.node(number).flow,
            Flow::Call | Flow::IndirectCall
        );
        let is_other_mode = self.other_mode.contains(&number);
        if !is_other_mode && (!is_call || state.slots.is_empty()) {
            return Cow::Borrowed(state);
        }
        let mut state = state.clone();
        if is_other_mode {
            state.kind = Kind::Mixed;
        }
        if !is_call {
            return Cow::Owned(state);
        }
        if let Value::Cfa(top) = state.get(self.convention.stack_pointer) {
            state.forget_below(top, Cause::new(Why::CalleeMay, number));
        }
        self.forget_freed(number, &mut state);
        Cow::Owned(state)
    }

    /// The state behind a call, of a callee that breaks the convention in this.
    fn after_call(&self, number: u32, breaks: u64, state: &mut State) {
        let stack_pointer = self.convention.stack_pointer;
        let may = Cause::new(Why::CalleeMay, number);
        let does = Cause::new(Why::CalleeDoes, number);
        if breaks == ALL {
            state.forget_slots(does);
        } else if let Value::Cfa(top) = state.get(stack_pointer) {
            state.forget_below(top, may);
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
