//! Abstract interpretation of machine code: finds for every instruction where the caller's frame begins, and where the return
//! address and the frame pointer are saved, by following each function's instructions from its entry.
//!
//! Compilers describe the same in call frame information, which is wrong in places. A result found here is proven, under the
//! assumptions that `PROOF.md` lists; where nothing can be proven, the reason is kept instead of a result.
//!
//! | module | does |
//! |---|---|
//! | [`value`], [`machine`], `memory`, [`compare`], [`table`] | the abstract state: registers and stack before an instruction |
//! | [`isa`], [`x86_64`], [`aarch64`], [`arm`] | the transfer function: how an instruction changes that state |
//! | [`follow`], [`block`], [`outcome`], [`addresses`] | one function, through its control flow graph to a fixed point |
//! | [`rounds`], [`world`], [`entries`], [`text`], `multiboot` | all functions, and what they have to know of each other |
//! | [`judge`], `enter`, `find_row`, [`mod@unit`] | compares rows with the state, and makes rows from it |
//! | [`repair`], `strict`, [`tally`], [`origin`] | corrects a table, counts how much is proven, and says where a table's rows come from |

pub mod aarch64;
pub mod addresses;
pub mod arm;
pub mod block;
pub mod compare;
pub mod contradiction;
mod enter;
pub mod entries;
mod find_row;
pub mod follow;
mod imports;
pub mod isa;
pub mod judge;
pub mod machine;
mod memory;
mod multiboot;
pub mod origin;
pub mod outcome;
pub mod repair;
pub mod rounds;
mod rows_of;
mod strict;
pub mod table;
pub mod tally;
pub mod text;
pub mod unit;
pub mod value;
pub mod world;
pub mod x86_64;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use anyhow::{Result, ensure};
use rustc_hash::FxHashSet;

use crate::architecture::Architecture;
use crate::cfi::Frames;
use crate::cfi::landing::landing_pads;
use crate::function::Function;
use crate::image::Image;
use crate::reason::Reason;
use crate::symbols::Symbols;
use aarch64::A64;
use arm::Arm;
use contradiction::Contradiction;
use entries::Entries;
use isa::Isa;
use outcome::Entry;
pub use repair::Made;
use rounds::Units;
use tally::Tally;
use text::Text;
use unit::{Found, Span};
use world::World;
use x86_64::X86;

/// An expression with the interpreter of an image's architecture; `None` if there is none.
macro_rules! with_isa {
    ($image:expr, $isa:ident => $with:expr) => {
        match $image.architecture.machine {
            object::Architecture::X86_64 => {
                let $isa = &X86;
                Some($with)
            }
            object::Architecture::Aarch64 => {
                let $isa = &A64;
                Some($with)
            }
            object::Architecture::Arm => {
                let $isa = &Arm::of(&$image.file);
                Some($with)
            }
            _ => None,
        }
    };
}

/// What was proven of an image.
#[derive(Debug)]
pub struct Proof {
    /// What was found out about each instruction: ascending, none twice.
    pub spans: Vec<Span>,
    /// How much that is.
    pub tally: Tally,
    /// Interrupt handlers that neither call frame information nor a symbol marks as such, with the bytes of error code that each
    /// finds on its stack.
    pub handlers: BTreeMap<u64, u8>,
    /// What was made for code that had no rows.
    pub made: Made,
    entries: BTreeSet<u64>,
}

impl Proof {
    /// Compares an image's rows with its code, and looks for rows for code without them. `None`: no interpreter for its
    /// architecture.
    #[must_use]
    pub fn of(image: &Image<'_>, frames: &Frames, symbols: &Symbols) -> Option<Self> {
        let architecture = image.architecture;
        let text = Text::of(&image.file);
        let mut world = World {
            rows: frames.functions.clone(),
            landing_pads: landing_pads(image),
            never_returning: imports::never_returning(image),
            ..World::default()
        };
        let entries = entries::find(architecture, &text, symbols, &mut world);
        with_isa!(image, isa => Self::prove(isa, architecture, &text, entries, &mut world, symbols))
    }

    fn prove<I: Isa>(
        isa: &I,
        architecture: &'static Architecture,
        text: &Text<'_>,
        entries: Entries,
        world: &mut World,
        symbols: &Symbols,
    ) -> Self {
        let mut units = rounds::follow(isa, architecture, text, entries, world);
        leave_out_uncalled(&mut units, world, symbols);
        let mut spans = merge(&units);
        withdraw(&mut spans, &world.rows);
        let tally = Tally::of(isa, text, world, &spans);
        let handlers = units
            .iter()
            .filter_map(|(start, unit)| match unit.entry {
                Entry::Interrupt(error_code) => Some((*start, error_code)),
                _ => None,
            })
            .collect();
        Self {
            spans,
            tally,
            handlers,
            made: Made::default(),
            entries: units.into_keys().collect(),
        }
    }

    /// Where the rows in `described`, from which this proof was made, are wrong.
    #[must_use]
    pub fn contradictions(&self, image: &Image<'_>, described: &[Function]) -> Vec<Contradiction> {
        let text = Text::of(&image.file);
        let found = with_isa!(image, isa => contradiction::contradictions(isa, &text, &self.spans, described));
        found.unwrap_or_default()
    }

    /// Corrects the rows in `frames`, and adds those that are missing, as far as the code proves them.
    pub fn mend(&self, image: &Image<'_>, frames: &mut Frames) -> Made {
        let text = Text::of(&image.file);
        let made = with_isa!(image, isa => self.mend_by(isa, &text, frames));
        made.unwrap_or_default()
    }

    fn mend_by<I: Isa>(&self, isa: &I, text: &Text<'_>, frames: &mut Frames) -> Made {
        let is_handler = |start| self.handlers.contains_key(&start);
        let functions = std::mem::take(&mut frames.functions);
        let is_padding = |from, to| tally::is_padding(isa, text, from, to);
        frames.functions = match I::IS_STRICT {
            true => {
                let spans = strict::only_decided(&self.spans, &functions, is_padding);
                repair::mend(functions, &spans, is_handler)
            }
            false => repair::mend(functions, &self.spans, is_handler),
        };
        let is_start = |start| self.entries.contains(&start);
        repair::make(frames, &self.spans, is_start, is_handler, is_padding)
    }
}

/// The rows of an image: from its call frame information, and as corrected by the proof.
#[derive(Debug, Default)]
pub struct Rows {
    /// The rows that call frame information gives.
    pub described: Vec<Function>,
    /// The rows after correction.
    pub frames: Frames,
    /// The starts of functions that only the input's own `.sframe` describes.
    pub merged: HashSet<u64>,
    /// What the code proves, if that was wanted and there is an interpreter for its architecture.
    pub proof: Option<Proof>,
}

impl Rows {
    /// Reads an image's call frame information, and corrects it by its code if `repair` is set. `others` are functions from
    /// another source, used for code without call frame information.
    ///
    /// # Errors
    /// It cannot be read, or there is nothing to make rows from.
    pub fn of(image: &Image<'_>, repair: bool, others: Frames, symbols: &Symbols) -> Result<Self> {
        let (mut frames, merged) = Frames::with(image, others)?;
        let described = frames.functions.clone();
        let proof = match repair {
            true => Proof::of(image, &frames, symbols),
            false => None,
        };
        let proof = proof.map(|mut proof| {
            proof.made = proof.mend(image, &mut frames);
            proof
        });
        let without = match repair {
            true => ", and no code that tells",
            false => "",
        };
        let is_empty = frames.functions.is_empty() && frames.left_out.is_empty();
        ensure!(
            !is_empty || image.architecture.abi.is_some(),
            "no .debug_frame to make rows from{without}: compile with debug information, or keep the symbols, those among them \
             that tell ARM code from Thumb code and from data ($a, $t, $d)"
        );
        ensure!(
            !is_empty,
            "no .eh_frame to make tables from{without}: compile with -C force-unwind-tables=yes, and keep the section in \
             the linker script"
        );
        Ok(Self {
            described,
            frames,
            merged: merged.into_iter().collect(),
            proof,
        })
    }
}

impl Rows {
    /// The address ranges whose rows come from the proof alone.
    #[must_use]
    pub fn made(&self) -> Vec<Range<u64>> {
        let Some(proof) = &self.proof else {
            return Vec::new();
        };
        let functions = self.frames.functions.iter();
        functions
            .filter(|function| proof.made.starts.contains(&function.start))
            .map(|function| function.start..function.end())
            .collect()
    }
}

/// Withdraws results about code that only a symbol marks as a function: if nobody calls it and it never returns as a function
/// does, it may be entered with any stack.
fn leave_out_uncalled(units: &mut Units, world: &World, symbols: &Symbols) {
    let called: FxHashSet<u64> = units
        .values()
        .flat_map(|unit| {
            unit.outcome
                .calls
                .iter()
                .chain(&unit.outcome.tail_calls)
                .copied()
        })
        .collect();
    let is_compiled = |start: u64| {
        symbols
            .at(start)
            .is_some_and(|symbol| symbol.name.starts_with("_R") || symbol.name.starts_with("_ZN"))
    };
    units.retain(|start, unit| {
        let is_described = world.function_at(*start).is_some();
        let returns = unit.outcome.has_return && unit.outcome.problem.is_none();
        !is_described
            || !world.assumed.contains(start)
            || called.contains(start)
            || is_compiled(*start)
            || returns
    });
    for (start, unit) in units.iter_mut() {
        let is_described = world.function_at(*start).is_some();
        let is_known = is_described
            || called.contains(start)
            || unit.outcome.has_return
            // It ends in a tail call, so the stack at its entry was that of a call.
            || !unit.outcome.tail_calls.is_empty()
            || is_compiled(*start)
            || unit.entry != Entry::Call;
        if is_known {
            continue;
        }
        for span in &mut unit.spans {
            span.found = Found::Missing(Reason::NotCalled);
        }
    }
}

/// Withdraws undecided rows of functions that have a wrong row: their call frame information is not trusted further.
fn withdraw(spans: &mut [Span], functions: &[Function]) {
    for function in functions {
        let first = spans.partition_point(|span| span.end <= function.start);
        let after = spans.partition_point(|span| span.start < function.end());
        let Some(own) = spans.get_mut(first..after) else {
            continue;
        };
        let is_wrong = |span: &Span| matches!(span.found, Found::Mended(_) | Found::Withdrawn(_));
        if !own.iter().any(is_wrong) {
            continue;
        }
        for span in own {
            if let Found::Undecided(
                reason @ (Reason::StackPointer(_) | Reason::Depths(_) | Reason::ReturnAddress),
            ) = span.found
            {
                span.found = Found::Withdrawn(reason);
            }
        }
    }
}

/// The spans of all units, split where they overlap, so that each instruction is in one.
fn merge(units: &Units) -> Vec<Span> {
    let mut all: Vec<Span> = units
        .values()
        .flat_map(|unit| unit.spans.iter().cloned())
        .collect();
    all.sort_by_key(|span| span.start);
    let mut merged: Vec<Span> = Vec::with_capacity(all.len());
    // Sorted by start; the rest of an overlapping span is put back here.
    let mut waiting = std::collections::VecDeque::from(all);
    while let Some(span) = waiting.pop_front() {
        let Some(last) = merged.last_mut() else {
            merged.push(span);
            continue;
        };
        if span.start >= last.end {
            merged.push(span);
            continue;
        }
        // Both contain the code from the start of this one to the first of the two ends.
        let (start, end) = (span.start, last.end.min(span.end));
        let both = last.found.clone().and(span.found.clone());
        let mut rest = Vec::new();
        if last.end > end {
            rest.push(Span {
                start: end,
                end: last.end,
                found: last.found.clone(),
            });
        }
        if span.end > end {
            rest.push(Span {
                start: end,
                end: span.end,
                found: span.found,
            });
        }
        last.end = start;
        if last.start == last.end {
            merged.pop();
        }
        merged.push(Span {
            start,
            end,
            found: both,
        });
        for piece in rest.into_iter().rev() {
            let at = waiting.partition_point(|other| other.start < piece.start);
            waiting.insert(at, piece);
        }
    }
    merged
}
