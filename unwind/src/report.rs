//! The text of a report: one line for each frame, with the same columns for every architecture.
//!
//! Scripts may rely on this form. New versions only add text at the end of a line. [`Backtrace`] writes a whole backtrace.
//!
//! ```text
//! frame   = number ": " address " " letter [ " " name "+" offset "/" size [ place ] { newline inlined } ] [ newline tail ]
//! inlined = "        inlined into " name [ place ]
//! tail    = "        reached by a tail call from " ( name | address ): a function that was called continued in this frame's
//!           function by a jump, directly or through other functions, and so has no frame. Its address, if its name is not
//!           known. The line follows when the next frame is found, because it depends on the next frame's call. A jump through
//!           a pointer counts as a jump to this frame's function, because its target cannot be read; on x86-64, such a jump
//!           counts at any byte, also in the middle of an instruction
//! place   = " at " file ":" line
//! number  = at least four characters, right-aligned, decimal, from 0
//! address = "0x" 16 hexadecimal digits
//! letter  = "p" exact | "r" return address | "a" by analysis of its callee's code | "f" by frame pointer |
//!           "l" by link register | "?" found by scanning
//! offset, size = "0x" hexadecimal digits, in bytes. The offset belongs to the address, although a return address has the name
//!                of the call before it. Both belong to the function that has code of its own: the last name of a frame
//! name, file, line = for a return address, of the call before it. The first name is the innermost function, the names after it
//!                are the functions into which it is inlined, each with the place of the call. If inlined functions are not
//!                known, the only name is the function that has code of its own, with the place in it, if that is known
//! trap    = "   ----- " words " -----", before the frame that was interrupted
//! lines   = lines that a kernel adds after "trap". They begin with two spaces, and the next character is not a digit
//! left    = "   ----- " count " frames left out -----", instead of these frames
//! end     = "end of backtrace: " verdict [ doubt ] ", " count " frames"
//! verdict = "complete" | "outermost function reached" | "incomplete: " reason | "user code reached at " address
//!           [ ", complete for the kernel" ]: without a doubt, every frame of the kernel is listed. The last frame is the user
//!           code's
//! doubt   = ", from frame " number " on " ( "by its callee's code" | "by frame pointer" | "by link register" |
//!           "by scanning" | "in doubt" )
//!           " (" reason ")". "in doubt" means that no fallback found the frame: for example, the row is not proven, the table
//!           is damaged, or no call leads to the previous frame. See `Doubt`
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

/// A function that writes why trap code ran, in a few words without a newline. The address is [`Frame::trap_frame`](crate::Frame::trap_frame).
pub type TrapWords<'a> = &'a dyn Fn(&mut dyn Write, Option<u64>) -> fmt::Result;

/// A function that returns the symbol table for code at an address outside of the image: a module's, for example.
pub type SymbolsAt<'a> = &'a dyn Fn(u64) -> Option<SymbolTable<'a>>;

/// The text form of events, with names, and with the kernel's own text for its traps.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::symbols::SymbolTable;
/// use unwind::{Code, Stacks, Unwinder, report::Text, sframe::Tables, x86_64::Registers};
///
/// let symbols = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/symbols/names.symbols"));
/// let text = Text::new(SymbolTable::parse(symbols, 0).ok());
/// let code = [Code::new(&CODE, 0x1000)];
/// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
/// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
/// let mut serial = String::new();
/// text.write_all(&mut serial, &mut frames)?;
/// assert!(serial.starts_with("   0: 0x0000000000001018 p inside+0x4/0xf\n"), "{serial}");
/// assert!(serial.ends_with("end of backtrace: complete, 2 frames\n"));
/// # Ok::<(), std::fmt::Error>(())
/// ```
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
    /// Creates the text form with names from `symbols`, the image's symbol table.
    #[must_use]
    pub const fn new(symbols: Option<SymbolTable<'a>>) -> Self {
        Self {
            symbols,
            symbols_at: &|_| None,
            trap_words: &|out, _| out.write_str("interrupted"),
            trap_lines: &|_, _| Ok(()),
        }
    }

    /// Sets the function that returns symbol tables for code outside of the image.
    #[must_use]
    pub const fn symbols_at(mut self, symbols: SymbolsAt<'a>) -> Self {
        self.symbols_at = symbols;
        self
    }

    /// Calls `read` with the symbol table for the address `pc`.
    pub(crate) fn with_symbols<T>(
        &self,
        pc: u64,
        read: impl FnOnce(Option<&SymbolTable<'a>>) -> T,
    ) -> T {
        let other = (self.symbols_at)(pc);
        read(other.as_ref().or(self.symbols.as_ref()))
    }

    /// Sets the function that writes why a frame was interrupted. Without it, the text is "interrupted".
    #[must_use]
    pub const fn trap_words(mut self, words: TrapWords<'a>) -> Self {
        self.trap_words = words;
        self
    }

    /// Sets the function that writes whole lines after the line of an interruption, each indented by two spaces: the interrupted registers,
    /// for example.
    #[must_use]
    pub const fn trap_lines(mut self, lines: TrapWords<'a>) -> Self {
        self.trap_lines = lines;
        self
    }

    /// Walks, writes the lines of the remaining frames and the last line, and returns why the walk ended. All frames are written. This needs less
    /// stack than a [`Backtrace`], which contains a walk.
    ///
    /// # Errors
    /// Returns an error if `out` does.
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
    /// Returns an error if `out` does.
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

    /// Writes the names of the code at `pc`, which is looked up with `lookup_pc`, if they are known.
    #[inline(never)]
    fn write_names(&self, out: &mut dyn Write, pc: u64, lookup_pc: u64) -> fmt::Result {
        self.with_symbols(lookup_pc, |symbols| match symbols {
            Some(symbols) => write_names(out, pc, lookup_pc, symbols),
            None => Ok(()),
        })
    }

    /// Writes the line for a tail call from the function at `target` to the frame that is looked up with `pc`. Writes nothing if both are
    /// pieces of the same function.
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

    /// Returns the name, if it is known, of the function at `target`, which continued in the frame that is looked up with `pc` by a tail call.
    /// `None` if both are pieces of the same function.
    pub(crate) fn tail_called(&self, pc: u64, target: u64) -> Option<Option<symbols::Text<'a>>> {
        let called = self.function(target);
        let found = self.function(pc);
        match (&called, &found) {
            (Some(called), Some(found)) if called.is_piece_of(found) => None,
            _ => Some(called),
        }
    }

    /// Returns the name of the function with code at this address. Not inlined, so that one table at a time is on the stack.
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

/// A backtrace as text.
///
/// Each address is written before its name is looked up, so that a failure during the look-up loses only the name.
///
/// A whole report, from a handler through the exception to the interrupted function:
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::{TRAP_CODE, TRAP_TABLE};
/// use std::fmt::Write;
///
/// use unwind::report::Backtrace;
/// use unwind::{Code, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
///
/// // An entry function at 0x1000; trap code at 0x1010, whose rows lead to the words that the processor pushed; its handler at 0x1020.
/// let tables = Tables::new(&TRAP_TABLE, 0x2000);
/// let code = [Code::new(&TRAP_CODE, 0x1000)];
/// // The handler's return address, the words that the processor pushed (rip, cs, rflags, rsp), and rbp.
/// let words = [0x1018_u64, 0x1004, 8, 2, 0x8030, 0];
/// let stacks = [Range::new(0x8000, 0x8030)];
/// let read = |address: u64| words.get((address as usize - 0x8000) / 8).copied();
///
/// let unwinder = Unwinder::new(tables).code(&code);
/// let frames = unwinder.frames(Registers::new(0x1024, 0x8000, 0), Stacks::new(&stacks, read));
/// let mut serial = String::new();
/// let report = Backtrace::new(frames, None).trap_words(&|out, trap_frame| {
///     // A kernel reads the number of the exception there.
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
    /// Creates the backtrace of the remaining frames of `frames`, with names from `symbols`.
    pub const fn new(frames: Frames<'a, R, M, S>, symbols: Option<SymbolTable<'a>>) -> Self {
        Self {
            trace: Trace::new(frames),
            text: Text::new(symbols),
        }
    }

    /// Sets the function that writes why a frame was interrupted: see [`Text::trap_words`].
    #[must_use]
    pub const fn trap_words(mut self, words: TrapWords<'a>) -> Self {
        self.text.trap_words = words;
        self
    }

    /// Sets the function that writes lines after the line of an interruption: see [`Text::trap_lines`].
    #[must_use]
    pub const fn trap_lines(mut self, lines: TrapWords<'a>) -> Self {
        self.text.trap_lines = lines;
        self
    }

    /// Limits the backtrace to the first and the last frames: see [`Trace::ends`].
    #[must_use]
    pub fn ends(mut self, first: u32, last: u32) -> Self {
        self.trace = self.trace.ends(first, last);
        self
    }

    /// Writes the lines of the frames and the last line, and returns why the walk ended.
    ///
    /// # Errors
    /// Returns an error if `out` does.
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
