//! The tables of an image, and what they are worth: SFrame's, or those of 32-bit ARM.

mod arm;
mod sframe;

use std::fmt;
use std::rc::Rc;

use anyhow::Result;
use unwind::sframe::{Damage, Verified};
use unwind::{End, Found, LookupError, Machine, Range, Restored, RowSource, Rule};

use crate::hardware::Processor;
use arm::Arm;
use sframe::SFrame;

/// Why a walk by rows of another tool is never complete: compilers write wrong ones now and then, and authors of assembly more often.
const NOT_COMPARED: &str = "the unwind rows were not compared with the code";

/// Why a walk is never complete if another build runs than the image's, or code that has changed itself: rows were compared with the
/// image's code.
const CHANGED: &str = "the code in memory differs from the image";

/// Why a walk is never complete if neither a build id nor code in memory shows which image ran.
const UNKNOWN: &str = "it is unknown whether this image ran";

/// Tables, with where they come from.
#[derive(Clone, Debug)]
pub(super) enum Tables {
    SFrame(SFrame),
    Arm(Arm),
}

impl Tables {
    /// Those of this image, or made and proven here from its code.
    pub(super) fn read(data: &[u8], processor: Processor) -> Result<Self> {
        Ok(match processor {
            Processor::X86_64 | Processor::Aarch64 => Self::SFrame(SFrame::read(data)?),
            Processor::Armv7a => Self::Arm(Arm::read(data)?),
        })
    }

    /// Has them lie so many bytes higher, modulo 2^64.
    pub(super) fn move_by(&mut self, bytes: u64) {
        match self {
            Self::SFrame(tables) => tables.move_by(bytes),
            Self::Arm(tables) => tables.move_by(bytes),
        }
    }

    /// Compares this code with their checksums. `None`: there are no tables.
    pub(super) fn verify_code(&self, code: &[u8], at: u64) -> Option<Result<Verified, Damage>> {
        match self {
            Self::SFrame(tables) => tables.verify_code(code, at),
            Self::Arm(tables) => tables.verify_code(code, at),
        }
    }

    /// Whether they are a link's of ours, and whole.
    pub(super) fn are_verified(&self) -> bool {
        let verified = self.verify_code(&[], 0);
        verified.is_some_and(|verified| verified.is_ok_and(|verified| verified.checksum))
    }

    /// The rows, with what is in doubt about all of them.
    pub(super) fn rows(&self) -> Rows<'_> {
        match self {
            Self::SFrame(tables) => tables.rows(),
            Self::Arm(tables) => tables.rows(),
        }
    }
}

impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SFrame(tables) => tables.fmt(f),
            Self::Arm(tables) => tables.fmt(f),
        }
    }
}

/// Rows, and a doubt about all of them that they do not know of.
#[derive(Clone)]
pub(super) struct Rows<'a> {
    source: Rc<dyn RowSource + 'a>,
    doubt: Option<End>,
}

impl<'a> Rows<'a> {
    fn new(source: impl RowSource + 'a) -> Self {
        let source = Rc::new(source);
        Self {
            source,
            doubt: None,
        }
    }

    fn not_compared(source: impl RowSource + 'a) -> Self {
        Self {
            doubt: Some(End::Unusable(NOT_COMPARED)),
            ..Self::new(source)
        }
    }

    /// The same for a walk through functions whose code was changed after the rows were made.
    pub(super) fn of_another(self) -> Self {
        let other = self
            .doubt
            .filter(|doubt| !matches!(doubt, End::CodeChanged(_)));
        let doubt = other.or(Some(End::Unusable(CHANGED)));
        Self { doubt, ..self }
    }

    /// The same for a walk on a machine whose code differs from here on, wherever the walk leads.
    pub(super) fn of_changed(self, start: u64) -> Self {
        let doubt = self.doubt.or(Some(End::CodeChanged(start)));
        Self { doubt, ..self }
    }

    /// The same for a walk on a machine that may have run another image.
    pub(super) fn of_unknown(self) -> Self {
        let doubt = self.doubt.or(Some(End::Unusable(UNKNOWN)));
        Self { doubt, ..self }
    }

    /// Whether the function with this instruction has no caller, by rows that are in no doubt: wherever its stack pointer is, as
    /// boot code has to choose a stack first.
    pub(super) fn say_that_has_no_caller(&self, pc: u64) -> bool {
        let mut found = Found::EMPTY;
        let is_found = self.look_up(pc, &mut found).is_ok();
        self.doubt().is_none() && is_found && found.rules.is_outermost()
    }
}

impl RowSource for Rows<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        self.source.describes(machine)
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        self.source.look_up(pc, found)
    }

    fn function(&self, pc: u64) -> Option<Range> {
        self.source.function(pc)
    }

    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        self.source.is_one_function(found, other)
    }

    fn restored(&self, pc: u64, restored: &mut Restored) {
        self.source.restored(pc, restored);
    }

    fn interrupted_link(&self, pc: u64) -> Option<Rule> {
        self.source.interrupted_link(pc)
    }

    fn stack_pointer(&self, pc: u64) -> Option<u64> {
        self.source.stack_pointer(pc)
    }

    fn covers(&self, pc: u64) -> bool {
        self.source.covers(pc)
    }

    fn doubt(&self) -> Option<End> {
        self.doubt.or_else(|| self.source.doubt())
    }
}
