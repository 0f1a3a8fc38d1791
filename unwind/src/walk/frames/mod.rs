//! The walk: an iterator of frames. Only this module changes the state of a walk.

mod base;
mod lean;
mod resume;
mod steps;

use core::iter::FusedIterator;

use crate::lookup::{Found, LookupError, Proof};
use crate::memory::{Memory, is_aligned};
use crate::registers::RegisterSet;
use crate::sframe::Tables;
use crate::source::RowSource;
use crate::verdict::{Doubt, End, How};
use crate::walk::cursor::{Cursor, Step, Way};
use crate::walk::frame::lookup_pc;
use crate::walk::scan::Scan;
use crate::walk::{Frame, FrameKind, Unwinder};

/// The iterator over the frames of a walk, innermost first. [`Unwinder::frames`] returns it.
///
/// After the last frame, [`Self::end`] returns why the walk ended, and [`Self::doubt`] the first frame that is not certain.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// # use unwind::{Code, End, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
/// # let code = [Code::new(&CODE, 0x1000)];
/// # let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
/// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
/// let mut text = String::new();
/// for frame in frames.by_ref() {
///     text += &format!("{:#x} {}\n", frame.pc, frame.letter());
/// }
/// assert_eq!(text, "0x1018 p\n0x1005 r\n");
/// assert_eq!((frames.found(), frames.end(), frames.doubt()), (2, Some(End::Complete), None));
/// ```
///
/// # Cost
///
/// A frame costs at most six reads of words. A frame of trap code costs one more, and one for each of [`Unwinder::trap_registers`]. A scan
/// costs 4,096 reads in all.
///
/// Each call of `next` queries each source of rows at most ten times for a row, ten times for a whole function
/// ([`RowSource::function`]) and twice for [`RowSource::is_one_function`]. A list of sources looks up one more row for each of these. A
/// look-up in [`Tables`] reads a bounded number of functions and rows: see [`LookupError::TooLarge`].
///
/// A step changes nothing before it has succeeded, so frames that were found are never lost, and [`Fallbacks`](crate::Fallbacks)
/// start from an intact state.
#[derive(Clone, Debug)]
pub struct Frames<'a, R, M, S = Tables<'a>> {
    unwinder: &'a Unwinder<'a, S>,
    memory: M,
    cursor: Cursor<R>,
    /// The address that the call before the cursor's return address leads to, if the frame before was reached by a tail call.
    tail_call: Option<u64>,
    /// Whether the cursor's stack pointer is in memory that the walk may read; perhaps not in the first and in interrupted
    /// frames.
    on_stack: bool,
    /// The last stack pointer that was.
    reached: u64,
    /// The row for the cursor's frame, or why there is none, once the frame was yielded.
    found: Found,
    outcome: Result<(), LookupError>,
    /// The canonical frame address, if that is known. In two fields, because a step after another of [`lean`] knows that it is.
    cfa: u64,
    cfa_known: bool,
    /// Whether the source of rows is one for this machine.
    usable: bool,
    /// Whether it is, and all code is the kernel's.
    is_plain: bool,
    /// Whether the next step may be one as nearly all are: [`lean`]. Only after a row has led to a frame of the kernel.
    is_lean: bool,
    /// The first frame whose call was not checked.
    unchecked: Option<u32>,
    /// The first frame that was found with tables that contain no proof.
    unproven: Option<u32>,
    count: u32,
    doubt: Option<Doubt>,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The next frame is the cursor's.
    Found,
    /// The next frame is the caller of the cursor's.
    Stepping,
    /// A scan finds the next frame. It began for this reason.
    Scanning(Scan, End),
    Ended(End),
}

impl<'a, R: RegisterSet, M: Memory, S: RowSource> Frames<'a, R, M, S> {
    /// The frames from these registers outwards, which are exact, or those after a call.
    // Not inlined, and the cursor made here, so that its caller has no copy of it on the stack for the whole walk.
    #[inline(never)]
    pub(super) fn start(
        unwinder: &'a Unwinder<'a, S>,
        registers: R,
        exact: bool,
        mut memory: M,
    ) -> Self {
        let sp = registers.sp();
        let usable = unwinder.source.describes(R::MACHINE).is_ok();
        Self {
            unwinder,
            on_stack: memory.enter(sp),
            memory,
            cursor: Cursor {
                exact,
                ..Cursor::called(registers, How::Given)
            },
            tail_call: None,
            reached: sp,
            found: Found::EMPTY,
            outcome: Ok(()),
            cfa: 0,
            cfa_known: false,
            usable,
            is_plain: usable && unwinder.user_code.is_empty(),
            is_lean: false,
            unchecked: None,
            unproven: None,
            count: 0,
            doubt: unwinder.source.doubt().map(|reason| Doubt {
                frame: 0,
                how: How::SFrame,
                reason,
            }),
            state: State::Found,
        }
    }

    /// Returns why there is no further frame; `None` while `next` has not returned `None`.
    pub const fn end(&self) -> Option<End> {
        match self.state {
            State::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// Returns the number of frames that were found so far.
    pub const fn found(&self) -> u32 {
        self.count
    }

    /// Returns the first doubt about the frames, with its frame and reason; `None` if there is none so far.
    ///
    /// A frame is in doubt if it was not found with a proven row, or if the call before its return address does not lead to its callee. If
    /// the tables are damaged, all frames are. Call this after the last frame, because doubts about the whole list are added at the end.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// # use unwind::{End, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    /// // Without the code, calls are not checked.
    /// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000));
    /// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
    /// assert_eq!(frames.by_ref().count(), 2);
    /// let doubt = frames.doubt().expect("a doubt");
    /// assert_eq!((doubt.frame, doubt.reason), (1, End::CallsUnchecked));
    /// ```
    pub const fn doubt(&self) -> Option<Doubt> {
        self.doubt
    }

    /// Takes a step if the walk may go there.
    #[inline(never)]
    fn take(&mut self, step: &Step<R>) -> Result<(), End> {
        self.go(step.next.registers.sp(), step.way)?;
        self.arrive();
        self.cursor = step.next;
        Ok(())
    }

    /// Moves the walk to a stack pointer, if it may go there. The only place where its memory changes.
    #[inline(always)]
    fn go(&mut self, sp: u64, way: Way) -> Result<(), End> {
        if way != Way::Stay {
            let may = self.memory.advance(self.reached, sp, R::WORD);
            if may {
                self.reached = sp;
            } else if way == Way::Up {
                return Err(End::NotAdvancing(sp));
            }
            self.on_stack = may;
        }
        Ok(())
    }

    /// Makes the cursor's frame the next frame, after [`Self::go`]. The caller changes the cursor.
    #[inline(always)]
    fn arrive(&mut self) {
        self.tail_call = None;
        self.state = State::Found;
    }

    /// Keeps the first doubt about a frame. The next frame to yield has the number `self.count`.
    #[inline(never)]
    fn note(&mut self, frame: u32, how: How, reason: End) {
        if self.doubt.is_none() {
            self.doubt = Some(Doubt { frame, how, reason });
        }
    }

    /// Records the doubt about `frame`, which was found with the row of the last frame that was yielded.
    #[inline(never)]
    fn note_proof(&mut self, frame: u32, proof: Proof) {
        let last = self.count.saturating_sub(1);
        match proof {
            Proof::Proven => {}
            Proof::Unproven | Proof::IfEntered => {
                self.note(frame, How::SFrame, End::UnprovenRow(last))
            }
            Proof::Unknown => self.unproven = self.unproven.or(Some(frame)),
        }
    }

    /// Records a doubt about the whole list, unless there is another doubt, which is more specific.
    fn note_last(&mut self) {
        if let Some(frame) = self.unchecked {
            self.note(frame, How::SFrame, End::CallsUnchecked);
        }
        if let Some(frame) = self.unproven {
            self.note(frame, How::SFrame, End::UnprovenTables);
        }
    }

    /// Returns the next frame, as [`Iterator::next`] does, with less code at the call, and more instructions.
    // Rare steps are called in sequence, not nested, so that their stack frames do not add up.
    #[inline(never)]
    pub(crate) fn next_any(&mut self) -> Option<Frame<R>> {
        self.is_lean = false;
        if let State::Stepping = self.state {
            let proof = match self.found.proof {
                Proof::IfEntered if self.was_entered() => Proof::Proven,
                proof => proof,
            };
            let call = match self.step_by_row() {
                Ok(call) => {
                    self.note_proof(self.count, proof);
                    call
                }
                Err(reason) => self.step_without_row(reason),
            };
            self.note_call(call);
        }
        if let State::Found = self.state {
            return self.yield_frame();
        }
        self.scan()
    }

    /// Looks up the cursor's row, and yields its frame.
    #[inline(always)]
    fn yield_frame(&mut self) -> Option<Frame<R>> {
        if self.count >= self.unwinder.limit {
            self.state = State::Ended(End::Limit);
            return None;
        }
        self.count = self.count.wrapping_add(1);
        self.state = State::Stepping;
        let cursor = &self.cursor;
        let (pc, kind) = (cursor.registers.pc(), cursor.kind());
        self.outcome = self.look_up(lookup_pc(pc, kind));
        let cfa = self.keep_cfa();
        self.is_lean = self.is_lean && self.may_be_lean();
        let cursor = &self.cursor;
        Some(Frame {
            pc,
            cfa,
            kind,
            how: cursor.how,
            tail_call: self.tail_call,
            trap_frame: cursor.trap_frame,
            fp_known: cursor.fp_known,
            registers: Some(cursor.registers),
        })
    }

    /// Keeps the canonical frame address by the row that was looked up, if there is one; returns it.
    #[inline(always)]
    fn keep_cfa(&mut self) -> Option<u64> {
        let cfa = match self.outcome {
            Ok(()) => self.cursor.cfa(&self.found, &self.memory),
            Err(_) => None,
        };
        (self.cfa, self.cfa_known) = (cfa.unwrap_or(0), cfa.is_some());
        cfa
    }

    /// Finds the row for `pc`, the cursor's look-up address.
    #[inline(always)]
    fn look_up(&mut self, pc: u64) -> Result<(), LookupError> {
        let registers = &self.cursor.registers;
        // If no instruction begins here, a jump failed or the saved value is damaged, and no row applies.
        let begins = is_aligned(registers.pc(), R::ALIGNMENT as u64);
        let may = self.unwinder.may_be_at(pc, registers.is_user());
        if !self.usable || !may || (self.cursor.exact && !begins) {
            return Err(LookupError::NoFunction);
        }
        self.unwinder.source.look_up(pc, &mut self.found)
    }

    /// Returns the next frame of a scan, if there is one. The cursor stays where the rows ended, because a candidate does not show where its
    /// caller's frame is.
    #[inline(never)]
    fn scan(&mut self) -> Option<Frame<R>> {
        let State::Scanning(scan, reason) = self.state else {
            return None;
        };
        let registers = &self.cursor.registers;
        let found = match self.count < self.unwinder.limit {
            true => self.unwinder.candidate(registers, &self.memory, scan),
            false => None,
        };
        let Some((pc, scan)) = found else {
            self.state = State::Ended(reason);
            return None;
        };
        self.note(self.count, How::Scan, reason);
        self.count = self.count.wrapping_add(1);
        self.state = State::Scanning(scan, reason);
        Some(Frame {
            pc,
            cfa: None,
            kind: FrameKind::ReturnAddress,
            how: How::Scan,
            tail_call: None,
            trap_frame: None,
            fp_known: false,
            registers: None,
        })
    }
}

impl<R: RegisterSet, M: Memory, S: RowSource> Iterator for Frames<'_, R, M, S> {
    type Item = Frame<R>;

    #[inline]
    fn next(&mut self) -> Option<Frame<R>> {
        if self.is_lean && self.step_lean() {
            return self.frame_after_lean();
        }
        self.next_any()
    }
}

impl<R: RegisterSet, M: Memory, S: RowSource> FusedIterator for Frames<'_, R, M, S> {}
