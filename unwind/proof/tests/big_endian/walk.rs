//! A walk over a dump.

use unwind::sframe::Tables;
use unwind::{Code, End, Fallbacks, RegisterSet, Stacks, Unwinder};

use crate::big_endian::machine::Words;
use crate::big_endian::program::Program;
use crate::big_endian::truth::Place;

/// A part of a file: its bytes, and where they lie.
pub struct Section {
    pub bytes: Vec<u8>,
    pub address: u64,
}

impl Section {
    /// As a table.
    pub fn tables(&self) -> Tables<'_> {
        Tables::new(&self.bytes, self.address)
    }
}

/// What a walk has found.
pub struct Walked {
    pub frames: Vec<Place>,
    pub end: End,
    pub doubt: Option<End>,
}

/// What a table can say.
#[derive(Clone, Copy, Debug)]
pub enum Says {
    /// Everything.
    All,
    /// Nothing of functions whose rows its version has no form for: a walk ends there.
    NotAllFunctions,
    /// Not that the first function has no caller.
    NotTheEnd,
}

impl Says {
    /// Whether the walk has found all there is; `false`: as much as the table can say. The error is what is wrong.
    pub fn judge(self, walked: &Walked, truth: &[Place], in_first: bool) -> Result<bool, String> {
        let Walked { frames, end, doubt } = walked;
        // Big-endian tables contain no proof: this is their least doubt.
        let is_whole = (*end, *doubt) == (End::Outermost, Some(End::UnprovenTables));
        let whole = *frames == truth;
        let is_begun = frames.first() == truth.first();
        match (self, end) {
            (Self::All | Self::NotAllFunctions, _) if whole && is_whole => Ok(true),
            (Self::NotAllFunctions, End::NoRow(..)) if !whole && truth.starts_with(frames) => {
                Ok(false)
            }
            (Self::NotTheEnd, End::LinkRegisterLost) if whole => Ok(true),
            // The link register has what the last call has left, and a walk takes that for a caller.
            (Self::NotTheEnd, _) if in_first && !is_whole && is_begun => Ok(false),
            _ => Err(format!("{end:?}, {frames:x?} instead of {truth:x?}")),
        }
    }
}

/// Walks by these tables, and by nothing else.
pub fn walk<R: RegisterSet>(
    tables: &Section,
    program: &Program,
    registers: R,
    stack: &Words,
) -> Walked {
    let code = [Code::new(&program.code.bytes, program.code.address)];
    let unwinder = Unwinder::new(tables.tables())
        .code(&code)
        .fallbacks(Fallbacks::empty());
    let ranges = [stack.range];
    let memory = Stacks::new(&ranges, |address| Some(stack.word(address)));
    let mut frames = unwinder.frames(registers, memory);
    let places = frames.by_ref().map(|frame| {
        assert!(frame.fp_known, "no frame pointer at {:#x}", frame.pc);
        let registers = frame
            .registers
            .expect("a frame that a row led to has registers");
        Place {
            pc: frame.pc,
            sp: registers.sp(),
            fp: registers.fp(),
        }
    });
    Walked {
        frames: places.collect(),
        end: frames.end().expect("an ended walk has a reason"),
        doubt: frames.doubt().map(|doubt| doubt.reason),
    }
}
