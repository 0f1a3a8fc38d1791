//! The walk from a boundary between two instructions, compared with the shadow stack.

use unwind::{
    End, Frame, FrameKind, Frames, Memory, Range, RegisterSet, RowSource, Stacks, Unwinder,
};

use super::image::Image;
use super::memory::Ram;
use super::shadow::Waiting;
use crate::stub::{Registers, SAVED_ARM, SAVED_X86, State};

/// A frame of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its program counter.
    pub pc: u64,
    /// What that is.
    pub kind: FrameKind,
    /// Its stack pointer.
    pub sp: u64,
}

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The walk says complete, and the list is that of the shadow stack.
    Equal,
    /// The walk says, for this reason, that it does not vouch for the whole list, and what it vouches for is right. The address
    /// is that of the last frame that it vouches for.
    Incomplete(End, u64),
    /// What the walk vouches for is not so.
    Wrong(Box<Lists>),
}

/// Both lists, innermost first, and how the walk ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lists {
    /// Of the walk, as far as it vouches for it.
    pub walked: Vec<Listed>,
    /// Of the machine.
    pub happened: Vec<Listed>,
    /// What the walk says.
    pub end: End,
}

/// What walks go by.
#[derive(Debug)]
pub struct Walker<'a> {
    image: &'a Image,
    table: &'a [u8],
    ranges: Vec<Range>,
}

impl<'a> Walker<'a> {
    /// Walks by this table, on this CPU, with the stacks and the code of the image.
    #[must_use]
    pub fn new(image: &'a Image, table: &'a [u8], cpu: usize) -> Self {
        Self {
            image,
            table,
            ranges: image.stacks_of(cpu).map(|stack| stack.range).collect(),
        }
    }

    /// Walks, and compares.
    #[must_use]
    pub fn compare(&self, state: &State, waiting: &[Waiting], ram: &Ram) -> Compared {
        let code = [self.image.code()];
        let tables = self.image.tables(self.table);
        let unwinder = Unwinder::new(tables).code(&code);
        let memory = Stacks::new(&self.ranges, |address| ram.word(address));
        let at = (state.pc, state.sp);
        match state.registers {
            Registers::X86(registers) => {
                let unwinder = unwinder.trap_registers(&SAVED_X86);
                compare(unwinder.frames(registers, memory), at, waiting)
            }
            Registers::Arm(registers) => {
                let unwinder = unwinder.trap_registers(&SAVED_ARM);
                compare(unwinder.frames(registers, memory), at, waiting)
            }
            // It is followed in another way; by these tables there is no walk.
            Registers::Arm32(registers) => compare(unwinder.frames(registers, memory), at, waiting),
        }
    }
}

/// Compares a walk, from registers with this program counter and stack pointer, with those who wait, the outermost first.
pub(super) fn compare<R: RegisterSet, M: Memory, S: RowSource>(
    mut frames: Frames<'_, R, M, S>,
    (pc, sp): (u64, u64),
    waiting: &[Waiting],
) -> Compared {
    let first = Listed {
        pc,
        kind: FrameKind::Exact,
        sp,
    };
    let happened = || std::iter::once(first).chain(waiting.iter().rev().map(listed));
    let mut walked: Vec<Listed> = frames.by_ref().map(|frame| found(&frame)).collect();
    let end = frames.end().unwrap_or(End::Limit);
    // What is in doubt from some frame on is not vouched for.
    let doubt = frames.doubt();
    if let Some(doubt) = doubt {
        walked.truncate(doubt.frame as usize);
    }
    // Of a program in ring 3 or at EL0 only its innermost frame is followed.
    let is_whole = match end {
        End::Complete => true,
        End::User(_) => doubt.is_none(),
        _ => false,
    };
    let is_right = match is_whole {
        true => happened().eq(walked.iter().copied()),
        false => {
            let mut happened = happened();
            walked.iter().all(|frame| happened.next() == Some(*frame))
        }
    };
    match (is_right, is_whole, walked.last()) {
        (false, ..) => Compared::Wrong(Box::new(Lists {
            happened: happened().collect(),
            walked,
            end,
        })),
        (true, true, _) => Compared::Equal,
        (true, _, last) => {
            let reason = doubt.map_or(end, |doubt| doubt.reason);
            Compared::Incomplete(reason, last.map_or(pc, |frame| frame.pc))
        }
    }
}

const fn listed(waiting: &Waiting) -> Listed {
    let (pc, sp) = waiting.at();
    let kind = match waiting {
        Waiting::Caller { .. } | Waiting::Unseen { .. } => FrameKind::ReturnAddress,
        Waiting::Interrupted { .. } => FrameKind::Exact,
    };
    Listed { pc, kind, sp }
}

fn found<R: RegisterSet>(frame: &Frame<R>) -> Listed {
    Listed {
        pc: frame.pc,
        kind: frame.kind,
        sp: frame.registers.map_or(0, |registers| registers.sp()),
    }
}
