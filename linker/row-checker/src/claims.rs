//! What is claimed of the code: which calls come back, what each function keeps, and what is known at the head of each block.
//!
//! [`Claims::find`] looks for claims that hold. Only the pass of [`crate::check`] is trusted, which compares each with what one step from
//! the others brings.

mod assumed;
mod begins;
mod breaks;
mod called;
mod constants;
mod entered;
mod entries;
mod hold;
mod pointers;
mod returns;
mod runs;
mod signals;
mod states;
mod straight;
mod stubs;
mod switches;
mod vectors;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::architecture::{Architecture, Convention};
use crate::graph::{Edge, Extents, Graph, Node, OUT, Predecessors, Runs};
use crate::instruction::Flow;
use crate::program::Program;
use crate::state::State;
use crate::tables::Jumps;

pub use begins::LoadedStackPointer;
pub use breaks::ALL;

/// For each head of a block: the state there. `None`: no way leads there.
type States = Vec<Option<Box<State>>>;

/// How often facts about the whole image may change before the search for claims gives up.
const MAX_ROUNDS: usize = 12;

/// Claims about an image's code.
#[derive(Debug)]
pub struct Claims<'a> {
    pub(crate) program: &'a Program<'a>,
    architecture: &'a dyn Architecture,
    pub(crate) convention: &'static Convention,
    /// The code.
    pub graph: Graph,
    extents: Extents,
    /// It is a program of an operating system: nothing in it returns from a trap.
    pub(crate) is_hosted: bool,
    /// Instructions that run in another mode: they are decoded wrongly.
    other_mode: FxHashSet<u32>,
    pub(crate) jumps: Jumps,
    constants: Vec<constants::Candidate>,
    /// For each call: it comes back.
    pub(crate) returns: Vec<bool>,
    /// For each instruction: a way leads there.
    pub(crate) is_reached: Vec<bool>,
    is_entered: FxHashSet<u32>,
    /// Where trap code starts, and what is claimed there.
    pub(crate) trap_starts: FxHashMap<u32, State>,
    /// Where code starts whose rows are those of trap code, although nothing in it shows that the processor enters it.
    assumed_starts: FxHashSet<u32>,
    /// Where functions start that are declared to have no caller.
    pub(crate) outermost_starts: FxHashSet<u32>,
    /// For each instruction: it begins a block.
    pub(crate) is_head: Vec<bool>,
    /// Instructions of which one condition tells which are executed.
    runs: Runs,
    /// For each head: the state there. `None`: no way leads there.
    pub(crate) states: States,
    /// For each instruction: what ways from it break of the calling convention. A bit for each register, see [`breaks::ALL`].
    pub(crate) breaks: Vec<u64>,
    /// For each instruction: a way out of its function is reached from there.
    leads_out: Vec<bool>,
    /// Calls that are taken for jumps, and the instructions behind them.
    detours: FxHashMap<u32, u32>,
    /// Calls whose callee goes back elsewhere, by what is seen of it.
    pub(crate) astray: FxHashSet<u32>,
    /// Returns to an address of code that was pushed: the address.
    pub(crate) pushed: FxHashMap<u32, u32>,
    /// Jumps by a pointer that are taken for calls in the last place, in spite of a table.
    pub(crate) leaving: FxHashSet<u32>,
    /// What jumps break that are not followed and lead anywhere: a bit for each register, see [`breaks::ALL`].
    anywhere: u64,
    /// The code contains a far call, which pushes two words, and may call any function whose address is taken (x86-64).
    is_far_called: bool,
    /// Addresses of functions that a return may lead to, other than a return to the caller.
    returned: FxHashSet<u64>,
    pub(crate) predecessors: Predecessors,
    /// The state of an entry by a call.
    called: State,
    /// Where code is entered, and what is known there.
    pub(crate) entries: Vec<(u32, State)>,
}

impl<'a> Claims<'a> {
    /// Searches for claims that hold. `None`: it has not found any within its bounds.
    #[must_use]
    pub fn find(program: &'a Program<'a>, architecture: &'a dyn Architecture) -> Option<Self> {
        let mut graph = Graph::of(program, architecture);
        graph.make_calls_of_next_jumps(program, architecture.convention());
        graph.find_ends(program);
        graph.add_landing_pads(program);
        let extents = Extents::of(program, &graph);
        let jumps = Jumps::find(program, architecture, &mut graph, &extents);
        // Jump tables are found without them: they may be code.
        let constants = constants::Candidate::find(program, architecture, &mut graph);
        let count = graph.nodes.len();
        let is_trap_return = |node: &Node| node.flow == Flow::TrapReturn;
        let is_hosted = program.is_hosted && !graph.nodes.iter().any(is_trap_return);
        let mut claims = Self {
            program,
            architecture,
            convention: architecture.convention(),
            graph,
            extents,
            is_hosted,
            other_mode: FxHashSet::default(),
            jumps,
            constants,
            returns: vec![true; count],
            is_reached: vec![false; count],
            is_entered: FxHashSet::default(),
            trap_starts: FxHashMap::default(),
            assumed_starts: FxHashSet::default(),
            outermost_starts: FxHashSet::default(),
            is_head: vec![false; count],
            runs: Runs::default(),
            states: vec![None; count],
            breaks: vec![0; count],
            leads_out: Vec::new(),
            detours: FxHashMap::default(),
            astray: FxHashSet::default(),
            pushed: FxHashMap::default(),
            leaving: FxHashSet::default(),
            anywhere: 0,
            is_far_called: false,
            returned: FxHashSet::default(),
            predecessors: Predecessors::default(),
            called: State::called(architecture.convention()),
            entries: Vec::new(),
        };
        claims.find_other_mode();
        claims.find_stubs();
        for _ in 0..MAX_ROUNDS {
            claims.find_entries();
            claims.find_heads();
            claims.runs = claims.found_runs();
            let astray = claims.astray.len();
            claims.states = vec![None; count];
            let entries = std::mem::take(&mut claims.entries);
            claims.solve(&entries, Vec::new());
            claims.entries = entries;
            loop {
                match claims.find_breaks() {
                    calls if calls.is_empty() => break,
                    calls => claims.solve(&[], calls),
                }
            }
            if claims.find_detours() {
                continue;
            }
            let is_new = claims.add_pushed()
                || claims.astray.len() != astray && claims.returns_change()
                || claims.lead_astray()
                || claims.find_jumps();
            if !is_new {
                return Some(claims);
            }
        }
        None
    }

    /// Finds calls to a place that is no declared function and that does not come back as callees do, as return thunks have them, and takes them for jumps.
    /// Returns whether there are new ones.
    fn find_detours(&mut self) -> bool {
        let calls = (0..self.graph.nodes.len() as u32).filter(|number| {
            let node = self.graph.node(*number);
            node.flow == Flow::Call
                && node.target != OUT
                && self.breaks[node.target as usize] == ALL
        });
        let is_detour = |number: &u32| {
            let node = self.graph.node(*number);
            !self.program.is_start(self.graph.node(node.target).at)
        };
        let detours = calls.filter(is_detour).collect();
        self.make_detours(detours)
    }

    /// Takes these calls for jumps. Returns whether there are any.
    fn make_detours(&mut self, detours: Vec<u32>) -> bool {
        for number in &detours {
            self.detours.insert(*number, self.graph.node(*number).next);
            self.graph.make_jump(*number, self.convention);
            // The instruction after the call now starts a block, so that jumps of the function may lead to it.
            let (own, next) = (
                self.extents.of[*number as usize],
                self.graph.node(*number).next,
            );
            let jumps = self.extents.all[own as usize].1.iter();
            for jump in jumps.filter(|jump| self.jumps.open.contains(jump)) {
                if next != OUT {
                    self.graph.add(*jump, next, Edge::Anywhere);
                }
            }
        }
        if !detours.is_empty() {
            self.forget();
        }
        !detours.is_empty()
    }

    /// Forgets what was found by edges that are others now.
    fn forget(&mut self) {
        self.astray.clear();
        self.pushed.clear();
        self.anywhere = 0;
        self.is_far_called = false;
        self.returned.clear();
        self.breaks = vec![0; self.graph.nodes.len()];
    }

    /// Adds the edges from returns to addresses that were pushed. Returns whether there are new ones.
    fn add_pushed(&mut self) -> bool {
        let mut is_new = false;
        for (from, to) in self.pushed.clone() {
            if self.graph.node(from).flow != Flow::IndirectJump {
                self.jumps.explained.insert(self.graph.node(to).at);
            }
            is_new |= self.graph.add(from, to, Edge::Pushed);
        }
        if is_new {
            self.forget();
        }
        is_new
    }

    /// Calls `each` with every place that control goes to from an instruction, as far as claims tell.
    pub(crate) fn successors(&self, number: u32, each: impl FnMut(u32, Edge)) {
        self.graph
            .successors(number, self.returns[number as usize], each);
    }

    /// Marks what is reached from instructions.
    pub(crate) fn reach(&mut self, mut work: Vec<u32>) {
        while let Some(number) = work.pop() {
            if std::mem::replace(&mut self.is_reached[number as usize], true) {
                continue;
            }
            self.graph
                .successors(number, self.returns[number as usize], |to, edge| {
                    if to != OUT && edge != Edge::Anywhere {
                        work.push(to);
                    }
                });
            let node = self.graph.node(number);
            if node.flow == Flow::Call && node.target != OUT {
                work.push(node.target);
            }
        }
    }

    /// Marks the functions that are reached where boot loaders enter the image in another mode. A far jump leaves this mode.
    fn find_other_mode(&mut self) {
        let starts = self.program.other_mode.iter();
        let starts = starts.filter_map(|start| self.graph.at(*start));
        // Its branches may be decoded wrongly, so that all code up to the far jump counts, which is no instruction here.
        let mut work: Vec<u32> = Vec::new();
        for start in starts {
            let (_, all) = &self.extents.all[self.extents.of[start as usize] as usize];
            let behind = all.iter().skip_while(|number| **number != start);
            let mut end = self.graph.node(start).at;
            work.extend(behind.take_while(|number| {
                let node = self.graph.node(**number);
                let is_next = node.at == end && node.flow != Flow::Unknown;
                end = node.at + u64::from(node.length);
                is_next
            }));
        }
        while let Some(number) = work.pop() {
            if !self.other_mode.insert(number) {
                continue;
            }
            let mut push = |to| {
                if to != OUT {
                    work.push(to);
                }
            };
            self.graph.successors(number, true, |to, _| push(to));
            self.graph.node(number).target_of_call().map(push);
        }
    }

    /// Marks the instructions that blocks begin with: entries, and whatever control goes to but from the instruction before.
    fn find_heads(&mut self) {
        let count = self.graph.nodes.len();
        let mut is_head = vec![false; count];
        let mut is_seen = vec![false; count];
        let entries = self.entries.iter().map(|(number, _)| number);
        for number in entries.chain(self.trap_starts.keys()) {
            is_head[*number as usize] = true;
        }
        for number in 0..count as u32 {
            if !self.is_reached[number as usize] {
                continue;
            }
            let node = self.graph.node(number);
            if node.flow == Flow::Call && node.target != OUT {
                is_head[node.target as usize] = true;
            }
            let is_last = !node.runs_on();
            self.graph
                .successors(number, self.returns[number as usize], |to, edge| {
                    let is_seldom = edge == Edge::Anywhere;
                    if to != OUT && (!is_seldom || self.is_reached[to as usize]) {
                        is_head[to as usize] |= is_last || is_seen[to as usize];
                        is_seen[to as usize] = true;
                    }
                });
        }
        self.is_head = is_head;
    }
}
