//! Where code is entered, other than by edges, and what is known there.

use rustc_hash::FxHashMap;
use unwind::sframe::Row;

use super::entered::Entered;
use super::{ALL, Claims};
use crate::graph::{Constant, Edge};
use crate::instruction::{Flow, Named};
use crate::program::Function;
use crate::row::{self, Place};
use crate::state::{Kind, State};
use crate::value::{Cause, RETURN, Value, Why};

impl Claims<'_> {
    /// Finds what is reached, from where, and the calls that come back.
    pub(super) fn find_entries(&mut self) {
        loop {
            self.find_returns();
            self.is_reached = vec![false; self.graph.nodes.len()];
            self.entries.clear();
            self.is_entered.clear();
            let entered = Entered::of(self);
            self.enter_all(&entered);
            let is_new = self.enter_gaps();
            if !self.find_constants() && !is_new {
                return;
            }
        }
    }

    fn enter_all(&mut self, entered: &Entered) {
        let program = self.program;
        self.trap_starts = self.trap_starts(entered);
        self.assumed_starts.clear();
        for (slot, row) in self.slots(entered) {
            let mut state = self.trapped(row, slot);
            if let Some(link) = self.convention.link {
                state.set(link, Value::Entry(link));
            }
            self.trap_starts.insert(slot, state);
            self.enter(entered, self.graph.node(slot).at, false);
        }
        for (place, state) in self.restorers(entered) {
            self.trap_starts.insert(place, state);
            self.enter(entered, self.graph.node(place).at, false);
        }
        self.enter(entered, program.entry, false);
        let outermost =
            |function: &&Function<'_>| function.rows.first().is_some_and(Row::is_outermost);
        let outermost = program.functions.iter().filter(outermost);
        let outermost: Vec<u64> = outermost.map(|function| function.start).collect();
        let numbers = outermost.iter().filter_map(|start| self.graph.at(*start));
        self.outermost_starts.extend(numbers);
        self.enter_unreached(entered, &outermost);
        for (address, word) in &program.taken {
            if !self.jumps.explained.contains(word) {
                self.enter(entered, *address, true);
            }
        }
        let named = std::mem::take(&mut self.jumps.named);
        for Named { at, address, .. } in &named {
            let is_explained =
                self.jumps.explained.contains(address) || self.jumps.explained_names.contains(at);
            if !is_explained {
                self.enter(entered, *address, true);
            }
        }
        self.jumps.named = named;
        // Declared functions that nothing reaches.
        let functions = program.functions.iter().map(|function| function.start);
        let mut starts: Vec<u64> = functions
            .filter(|start| program.is_start(*start))
            .chain(program.symbols.iter().map(|symbol| symbol.start))
            .collect();
        starts.sort_unstable();
        starts.dedup();
        self.enter_unreached(entered, &starts);
        for address in self.left_targets() {
            self.enter(entered, address, true);
        }
        self.enter_fallen(entered);
        self.enter_behind_detours();
    }

    /// Enters functions that nothing reaches: first those that no other code jumps or falls into.
    fn enter_unreached(&mut self, entered: &Entered, starts: &[u64]) {
        for is_first in [true, false] {
            for &start in starts {
                let Some(number) = self.graph.at(start) else {
                    continue;
                };
                if self.is_reached[number as usize] {
                    continue;
                }
                let extent = self.program.extent(start);
                let is_entered = self.predecessors.of(number).iter().any(|before| {
                    let node = self.graph.node(*before);
                    !node.is_padding && !(extent.start..extent.end).contains(&node.at)
                });
                if !is_first || !is_entered && !self.graph.node(number).is_padding {
                    self.enter(entered, start, false);
                }
            }
        }
    }

    /// Whether code that is marked as trap code counts as such: it leads to a return from a trap, or its author has marked it.
    pub(super) fn is_trap(&self, entered: &Entered, number: u32, address: u64) -> bool {
        entered.ends_in_trap_return[number as usize] || self.program.is_trap(address)
    }

    /// Where trap code starts by its author's word, and what its first row claims of that place.
    fn trap_starts(&self, entered: &Entered) -> FxHashMap<u32, State> {
        let is_declared = |start| {
            let declared = &self.program.declared;
            declared
                .binary_search_by_key(&start, |one| one.start)
                .is_ok()
        };
        let functions = self.program.functions.iter();
        let starts =
            functions.filter(|function| function.is_trap_code && is_declared(function.start));
        let claim = |function: &Function<'_>| {
            let number = self.graph.at(function.start)?;
            let row = function
                .rows
                .first()
                .filter(|_| self.is_trap(entered, number, function.start))?;
            Some((number, self.trapped(row, number)))
        };
        starts.filter_map(claim).collect()
    }

    /// Enters the code at an address, unless it is entered already. `is_taken`: code or data contains the address, so that a jump by a pointer
    /// may lead there, too.
    pub(super) fn enter(&mut self, entered: &Entered, address: u64, is_taken: bool) {
        let Some(number) = self.graph.at(address) else {
            return;
        };
        if !self.is_entered.insert(number) {
            return;
        }
        let state = match self.assumed_trap(entered, number, address) {
            Some(state) => {
                self.assumed_starts.insert(number);
                state
            }
            None => self.state_at(entered, number, address, is_taken),
        };
        self.entries.push((number, state));
        self.reach(vec![number]);
    }

    fn state_at(&self, entered: &Entered, number: u32, address: u64, is_taken: bool) -> State {
        let function = self
            .program
            .function(address)
            .filter(|function| function.start == address);
        let first = function.and_then(|function| function.rows.first());
        if let Some(state) = self.trap_starts.get(&number) {
            return state.clone();
        }
        let unknown = |why| State::unknown(Kind::Open, Cause::new(why, number));
        if let Some(row) = first.filter(|_| {
            function.is_some_and(|one| one.is_trap_code) && self.is_trap(entered, number, address)
        }) {
            return self.trapped(row, number);
        }
        // Also at labels inside of a function without a caller.
        let around = self.program.function(address);
        let start = around.and_then(|function| function.rows.first());
        if start.is_some_and(Row::is_outermost) {
            return State::outermost(Cause::new(Why::Entered, number));
        }
        // Nothing is known there but that it has no caller.
        if address == self.program.entry {
            return State::outermost(Cause::new(Why::Entered, number));
        }
        if !is_taken && entered.is_called[number as usize] {
            return State::called(self.convention);
        }
        if first.is_some_and(|row| !self.convention.is_row_of_call(row)) {
            return unknown(Why::DeclaredOtherwise);
        }
        let is_declared = self.program.is_start(address) || self.is_linkage(address);
        if !is_declared && !self.is_before_start(address) {
            return unknown(Why::Taken);
        }
        if entered.leads_to_trap_return[number as usize] {
            return unknown(Why::LeadsToTrapReturn);
        }
        let is_described = self.program.described.binary_search(&address).is_ok();
        if is_taken && self.returned.contains(&address) {
            return unknown(Why::Entered);
        }
        if !is_described && !entered.is_called[number as usize] && self.is_returned_to(number) {
            return unknown(Why::Entered);
        }
        if self.anywhere == ALL || is_taken && self.is_far_called {
            return unknown(Why::AnyJump);
        }
        let mut state = State::called(self.convention);
        let lost = Value::Unknown(Cause::new(Why::AnyJump, number));
        let is_lost = |register: &u8| is_taken && self.anywhere >> register & 1 != 0;
        let registers = (0..64).filter(is_lost);
        registers.for_each(|register| state.set(register, lost));
        state
    }

    /// Whether only padding that no function contains lies between an address and the start of a function, as before functions that can be
    /// patched: who goes there enters the function.
    fn is_before_start(&self, mut address: u64) -> bool {
        loop {
            let extent = self.program.extent(address);
            match self.graph.at(address).map(|number| self.graph.node(number)) {
                Some(node) if node.is_padding && extent.start == extent.end => {
                    address += u64::from(node.length)
                }
                _ => return false,
            }
            if self.program.is_start(address) {
                return true;
            }
        }
    }

    /// The state at the first instruction of trap code: what its first row says is claimed of it.
    pub(super) fn trapped(&self, row: &Row, number: u32) -> State {
        let mut state = State::unknown(Kind::Trap, Cause::new(Why::Entered, number));
        for register in 0..state.registers.len() as u8 {
            state.set(register, Value::Entry(register));
        }
        if let Some(link) = self.convention.link {
            // No row has the interrupted link register. Code before this place may have called.
            state.set(link, Value::Unknown(Cause::new(Why::Entered, number)));
        }
        let stack_pointer = self.convention.stack_pointer;
        let place = |rule| row::place(rule, stack_pointer, self.convention);
        let saved = -2 * self.convention.word;
        let cfa = match place(row.cfa) {
            Some(Place::Register(base, offset))
                if base == stack_pointer && self.convention.aligns_at_traps =>
            {
                Some(Place::Word(base, offset.wrapping_add(saved)))
            }
            place => place,
        };
        let is_aligned = cfa != place(row.cfa);
        let top = match cfa {
            Some(Place::Register(base, offset)) if base == stack_pointer => offset.wrapping_neg(),
            Some(Place::Register(register, 0)) => {
                state.kind = Kind::SwitchedTrap;
                state.set(register, Value::Entry(stack_pointer));
                0
            }
            // With the word at a fixed distance, entries with and without an error code agree where they meet.
            Some(Place::Word(base, offset)) if base == stack_pointer => {
                let word = self.convention.word;
                state.kind = Kind::SwitchedTrap;
                state.slots.push((-word, Value::Entry(stack_pointer)));
                offset.wrapping_neg().wrapping_sub(word)
            }
            _ => return State::unknown(Kind::Mixed, Cause::new(Why::Entered, number)),
        };
        state.set(stack_pointer, Value::Cfa(top));
        let mut claim = |place: Option<Place>, value| match place {
            Some(Place::Register(register, 0)) => state.set(register, value),
            Some(Place::Word(base, offset)) if base == stack_pointer => {
                state.put(top.wrapping_add(offset), value)
            }
            Some(Place::AtCfa(offset)) if state.kind == Kind::Trap => state.put(offset, value),
            // The end of what the processor has saved.
            Some(Place::AtCfa(offset)) if is_aligned => {
                state.put(offset.wrapping_sub(saved + self.convention.word), value)
            }
            _ => {}
        };
        claim(place(row.return_address), Value::Entry(RETURN));
        let frame_pointer = self.convention.frame_pointer;
        claim(
            row::place(row.frame_pointer, frame_pointer, self.convention),
            Value::Entry(frame_pointer),
        );
        state
    }

    /// Gives code that nothing reaches the states of what may lead there: jumps that are not followed, and the call or trap before it.
    /// Returns whether there are new edges.
    fn enter_gaps(&mut self) -> bool {
        let mut is_new = false;
        let extents = std::mem::take(&mut self.extents.all);
        for (extent, all) in &extents {
            let is_open = |number: &u32| {
                let node = self.graph.node(*number);
                let is_code = node.constant == Constant::No;
                self.is_reached[*number as usize] || node.is_padding || !is_code
            };
            if extent.start == extent.end || all.iter().all(is_open) {
                continue;
            }
            let open = all
                .iter()
                .filter(|one| self.jumps.open.contains(one) && self.is_reached[**one as usize])
                .map(|jump| (*jump, Edge::Table));
            let open: Vec<(u32, Edge)> = open.collect();
            // An address that is computed may be that of any instruction there.
            let is_lost =
                |number: &&u32| !is_open(number) && self.graph.node(**number).flow != Flow::Trap;
            let lost: Vec<u32> = all.iter().filter(is_lost).copied().collect();
            for &(jump, edge) in &open {
                for &number in &lost {
                    is_new |= self.graph.add(jump, number, edge);
                }
            }
            let mut before: Option<u32> = None;
            let mut is_in_gap = false;
            for &number in all {
                let node = *self.graph.node(number);
                let is_reached = self.is_reached[number as usize];
                if is_reached || node.constant != Constant::No {
                    before = is_reached.then_some(number).or(before);
                    is_in_gap = false;
                    continue;
                }
                let last = before.map(|number| {
                    (
                        number,
                        *self.graph.node(number),
                        self.returns[number as usize],
                    )
                });
                let is_call = |flow| flow == Flow::Call;
                // Padding counts only behind a call or trap that its function goes on behind.
                let is_behind = last.is_some_and(|(before, last, returns)| {
                    let ends = is_call(last.flow) && !returns || last.flow == Flow::Trap;
                    ends && last.next == number && !self.graph.is_at_end[before as usize]
                });
                if is_in_gap || node.is_padding && !is_behind {
                    continue;
                }
                is_in_gap = true;
                let mut from = open.clone();
                let mut is_after_call = false;
                if let Some((last, before, returns)) = last {
                    let is_ended = is_call(before.flow) && !returns;
                    is_after_call = is_ended && before.next == number;
                    // A trap behind data is data, too: zeros between constants.
                    let is_data = node.flow == Flow::Trap && before.next != number;
                    if (is_ended || before.flow == Flow::Trap) && !is_data {
                        from.push((last, Edge::Behind));
                    }
                }
                // A trap marks the end of the code before it.
                if node.flow == Flow::Trap && (from.is_empty() || is_after_call) {
                    is_in_gap = false;
                    self.graph.nodes[number as usize].is_padding = true;
                    continue;
                }
                if from.is_empty() {
                    let cause = Cause::new(Why::NoWay, number);
                    let row = self.program.row(self.graph.node(number).at);
                    let kind = match row.is_some_and(|(_, row)| row.is_outermost()) {
                        true => Kind::Outermost,
                        false => Kind::Open,
                    };
                    self.entries.push((number, State::unknown(kind, cause)));
                }
                for (jump, edge) in from {
                    is_new |= self.graph.add(jump, number, edge);
                }
                self.reach(vec![number]);
            }
        }
        self.extents.all = extents;
        is_new
    }
}
