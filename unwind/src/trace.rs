//! A backtrace as events: the content of a report, independent of the form in which it is written.
//!
//! Only this module decides which frames are left out, where an interruption is, and what the verdict is. Text, markup and log frames write
//! the events, so they differ only in form. Names are needed to distinguish a tail call from a jump between pieces of one function. So the
//! code that has the names calls [`are_of_one_function`](crate::symbols::are_of_one_function): the text form if there are symbols, otherwise
//! the host.

use core::fmt;

use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::sframe::Tables;
use crate::source::RowSource;
use crate::verdict::{Doubt, End, How};
use crate::walk::{Frame, FrameKind, Frames};

/// An event of a backtrace, in the order of a report: a frame, or a statement about frames. See [`Trace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'f, R> {
    /// A tail call: the call that led to the previous frame is a call of another function, or of another piece of its function.
    TailCall {
        /// The address with which to look up the previous frame: see [`Frame::lookup_pc`].
        reached: u64,
        /// The address that was called.
        called: u64,
    },
    /// A number of frames that are left out here.
    LeftOut(u32),
    /// An interruption: the next frame was interrupted. The address is [`Frame::trap_frame`] of that frame.
    Interrupted(Option<u64>),
    /// A frame, with its number, from 0.
    Frame(u32, &'f Frame<R>),
    /// The end of the backtrace, the last event.
    End {
        /// The reason why the walk ended.
        end: End,
        /// The first doubt about the frames.
        doubt: Option<Doubt>,
        /// The number of frames, including frames that were left out.
        count: u32,
    },
}

/// The frames of a walk as events: all frames, or the first and the last ones. For a report in a form of your own.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{Code, End, Event, Stacks, Trace, Unwinder, sframe::Tables, x86_64::Registers};
///
/// let code = [Code::new(&CODE, 0x1000)];
/// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
/// let frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
/// let mut log = vec![];
/// let end = Trace::new(frames).tell(&mut |event| {
///     match event {
///         Event::Frame(number, frame) => log.push((*number, frame.pc)),
///         Event::End { end, .. } => assert!(end.is_complete()),
///         _ => {}
///     }
///     Ok(())
/// })?;
/// assert_eq!((log, end), (vec![(0, 0x1018), (1, 0x1005)], End::Complete));
/// # Ok::<(), std::fmt::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace<'a, R, M, S = Tables<'a>> {
    frames: Frames<'a, R, M, S>,
    /// The numbers of the first and of the last frames to show; `None` for all.
    ends: Option<(u32, u32)>,
}

impl<'a, R: RegisterSet, M: Memory + Clone, S: RowSource + Clone> Trace<'a, R, M, S> {
    /// Creates the events of the remaining frames of `frames`.
    pub const fn new(frames: Frames<'a, R, M, S>) -> Self {
        Self { frames, ends: None }
    }

    /// Limits the events to `first` frames at the beginning and `last` frames at the end, for a stack that a recursion filled.
    ///
    /// A recursion of more than about 260 frames is shortened earlier: to a few of its first frames, and its last frames. Frames that were
    /// interrupted, or that were not found with a row, are never left out.
    ///
    /// The number of frames must be known for this, so a separate walk counts them after the first frames, and at each recursion.
    #[must_use]
    pub const fn ends(mut self, first: u32, last: u32) -> Self {
        self.ends = Some((first, last));
        self
    }

    /// Walks, passes each event to `listener`, and returns why the walk ended. A second call passes only the end again.
    ///
    /// (An iterator of events would need a buffer for the frame that follows other events.)
    ///
    /// # Errors
    /// Returns an error if the listener does. The first error ends the walk.
    pub fn tell(
        &mut self,
        listener: &mut dyn FnMut(&Event<'_, R>) -> fmt::Result,
    ) -> Result<End, fmt::Error> {
        self.frames.tell_parts::<true>(self.ends, listener)
    }
}

impl<R: RegisterSet, M: Memory + Clone, S: RowSource + Clone> Frames<'_, R, M, S> {
    /// Walks, passes each event of the remaining frames to `listener`, and returns why the walk ended.
    ///
    /// This needs less stack than [`Trace::tell`]: a [`Trace`] contains a walk, and copies the walk to count frames that it leaves out. Each
    /// takes half a kilobyte.
    ///
    /// # Errors
    /// Returns an error if the listener does. The first error ends the walk.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// # use unwind::{Event, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    /// # let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000));
    /// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
    /// let mut count = 0;
    /// frames.tell(&mut |event| {
    ///     count += u32::from(matches!(event, Event::Frame(..)));
    ///     Ok(())
    /// })?;
    /// assert_eq!(count, 2);
    /// # Ok::<(), std::fmt::Error>(())
    /// ```
    pub fn tell(
        &mut self,
        listener: &mut dyn FnMut(&Event<'_, R>) -> fmt::Result,
    ) -> Result<End, fmt::Error> {
        self.tell_parts::<false>(None, listener)
    }

    /// Passes the events of all frames or, if `MAY_COUNT`, of the first and the last frames.
    fn tell_parts<const MAY_COUNT: bool>(
        &mut self,
        ends: Option<(u32, u32)>,
        listener: &mut dyn FnMut(&Event<'_, R>) -> fmt::Result,
    ) -> Result<End, fmt::Error> {
        let mut number = self.found();
        // Those from `number` on, up to this one, are left out.
        let mut resume = None;
        let mut left_out: u32 = 0;
        let mut shown: u32 = 0;
        let mut recursion = Recursion::default();
        // How far the last recursion was counted.
        let mut counted: u32 = 0;
        // Where the last frame is looked up.
        let mut told = None;
        loop {
            // Borrowed, because a frame that is moved out is on the stack twice.
            let next = self.next_any();
            let Some(frame) = &next else {
                break;
            };
            if let (Some(reached), Some(called)) = (told.take(), frame.tail_call) {
                pass(listener, Event::TailCall { reached, called })?;
            }
            if MAY_COUNT && let Some((first, last)) = ends {
                let repeated = recursion.add(frame);
                // What is being left out was counted already.
                if resume.is_none_or(|resume| number >= resume) {
                    if shown == first {
                        resume = self.count_ahead().checked_sub(last);
                    } else if let Some(period) = repeated
                        && number >= counted
                    {
                        counted = self.count_recursion(recursion, period);
                        let last = counted.saturating_sub(period);
                        resume = (last.saturating_sub(number) >= LEAST).then_some(last);
                    }
                }
            }
            if frame.how == How::SFrame && resume.is_some_and(|resume| number < resume) {
                left_out = left_out.wrapping_add(1);
                number = number.wrapping_add(1);
                continue;
            }
            if left_out != 0 {
                pass(listener, Event::LeftOut(core::mem::take(&mut left_out)))?;
            }
            if frame.how == How::TrapFrame {
                pass(listener, Event::Interrupted(frame.trap_frame))?;
            }
            pass(listener, Event::Frame(number, frame))?;
            told = Some(frame.lookup_pc());
            number = number.wrapping_add(1);
            shown = shown.wrapping_add(1);
        }
        if left_out != 0 {
            pass(listener, Event::LeftOut(left_out))?;
        }
        self.tell_end(number, listener)
    }

    /// Passes the last event. Not inlined, so that the event is not on the stack during the walk.
    #[inline(never)]
    fn tell_end(
        &self,
        count: u32,
        listener: &mut dyn FnMut(&Event<'_, R>) -> fmt::Result,
    ) -> Result<End, fmt::Error> {
        // The iterator has ended, so the reason is there.
        let end = self.end().unwrap_or(End::Limit);
        listener(&Event::End {
            end,
            doubt: self.doubt(),
            count,
        })?;
        Ok(end)
    }

    /// Counts the frames by a separate walk. Not inlined, so that its copy of the walk is on the stack only while it counts.
    #[inline(never)]
    fn count_ahead(&self) -> u32 {
        let mut ahead = self.clone();
        while ahead.next_any().is_some() {}
        ahead.found()
    }

    /// Counts the frames that continue a recursion, by a separate walk. Returns the number of the first one that does not. Not inlined, as
    /// [`Self::count_ahead`].
    #[inline(never)]
    fn count_recursion(&self, mut recursion: Recursion, period: u32) -> u32 {
        let mut ahead = self.clone();
        let mut end = self.found();
        while let Some(frame) = &ahead.next_any()
            && recursion.add(frame).is_some_and(|found| found <= period)
        {
            end = ahead.found();
        }
        end
    }
}

/// The largest number of frames that a recursion repeats, if its middle is left out: of functions that call each other in a circle.
const PERIOD: usize = 4;
/// How often frames are repeated before those that follow are left out.
const REPEATED: u32 = 3;
/// The smallest number of frames to leave out of a recursion. Shorter ones are whole, to be compared with a debugger's list.
const LEAST: u32 = 256;

/// Finds out whether frames are a recursion: the same return addresses again and again.
#[derive(Clone, Copy, Debug, Default)]
struct Recursion {
    /// Return addresses of the last frames, the last one first; 0 for other frames.
    last: [u64; PERIOD],
    /// For each number of frames, from 1: how many of the last frames were each like the one so many frames before.
    alike: [u32; PERIOD],
}

impl Recursion {
    /// Adds the next frame. Returns the smallest number of frames that have been repeated often, with this frame as the last one.
    #[inline(always)]
    fn add<R>(&mut self, frame: &Frame<R>) -> Option<u32> {
        self.add_pc(match (frame.how, frame.kind) {
            (How::SFrame, FrameKind::ReturnAddress) => frame.pc,
            _ => 0,
        })
    }

    /// The same of a return address. Not inlined, so that there is one copy for all walks.
    #[inline(never)]
    fn add_pc(&mut self, pc: u64) -> Option<u32> {
        let mut found = None;
        for ((period, before), alike) in (1_u32..).zip(self.last).zip(&mut self.alike) {
            *alike = match pc != 0 && pc == before {
                true => alike.saturating_add(1),
                false => 0,
            };
            if *alike >= period.saturating_mul(REPEATED) {
                found = found.or(Some(period));
            }
        }
        let [first, second, third, _] = self.last;
        self.last = [pc, first, second, third];
        found
    }
}

/// Passes an event on. Not inlined, so that it is not on the stack during the walk.
#[inline(never)]
fn pass<R>(
    listener: &mut dyn FnMut(&Event<'_, R>) -> fmt::Result,
    event: Event<'_, R>,
) -> fmt::Result {
    listener(&event)
}
