//! One function, from its entry through all its branches, to a fixed point.

use std::collections::{BTreeMap, BTreeSet};

use unwind::sframe::Row;

use super::isa::{Executed, Flow, Isa};
use super::judge::{Caller, Judge, Judgement};
use super::machine::{Condition, Machine};
use super::reason::Reason;
use super::table::Tables;
use super::text::Text;
use super::value::{Address, Base, Value};
use super::world::{Effect, Returns, World};
use crate::architecture::Architecture;

/// How code is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// By a call.
    Call,
    /// By the processor, which has pushed so many bytes of error code above where it keeps what was interrupted (x86-64).
    Interrupt(u8),
    /// In a way that only its first row tells.
    Declared(Row),
}

/// An instruction that ways lead to, and what is known there.
#[derive(Clone, Debug)]
pub struct Point<'m> {
    /// Its address.
    pub at: u64,
    /// Its length, in bytes.
    pub length: u8,
    /// What is known before it.
    pub machine: &'m Machine,
    /// If it is a call, what is known when the callee has returned.
    pub during_call: Option<Machine>,
    /// It only runs if a call returns of which it is known that it does not.
    pub is_dead: bool,
}

/// What was found out about a function by following it, beside its rows.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Functions that it calls directly.
    pub calls: BTreeSet<u64>,
    /// Those of them behind whose call the code goes on.
    pub relies_on: BTreeSet<u64>,
    /// Functions that it jumps to with the stack as at its own entry.
    pub tail_calls: BTreeSet<u64>,
    /// Functions that it jumps to with another stack.
    pub intrudes: BTreeSet<u64>,
    /// Functions behind whose call the code does not go on: they do not return, or that is not known and call frame
    /// information says that the stack is another one there.
    pub stops_at: BTreeSet<u64>,
    /// A way may lead back to the caller, perhaps by another function.
    pub returns: bool,
    /// It has a return instruction that leads back to the caller, or ends in a call of a function that has one.
    pub has_return: bool,
    /// What the caller finds changed, when that is more than the calling convention allows.
    pub effect: Option<Effect>,
    /// Bytes from the entry's stack pointer to where an interrupt return takes what was interrupted.
    pub interrupt_return: Option<i64>,
    /// Tables that it reads.
    pub tables: BTreeSet<u64>,
    /// Of one of them nothing but the next one says how long it is.
    pub guesses: bool,
    /// Why nothing that was found holds.
    pub problem: Option<Reason>,
}

/// A run of instructions that is entered at its start only.
#[derive(Debug)]
struct Block {
    machine: Machine,
    end: u64,
    /// It only runs if a call returns that never does.
    is_dead: bool,
}

/// Follows one function.
#[derive(Debug)]
pub struct Follow<'a, I> {
    judge: Judge<'a, I>,
    text: &'a Text<'a>,
    world: &'a World,
    start: u64,
    /// What it knows of its caller.
    pub caller: Caller,
    blocks: BTreeMap<u64, Block>,
    work: BTreeSet<u64>,
    /// What is known of all blocks is true: ways between them change nothing any more.
    is_settled: bool,
    tables: Tables,
    exit: Option<Machine>,
    /// What was found out.
    pub outcome: Outcome,
    steps: usize,
    /// What runs only if a call returns that never does is followed: last, because nothing of it is true of anything else.
    is_dead: bool,
    /// Where such calls would return to, and what would be known there: what they were followed with last.
    dead: BTreeMap<u64, Machine>,
    /// A jump by a table of which nothing says how long it is.
    guessed_table: Option<u64>,
    /// Where instructions start if they are decoded one after another from a function's start on, by that. Only hand-written
    /// code has something else between them.
    sweeps: BTreeMap<u64, Vec<u64>>,
}

/// Instructions that are followed, at most, for each block that there is: enough for nested loops.
const MOST_STEPS: usize = 4_000_000;

impl<'a, I: Isa> Follow<'a, I> {
    /// Follows the function at an address. `None`: it is entered in a way that its first row does not tell.
    pub fn function(
        isa: &'a I,
        architecture: &'static Architecture,
        text: &'a Text<'a>,
        world: &'a World,
        start: u64,
        entry: Entry,
    ) -> Option<Self> {
        let judge = Judge { isa, architecture };
        let mut machine = Machine::at_entry(I::STACK_POINTER);
        let caller = enter(&judge, &mut machine, entry)?;
        let mut follow = Self {
            judge,
            text,
            world,
            start,
            caller,
            blocks: BTreeMap::new(),
            work: BTreeSet::new(),
            is_settled: false,
            tables: Tables::default(),
            exit: None,
            outcome: Outcome::default(),
            steps: 0,
            is_dead: false,
            dead: BTreeMap::new(),
            guessed_table: None,
            sweeps: BTreeMap::new(),
        };
        follow.edge(start, &machine);
        follow.work();
        follow.follow_dead();
        Some(follow)
    }

    fn work(&mut self) {
        while let Some(start) = self.work.pop_first() {
            self.run(start);
            if self.steps > MOST_STEPS {
                self.problem(Reason::TooMuch);
                break;
            }
        }
    }

    /// Follows the code behind calls that never return, which compilers do not always know. It never runs, so whatever its rows
    /// say does no harm; but rows that would be right are worth more than rows of which nothing is known.
    fn follow_dead(&mut self) {
        self.is_dead = true;
        let outcome = self.outcome.clone();
        for (start, machine) in std::mem::take(&mut self.dead) {
            if self.row_agrees(start, &machine) == Some(true) {
                self.edge(start, &machine);
            }
        }
        self.work();
        self.outcome = outcome;
        self.is_dead = false;
    }

    /// Shows every instruction that ways lead to, in ascending order, with what is known there, and finds out what the
    /// function does as a whole. Not before: what is known on the first way to an instruction is more than is true.
    pub fn visit(&mut self, mut see: impl FnMut(&Point<'_>)) {
        let starts: Vec<(u64, u64)> = self
            .blocks
            .iter()
            .map(|(start, block)| (*start, block.end))
            .collect();
        self.outcome = Outcome {
            problem: self
                .outcome
                .problem
                .filter(|problem| *problem == Reason::TooMuch),
            ..Outcome::default()
        };
        self.exit = None;
        self.is_settled = true;
        let (mut seen, mut ends) = (Vec::new(), Vec::new());
        // Copied for each instruction, into the memory of the last copy.
        let mut before = Machine::at_entry(I::STACK_POINTER);
        for (start, end) in starts {
            let Some(block) = self.blocks.get(&start) else {
                continue;
            };
            let (mut machine, is_dead) = (block.machine.clone(), block.is_dead);
            let living = is_dead.then(|| (self.outcome.clone(), self.exit.clone()));
            self.is_dead = is_dead;
            let mut at = start;
            while at < end {
                machine.at = at;
                before.clone_from(&machine);
                let Some(executed) = self.execute(&mut machine) else {
                    self.problem(Reason::NotCode(at));
                    break;
                };
                let during_call = match executed.flow {
                    Flow::Call(to) => {
                        let mut after = machine.clone();
                        self.returned(to, &mut after);
                        Some(after)
                    }
                    _ => None,
                };
                see(&Point {
                    at,
                    length: executed.length,
                    machine: &before,
                    during_call,
                    is_dead,
                });
                let next = at.wrapping_add(executed.length.into());
                seen.push(at);
                ends.push(next);
                let goes_on = self.go(executed.flow, at, next, &mut machine);
                if goes_on && next >= end {
                    self.runs_out(at, next, &machine);
                }
                at = next;
            }
            if let Some((outcome, exit)) = living {
                self.outcome = outcome;
                self.exit = exit;
            }
        }
        self.is_dead = false;
        self.outcome.tables = self.tables.addresses().collect();
        // Two instructions that share bytes: an entry too many of a table led into the middle of one of them.
        if let Some(at) = self.guessed_table
            && overlap(seen, ends)
        {
            self.problem(Reason::IndirectJump(at));
        }
        self.outcome.effect = self.exit.as_ref().and_then(|exit| {
            let own = match self.caller.stack_pointer {
                Value::Stack(_, offset) => offset,
                _ => 0,
            };
            Effect::of(exit, I::KEPT_BY_CALLS, own)
        });
    }

    fn execute(&mut self, machine: &mut Machine) -> Option<Executed> {
        let code = self.text.code_at(machine.at)?;
        self.judge.isa.execute(code, machine, &mut self.tables)
    }

    fn problem(&mut self, reason: Reason) {
        self.outcome.problem = self.outcome.problem.or(Some(reason));
    }

    /// Runs a block, up to where it ends or another one starts.
    fn run(&mut self, start: u64) {
        let Some(block) = self.blocks.get(&start) else {
            return;
        };
        let mut machine = block.machine.clone();
        let mut at = start;
        loop {
            machine.at = at;
            let executed = self.execute(&mut machine);
            let Some(executed) = executed else {
                self.problem(Reason::NotCode(at));
                break;
            };
            self.steps += 1;
            let next = at.wrapping_add(executed.length.into());
            // Before it jumps into itself.
            self.ends_at(start, next);
            let goes_on = self.go(executed.flow, at, next, &mut machine);
            at = next;
            if !goes_on {
                break;
            }
            if self.blocks.contains_key(&next) {
                self.edge(next, &machine);
                break;
            }
            if self.runs_out(at, next, &machine) {
                break;
            }
        }
        self.ends_at(start, at);
    }

    /// Whether the next instruction is another function's. Assembly may run on into it; otherwise what came before does not
    /// come back.
    fn runs_out(&mut self, at: u64, next: u64, machine: &Machine) -> bool {
        if next == self.start || !self.world.is_entry(next) {
            return false;
        }
        if self.is_as_at_entry(machine) {
            self.jump(at, next, machine);
        }
        true
    }

    fn ends_at(&mut self, start: u64, end: u64) {
        if let Some(block) = self.blocks.get_mut(&start) {
            block.end = end;
        }
    }

    /// Whether the next instruction runs as well.
    fn go(&mut self, flow: Flow, at: u64, next: u64, machine: &mut Machine) -> bool {
        match flow {
            Flow::Next => true,
            Flow::Stop => false,
            Flow::Branch(to, condition) => {
                if condition == Condition::Other {
                    self.jump(at, to, machine);
                    return true;
                }
                if machine.may(condition) {
                    let mut taken = machine.clone();
                    taken.assume(condition);
                    self.jump(at, to, &taken);
                }
                let otherwise = condition.negated();
                let goes_on = machine.may(otherwise);
                machine.assume(otherwise);
                goes_on
            }
            Flow::Jump(to) => {
                self.jump_to(at, to, machine);
                false
            }
            Flow::Call(to) => self.call(to, at, next, machine),
            // What compilers put where nothing can come; in assembly, a breakpoint whose handler returns.
            Flow::Trap => {
                self.world.is_same_function(at, next)
                    && self.row_agrees(next, machine) == Some(true)
            }
            Flow::Return(to) => {
                self.leave(at, to, machine);
                false
            }
            Flow::InterruptReturn => {
                self.interrupt_return(at, machine);
                false
            }
        }
    }

    /// A jump to a value.
    fn jump_to(&mut self, at: u64, to: Value, machine: &Machine) {
        match to {
            Value::Constant(to) => self.jump(at, to, machine),
            Value::Table(number) => {
                let table = self.tables.get(number);
                let (text, world, isa) = (self.text, self.world, self.judge.isa);
                let own = self
                    .tables
                    .addresses()
                    .filter(|start| *start > table.address);
                let others = world.tables.range(table.address.saturating_add(1)..);
                let end = own.chain(others.copied().next()).min();
                let sweeps = &mut self.sweeps;
                let mut is_start = |to| {
                    let Some(function) = world.function_at(to) else {
                        return true;
                    };
                    let sweep = sweeps
                        .entry(function.start)
                        .or_insert_with(|| sweep(isa, text, function.start, function.end()));
                    sweep.binary_search(&to).is_ok()
                };
                let targets = table.targets(
                    |address, size| text.read(address, size),
                    |to| {
                        text.code_at(to).is_some()
                            && world.is_same_function(at, to)
                            && (table.is_bounded() || is_start(to))
                    },
                    end,
                );
                if !table.is_bounded() {
                    self.outcome.guesses = true;
                    self.guessed_table = self.guessed_table.or(Some(at));
                }
                match targets {
                    Some(targets) => {
                        for to in BTreeSet::from_iter(targets) {
                            self.jump(at, to, machine);
                        }
                    }
                    None => self.problem(Reason::IndirectJump(at)),
                }
            }
            // With the stack as at the entry, it is a call in the last place.
            _ if self.is_as_at_entry(machine) => self.outcome.returns = true,
            // Behind a change of stacks nothing is claimed.
            _ if machine.lost.is_some() => {}
            _ => self.problem(Reason::IndirectJump(at)),
        }
    }

    /// A jump to an address.
    fn jump(&mut self, at: u64, to: u64, machine: &Machine) {
        if to != self.start && self.world.is_entry(to) {
            if self.is_as_at_entry(machine) {
                self.outcome.tail_calls.insert(to);
                self.outcome.returns |= self.world.returns(to) != Returns::No;
                self.outcome.has_return |= self.world.returns(to) == Returns::Yes;
            } else if machine.lost.is_none() {
                self.outcome.intrudes.insert(to);
            }
            return;
        }
        if self.text.code_at(to).is_none() {
            return self.problem(Reason::NotCode(at));
        }
        self.edge(to, machine);
    }

    /// A way leads to an address.
    fn edge(&mut self, to: u64, machine: &Machine) {
        if self.is_settled || self.is_dead && self.lives(to) {
            return;
        }
        if let Some(block) = self.blocks.get_mut(&to) {
            if block.machine.join(machine, to) {
                self.work.insert(to);
            }
            return;
        }
        // The block that ran through it has to stop there.
        if let Some((start, block)) = self.blocks.range(..to).next_back()
            && to < block.end
        {
            self.work.insert(*start);
        }
        let block = Block {
            machine: machine.clone(),
            end: to,
            is_dead: self.is_dead,
        };
        self.blocks.insert(to, block);
        self.work.insert(to);
    }

    /// Whether an instruction runs that may return.
    fn lives(&self, address: u64) -> bool {
        let block = self.blocks.range(..=address).next_back();
        block.is_some_and(|(start, block)| {
            !block.is_dead && (*start == address || address < block.end)
        })
    }

    fn call(&mut self, to: Value, at: u64, next: u64, machine: &mut Machine) -> bool {
        let landing_pad = self.world.landing_pad(at);
        let target = match to {
            Value::Constant(to) => {
                self.outcome.calls.insert(to);
                Some(to)
            }
            _ => None,
        };
        let word = || self.judge.isa.called_through(self.text.code_at(at)?, at);
        let returns = target
            .or_else(word)
            .map_or(Returns::Perhaps, |to| self.world.returns(to));
        let was_wrong = self.row_agrees(at, machine) == Some(false);
        self.returned(to, machine);
        if let Some(pad) = landing_pad {
            let mut landed = machine.clone();
            let sp = landed.sp().plus(Value::Constant(pad.arguments));
            landed.set(I::STACK_POINTER, sp);
            self.edge(pad.pad, &landed);
        }
        if !self.world.is_same_function(at, next) {
            return false;
        }
        let goes_on = match returns {
            Returns::Yes => true,
            Returns::No => {
                if self.is_dead {
                    self.edge(next, machine);
                } else {
                    self.dead.insert(next, machine.clone());
                }
                false
            }
            // Where call frame information says that the stack is another one there, either it is wrong or nothing comes
            // back, and nobody can tell which; unless it is wrong before the call already.
            Returns::Perhaps => was_wrong || self.row_agrees(next, machine) != Some(false),
        };
        if let Some(to) = target {
            match goes_on {
                true => self.outcome.relies_on.insert(to),
                false => self.outcome.stops_at.insert(to),
            };
        }
        goes_on
    }

    /// Whether call frame information says of an address what is known. `None`: it says nothing, or that is not known.
    fn row_agrees(&self, at: u64, machine: &Machine) -> Option<bool> {
        match self
            .judge
            .judge(&self.world.row_at(at)?, machine, &self.caller)
        {
            Judgement::Agrees => Some(true),
            Judgement::Contradicts => Some(false),
            Judgement::Undecided(_) => None,
        }
    }

    /// What is known when a call has returned.
    fn returned(&self, to: Value, machine: &mut Machine) {
        let effect = match to {
            Value::Constant(to) => self.world.effect(to),
            _ => None,
        };
        let before = effect.map(|_| machine.clone());
        machine.call(I::KEPT_BY_CALLS);
        if let (Some(effect), Some(before)) = (effect, before) {
            let pushed = self.judge.architecture.fixed_return_address.unwrap_or(0);
            effect.apply(&before, machine, pushed.into());
        }
    }

    /// Whether a function could be entered now: the stack and what was saved are the caller's.
    fn is_as_at_entry(&self, machine: &Machine) -> bool {
        let frame_pointer = machine.get(I::FRAME_POINTER) == Value::entry(I::FRAME_POINTER);
        let is_there = match self.judge.architecture.fixed_return_address {
            Some(_) => machine.peek(Base::ENTRY, 0, 8) == self.caller.return_address,
            None => machine.get(I::RETURN_ADDRESS) == self.caller.return_address,
        };
        machine.sp() == Value::Stack(Base::ENTRY, 0) && frame_pointer && is_there
    }

    fn leave(&mut self, at: u64, to: Value, machine: &Machine) {
        if to == self.caller.return_address && machine.sp() == self.caller.stack_pointer {
            self.outcome.returns = true;
            self.outcome.has_return = true;
            match &mut self.exit {
                Some(exit) => {
                    exit.join(machine, at);
                }
                None => self.exit = Some(machine.clone()),
            }
            return;
        }
        match (to, machine.sp()) {
            (Value::Constant(to), _) => self.jump(at, to, machine),
            (Value::Table(_), _) => self.jump_to(at, to, machine),
            // On another stack, or with arguments taken off it.
            (_, Value::Stack(base, _)) if base != Base::ENTRY => self.outcome.returns = true,
            _ => {
                self.outcome.returns = true;
                if machine.lost.is_none() {
                    self.problem(Reason::Unbalanced(at));
                }
            }
        }
    }

    fn interrupt_return(&mut self, at: u64, machine: &Machine) {
        match (self.caller.is_interrupted, machine.sp()) {
            (false, Value::Stack(Base::ENTRY, offset)) => {
                let known = *self.outcome.interrupt_return.get_or_insert(offset);
                if known != offset {
                    self.problem(Reason::Unbalanced(at));
                }
            }
            (true, Value::Stack(base, offset))
                if machine.peek(base, offset, 8) == self.caller.return_address => {}
            // AArch64 keeps it in a register.
            (true, _) if !I::KEEPS_INTERRUPTED_ON_STACK => {}
            _ => self.problem(Reason::Unbalanced(at)),
        }
    }
}

/// Where instructions start, up to the first bytes that are none.
fn sweep<I: Isa>(isa: &I, text: &Text<'_>, mut at: u64, end: u64) -> Vec<u64> {
    let mut starts = Vec::new();
    while at < end
        && let Some(length) = text.code_at(at).and_then(|code| isa.length(code))
    {
        starts.push(at);
        at += u64::from(length);
    }
    starts
}

/// Whether some of the instructions that start and end at these addresses share bytes, and are not the same.
fn overlap(mut starts: Vec<u64>, mut ends: Vec<u64>) -> bool {
    starts.sort_unstable();
    starts.dedup();
    ends.sort_unstable();
    ends.dedup();
    // Without, each one ends before the next one starts.
    let mut after = starts.iter().skip(1);
    starts.len() != ends.len()
        || ends
            .iter()
            .any(|end| after.next().is_some_and(|start| end > start))
}

/// Makes a machine one at the entry, and says what the function knows of its caller.
fn enter<I: Isa>(judge: &Judge<'_, I>, machine: &mut Machine, entry: Entry) -> Option<Caller> {
    let return_address = Value::entry(I::RETURN_ADDRESS);
    let word = |offset| Address::Stack(Base::ENTRY, offset);
    match entry {
        Entry::Call => {
            let pushed = judge
                .architecture
                .fixed_return_address
                .map_or(0, |offset| -i64::from(offset));
            if pushed > 0 {
                machine.store(word(0), 8, return_address);
            }
            Some(Caller {
                return_address,
                stack_pointer: Value::Stack(Base::ENTRY, pushed),
                is_interrupted: false,
            })
        }
        // rip, cs, rflags, rsp, ss: volume 3, figure 7-9 "IA-32e Mode Stack Usage After Privilege Level Change".
        Entry::Interrupt(code) => {
            let code = i64::from(code);
            let stack_pointer = Value::entry(I::STACK_POINTER);
            machine.interrupted(Base::ENTRY, code, return_address);
            machine.interrupted(Base::ENTRY, code + 24, stack_pointer);
            Some(Caller {
                return_address,
                stack_pointer,
                is_interrupted: true,
            })
        }
        Entry::Declared(row) => judge.enter(&row, machine),
    }
}
