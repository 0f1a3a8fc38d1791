//! The text of a report. One line a frame, the same columns for every architecture; scripts may rely on it, and it
//! only grows at the end of a line.
//!
//! ```text
//! frame   = number ": " address " " letter [ " " name "+" offset "/" size [ place ] { newline inlined } ] [ newline tail ]
//! inlined = "        inlined into " name [ place ]
//! tail    = "        reached by a tail call from " ( name | address ): a function that was called, went on to this frame's by a
//!           jump, directly or through others, and so has no frame; its address where it has no name. What the next
//!           frame's call tells, so that this line is not there before that frame is found. A jump by a pointer is taken
//!           for one that leads to this frame's function, as where it leads cannot be read; on x86-64 one counts at any
//!           byte, also in the middle of an instruction
//! place   = " at " file ":" line
//! number  = at least four characters, right-aligned, decimal, from 0
//! address = "0x" 16 hexadecimal digits
//! letter  = "p" exact | "r" return address | "a" by analysis of its callee's code | "f" by frame pointer |
//!           "l" by link register | "?" found by scanning
//! offset, size = "0x" hexadecimal digits, bytes; the offset is that of the address, also where the name is that of
//!                the call before it; both are of the function that has code of its own: the last one named for a frame
//! name, file, line = of a return address, those of the call before it. The first name is that of the innermost function
//!                that the code belongs to, the names after it those of the functions it is inlined into, each with the
//!                place of the call. Where the table does not know what is inlined, the function that has code of its own
//!                is the only one named, with the place in it, if that is known
//! trap    = "   ----- " words " -----", before the frame that was interrupted
//! lines   = what a kernel adds after that: lines that begin with two spaces and no digit
//! left    = "   ----- " count " frames left out -----", where they would be
//! end     = "end of backtrace: " verdict [ doubt ] ", " count " frames" [ newline hint ]
//! hint    = "hint: " words: what to change if the list should not end here
//! verdict = "complete" | "outermost function reached" | "incomplete: " reason | "user code reached at " address
//!           [ ", complete for the kernel" ]: without a doubt, every frame of the kernel is listed. The last frame is that of the
//!           user code
//! doubt   = ", from frame " number " on " ( "by its callee's code" | "by frame pointer" | "by link register" |
//!           "by scanning" | "in doubt" )
//!           " (" reason ")"; the last is of frames found by table, but by a damaged one, or not by a call that leads to the frame
//!           before
//! ```

mod lines;

use core::fmt::{self, Display, Write};

use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::sframe::Tables;
use crate::source::RowSource;
use crate::symbols::{self, SymbolTable};
use crate::text;
use crate::trace::{Event, Trace};
use crate::verdict::End;
use crate::walk::Frames;

use lines::{write_address, write_left_out, write_names};
pub use lines::{write_bytes, write_end, write_frame};

/// A function that writes why trap code ran, in a few words without a newline. The address is that of [`Frame::trap_frame`](crate::Frame::trap_frame).
pub type TrapWords<'a> = &'a dyn Fn(&mut dyn Write, Option<u64>) -> fmt::Result;

/// A function that knows the symbol table for code at an address, if that is not the image's: of a module.
pub type SymbolsAt<'a> = &'a dyn Fn(u64) -> Option<SymbolTable<'a>>;

/// The text form of events, with names and the kernel's own text for its traps.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    symbols: Option<SymbolTable<'a>>,
    symbols_at: SymbolsAt<'a>,
    trap_words: TrapWords<'a>,
    trap_lines: TrapWords<'a>,
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text { .. }")
    }
}

impl<'a> Text<'a> {
    /// Text with names from `symbols`.
    #[must_use]
    pub const fn new(symbols: Option<SymbolTable<'a>>) -> Self {
        Self {
            symbols,
            symbols_at: &|_| None,
            trap_words: &|out, _| out.write_str("interrupted"),
            trap_lines: &|_, _| Ok(()),
        }
    }

    /// Sets a function that knows symbol tables of other code than the image's.
    #[must_use]
    pub const fn symbols_at(mut self, symbols: SymbolsAt<'a>) -> Self {
        self.symbols_at = symbols;
        self
    }

    /// Calls `read` with the symbol table for code at this address.
    pub(crate) fn with_symbols<T>(
        &self,
        pc: u64,
        read: impl FnOnce(Option<&SymbolTable<'a>>) -> T,
    ) -> T {
        let other = (self.symbols_at)(pc);
        read(other.as_ref().or(self.symbols.as_ref()))
    }

    /// Sets the function that writes what interrupted a frame. Without it, the text is "interrupted".
    #[must_use]
    pub const fn trap_words(mut self, words: TrapWords<'a>) -> Self {
        self.trap_words = words;
        self
    }

    /// Sets a function that writes whole lines after those words, each indented by two spaces: the interrupted registers.
    #[must_use]
    pub const fn trap_lines(mut self, lines: TrapWords<'a>) -> Self {
        self.trap_lines = lines;
        self
    }

    /// Walks, and writes a line for each of the remaining frames and the end line; returns why the walk ended. The frames stay where
    /// they are, and none is left out: it takes less stack than a [`Backtrace`], which has a walk of its own.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_all<R: RegisterSet, M: Memory + Clone, S: RowSource + Clone>(
        &self,
        out: &mut dyn Write,
        frames: &mut Frames<'_, R, M, S>,
    ) -> Result<End, fmt::Error> {
        frames.tell(&mut |event| self.write(out, event))
    }

    /// Writes the lines of an event, each with its newline.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write<R>(&self, out: &mut dyn Write, event: &Event<'_, R>) -> fmt::Result {
        match *event {
            Event::TailCall { reached, called } => self.write_tail_call(out, reached, called),
            Event::LeftOut(count) => write_left_out(out, count),
            Event::Interrupted(trap_frame) => {
                out.write_str("   ----- ")?;
                self.write_trap_words(out, trap_frame)?;
                out.write_str(" -----\n")?;
                (self.trap_lines)(out, trap_frame)
            }
            Event::Frame(number, frame) => {
                write_address(out, number, frame)?;
                self.write_names(out, frame.pc, frame.lookup_pc())?;
                out.write_str("\n")
            }
            Event::End { end, doubt, count } => write_end(out, end, doubt, count),
        }
    }

    /// Writes the names of the code at `pc`, which is looked up at `lookup_pc`, if they are known.
    #[inline(never)]
    fn write_names(&self, out: &mut dyn Write, pc: u64, lookup_pc: u64) -> fmt::Result {
        self.with_symbols(lookup_pc, |symbols| match symbols {
            Some(symbols) => write_names(out, pc, lookup_pc, symbols),
            None => Ok(()),
        })
    }

    /// Writes the line which says that the frame looked up at `pc` was reached by a tail call from the function at `target`. Writes
    /// nothing if both are pieces of the same function.
    #[inline(never)]
    fn write_tail_call(&self, out: &mut dyn Write, pc: u64, target: u64) -> fmt::Result {
        let Some(called) = self.tail_called(pc, target) else {
            return Ok(());
        };
        out.write_str("        reached by a tail call from ")?;
        match called {
            Some(name) => name.write(out)?,
            None => text::hex(out, target, 16)?,
        }
        out.write_str("\n")
    }

    /// The name of the function at `target`, if it has one, that went on to the frame looked up at `pc` by a tail call. `None`: both
    /// are pieces of the same function.
    pub(crate) fn tail_called(&self, pc: u64, target: u64) -> Option<Option<symbols::Text<'a>>> {
        let called = self.function(target);
        let found = self.function(pc);
        match (&called, &found) {
            (Some(called), Some(found)) if called.is_piece_of(found) => None,
            _ => Some(called),
        }
    }

    /// The name of the function with code at this address. Not inlined, so that one table at a time is on the stack.
    #[inline(never)]
    fn function(&self, pc: u64) -> Option<symbols::Text<'a>> {
        self.with_symbols(pc, |symbols| symbols?.function(pc))
    }

    /// Writes why trap code ran.
    pub(crate) fn write_trap_words(
        &self,
        out: &mut dyn Write,
        trap_frame: Option<u64>,
    ) -> fmt::Result {
        (self.trap_words)(out, trap_frame)
    }
}

/// A backtrace as text. It writes while it walks, so that an address is written before its name is looked up.
///
/// A whole report, from a handler through the exception to the interrupted function:
///
/// ```
/// use std::fmt::Write;
///
/// use unwind::report::Backtrace;
/// use unwind::{Code, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
///
/// # let table: [u8; 134] = [
/// #     0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 3, 0, 0, 0, 3, 0, 0, 0, 58, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0,
/// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0,
/// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 7, 0, 0, 0,
/// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 20, 0, 0, 0,
/// #     1, 0, 0, 0, 0,  0, 0,
/// #     1, 0, 0x80, 1, 0,  0, 0x0d, 0x3b, 24, 0x3b, 0, 0x3b, 32,
/// #     1, 0, 0, 0, 0,  0, 3, 8,  0, 0,
/// #     0, 0, 0, 0, b'S', b'F', b'P', b'F', 0, 0x20, 0, 0, 0, 0, 0, 0, b'S', b'L', b'N', b'K',
/// #     0x34, 0xde, 0x5d, 0xdb, b'S', b'F', b'C', b'K',
/// # ];
/// // An entry function at 0x1000; trap code at 0x1010, whose rows lead to what the processor has pushed; and at 0x1020 the
/// // handler that it calls.
/// let tables = Tables::new(&table, 0x2000);
/// let mut text = [0; 0x30];
/// text[0x13..0x18].copy_from_slice(&[0xe8, 8, 0, 0, 0]); // call 0x1020
/// let code = [Code::new(&text, 0x1000)];
/// // The handler's return address, what the processor pushed (rip, cs, rflags, rsp), and rbp.
/// let words = [0x1018_u64, 0x1004, 8, 2, 0x8030, 0];
/// let stacks = [Range::new(0x8000, 0x8030)];
/// let read = |address: u64| words.get((address as usize - 0x8000) / 8).copied();
///
/// let unwinder = Unwinder::new(tables).code(&code);
/// let frames = unwinder.frames(Registers::new(0x1024, 0x8000, 0), Stacks::new(&stacks, read));
/// let mut serial = String::new();
/// let report = Backtrace::new(frames, None).trap_words(&|out, trap_frame| {
///     // A kernel looks there for the exception's number.
///     write!(out, "breakpoint, saved at {:#x}", trap_frame.unwrap_or(0))
/// });
/// report.write(&mut serial)?;
/// assert_eq!(
///     serial,
///     "   0: 0x0000000000001024 p
///    1: 0x0000000000001018 r
///    ----- breakpoint, saved at 0x8008 -----
///    2: 0x0000000000001004 p
/// end of backtrace: complete, 3 frames
/// "
/// );
/// # Ok::<(), std::fmt::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Backtrace<'a, R, M, S = Tables<'a>> {
    trace: Trace<'a, R, M, S>,
    text: Text<'a>,
}

impl<'a, R: RegisterSet, M: Memory + Clone, S: RowSource + Clone> Backtrace<'a, R, M, S> {
    /// The remaining frames of `frames`, with names from `symbols`.
    pub const fn new(frames: Frames<'a, R, M, S>, symbols: Option<SymbolTable<'a>>) -> Self {
        Self {
            trace: Trace::new(frames),
            text: Text::new(symbols),
        }
    }

    /// See [`Text::trap_words`].
    #[must_use]
    pub const fn trap_words(mut self, words: TrapWords<'a>) -> Self {
        self.text.trap_words = words;
        self
    }

    /// See [`Text::trap_lines`].
    #[must_use]
    pub const fn trap_lines(mut self, lines: TrapWords<'a>) -> Self {
        self.text.trap_lines = lines;
        self
    }

    /// See [`Trace::ends`].
    #[must_use]
    pub fn ends(mut self, first: u32, last: u32) -> Self {
        self.trace = self.trace.ends(first, last);
        self
    }

    /// Writes a line for each frame and the end line, and returns why the walk ended.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(mut self, out: &mut dyn Write) -> Result<End, fmt::Error> {
        let Self { trace, text } = &mut self;
        trace.tell(&mut |event| text.write(out, event))
    }
}

impl<R: RegisterSet, M: Memory + Clone, S: RowSource + Clone> Display for Backtrace<'_, R, M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.clone().write(f).map(|_| ())
    }
}
