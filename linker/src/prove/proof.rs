//! What was proven of an image, and how its rows are corrected by that.

use std::collections::{BTreeMap, BTreeSet};

use super::aarch64::A64;
use super::arm::Arm;
use super::contradiction::{self, Contradiction};
use super::entries::{self, Entries};
use super::isa::Isa;
use super::merge::{leave_out_uncalled, merge, withdraw};
use super::outcome::Entry;
use super::repair::{self, Made};
use super::tally::{self, Tally};
use super::text::Text;
use super::unit::Span;
use super::world::World;
use super::x86_64::X86;
use super::{imports, pointed, rounds, strict};
use crate::architecture::Architecture;
use crate::cfi::Frames;
use crate::cfi::landing::landing_pads;
use crate::function::Function;
use crate::image::Image;
use crate::symbols::Symbols;

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
    /// Interrupt handlers that neither call frame information nor a symbol marks as such, with the bytes on top of the interrupt frame that each
    /// finds on its stack.
    pub handlers: BTreeMap<u64, u8>,
    /// What was made for code that had no rows.
    pub made: Made,
    /// Where functions start: those that symbols, call frame information, calls or addresses name.
    pub entries: BTreeSet<u64>,
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
        world.pointed = pointed::functions(image, symbols);
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
