//! A backtrace in lines of a given width, for a screen, or for a picture that a phone reads.
//!
//! If a name or a path is too long, its tail is kept, because tails differ most between frames, and two dots replace the rest.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
//! # use example::*;
//! use unwind::{Code, Stacks, Unwinder, compact, report::Text, sframe::Tables, x86_64::Registers};
//!
//! let code = [Code::new(&CODE, 0x1000)];
//! let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
//! let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
//! let (mut screen, text) = (String::new(), Text::new(None));
//! frames.tell(&mut |event| compact::write(&mut screen, &text, event, 40))?;
//! assert_eq!(screen, "  0 p 0x1018\n  1 r 0x1005\nend of backtrace: complete, 2 frames\n");
//! # Ok::<(), std::fmt::Error>(())
//! ```
//!
//! # Form
//!
//! ```text
//! frame   = number " " letter " " name [ place ] { newline inlined } [ newline tail ]
//! inlined = "      in " name [ place ]
//! tail    = "      by a tail call from " name
//! place   = " (" file ":" line ")"
//! number  = at least three characters, right-aligned, decimal, from 0
//! letter  = as in the long form: "p" or "r" with a table; anything else is in doubt
//! name    = if the name is not known, the address: "0x" hexadecimal digits
//! trap    = "--- " words
//! left    = "--- " count " frames left out"
//! end     = as in the long form, never shortened
//! ```
//!
//! The width counts characters. Each character counts as one column.

use core::fmt::{Result, Write};

use crate::report::{Text, write_end};
use crate::symbols::{Answer, SourceFrame, SymbolTable};
use crate::text;
use crate::trace::Event;
use crate::walk::Frame;

/// The minimum width of lines, in characters: enough for the numbers of a frame, and for parts of its name and its path.
pub const NARROWEST: usize = 40;

/// The text before the name of a function into which the previous function is inlined.
const INLINED: &str = "      in ";

/// The text before the name of a function that was called and left by a jump.
const TAIL_CALL: &str = "      by a tail call from ";

/// The text before words that are not a frame.
const RULE: &str = "--- ";

/// The text instead of omitted characters.
const DOTS: &str = "..";

/// Writes the lines of an event, each with its newline. Lines have at most `width` characters, or [`NARROWEST`] if that is greater, except the
/// last line of a backtrace.
///
/// Names come from `text`. The lines that `text` adds to interruptions are omitted.
///
/// # Errors
/// Returns an error if `out` does.
pub fn write<R>(
    out: &mut dyn Write,
    text: &Text<'_>,
    event: &Event<'_, R>,
    width: usize,
) -> Result {
    let width = width.max(NARROWEST);
    match *event {
        Event::Frame(number, frame) => write_frame(out, text, number, frame, width),
        Event::TailCall { reached, called } => {
            let Some(name) = text.tail_called(reached, called) else {
                return Ok(());
            };
            out.write_str(TAIL_CALL)?;
            let room = width.saturating_sub(TAIL_CALL.len());
            write_tail(out, room, &|out| match &name {
                Some(name) => name.write(out),
                None => text::hex(out, called, 1),
            })?;
            out.write_str("\n")
        }
        Event::Interrupted(trap_frame) => {
            out.write_str(RULE)?;
            let room = width.saturating_sub(RULE.len());
            write_head(out, room, &|out| text.write_trap_words(out, trap_frame))?;
            out.write_str("\n")
        }
        Event::LeftOut(count) => {
            out.write_str(RULE)?;
            text::decimal(out, u64::from(count))?;
            out.write_str(" frames left out\n")
        }
        Event::End { end, doubt, count } => write_end(out, end, doubt, count),
    }
}

/// A part of a line. It is written once to count its characters, and then to the output.
type Part<'a> = &'a dyn Fn(&mut dyn Write) -> Result;

#[inline(never)]
fn write_frame<R>(
    out: &mut dyn Write,
    text: &Text<'_>,
    number: u32,
    frame: &Frame<R>,
    width: usize,
) -> Result {
    let number = |out: &mut dyn Write| text::padded_decimal(out, u64::from(number), 3);
    number(out)?;
    out.write_str(" ")?;
    out.write_char(frame.letter())?;
    out.write_str(" ")?;
    let room = width.saturating_sub(count(&number)?.saturating_add(3));
    text.with_symbols(frame.lookup_pc(), |symbols| match symbols {
        Some(symbols) => write_names(out, frame, symbols, room, width),
        None => write_nameless(out, frame),
    })
}

/// Writes the functions with code at a frame's address: the first in at most `room` characters, each of the others in a line of its own.
#[inline(never)]
fn write_names<R>(
    out: &mut dyn Write,
    frame: &Frame<R>,
    symbols: &SymbolTable<'_>,
    room: usize,
    width: usize,
) -> Result {
    let mut answer = Answer::empty(symbols);
    if symbols
        .resolve_into(frame.lookup_pc(), &mut answer)
        .is_none()
    {
        return write_nameless(out, frame);
    }
    let mut room = Some(room);
    for source in answer.frames() {
        let room = match room.take() {
            Some(room) => room,
            None => {
                out.write_str(INLINED)?;
                width.saturating_sub(INLINED.len())
            }
        };
        write_source(out, &source, room)?;
        out.write_str("\n")?;
    }
    Ok(())
}

fn write_nameless<R>(out: &mut dyn Write, frame: &Frame<R>) -> Result {
    text::hex(out, frame.pc, 1)?;
    out.write_str("\n")
}

fn write_source(out: &mut dyn Write, source: &SourceFrame<'_>, room: usize) -> Result {
    let name = |out: &mut dyn Write| source.name.write(out);
    match source.place() {
        Some((file, line)) => write_place(out, room, &name, &|out| file.write(out), line),
        None => write_tail(out, room, &name),
    }
}

/// Writes a name and its place in at most `room` characters. The path gets the rest after the name, and at least a third if it needs that.
#[inline(never)]
fn write_place(
    out: &mut dyn Write,
    room: usize,
    name: Part<'_>,
    path: Part<'_>,
    line: u32,
) -> Result {
    let line = |out: &mut dyn Write| {
        out.write_str(":")?;
        text::decimal(out, u64::from(line))?;
        out.write_str(")")
    };
    let rest = room.saturating_sub(count(&line)?.saturating_add(2));
    let third = count(path)?.min(rest.checked_div(3).unwrap_or(0));
    let for_path = rest.saturating_sub(count(name)?).max(third);
    write_tail(out, rest.saturating_sub(for_path), name)?;
    out.write_str(" (")?;
    write_tail(out, for_path, path)?;
    line(out)
}

/// Writes the output of `write`: all of it if it has at most `room` characters, otherwise dots and its tail.
fn write_tail(out: &mut dyn Write, room: usize, write: Part<'_>) -> Result {
    let length = count(write)?;
    if length <= room {
        return write(out);
    }
    out.write_str(DOTS)?;
    let kept = room.saturating_sub(DOTS.len());
    write(&mut Tail {
        out,
        skip: length.saturating_sub(kept),
    })
}

/// Writes the output of `write`: all of it if it has at most `room` characters, otherwise its head and dots.
fn write_head(out: &mut dyn Write, room: usize, write: Part<'_>) -> Result {
    if count(write)? <= room {
        return write(out);
    }
    let room = room.saturating_sub(DOTS.len());
    write(&mut Head { out, room })?;
    out.write_str(DOTS)
}

/// Returns the number of characters that `write` writes.
fn count(write: Part<'_>) -> core::result::Result<usize, core::fmt::Error> {
    let mut counted = Counted::default();
    write(&mut counted)?;
    Ok(counted.0)
}

/// Counts characters.
#[derive(Default)]
struct Counted(usize);

impl Write for Counted {
    fn write_str(&mut self, text: &str) -> Result {
        // Not by `Iterator::count`, which checks for overflow: that would be a panic.
        let characters = text.bytes().fold(0_usize, |characters, byte| {
            characters.wrapping_add(usize::from(byte & 0xc0 != 0x80))
        });
        self.0 = self.0.saturating_add(characters);
        Ok(())
    }
}

/// Passes on all characters except the first `skip`.
struct Tail<'a> {
    out: &'a mut dyn Write,
    skip: usize,
}

impl Write for Tail<'_> {
    fn write_str(&mut self, text: &str) -> Result {
        for character in text.chars() {
            match self.skip.checked_sub(1) {
                Some(rest) => self.skip = rest,
                None => self.out.write_char(character)?,
            }
        }
        Ok(())
    }
}

/// Passes on the first `room` characters.
struct Head<'a> {
    out: &'a mut dyn Write,
    room: usize,
}

impl Write for Head<'_> {
    fn write_str(&mut self, text: &str) -> Result {
        for character in text.chars() {
            if let Some(rest) = self.room.checked_sub(1) {
                self.room = rest;
                self.out.write_char(character)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;

    fn placed(room: usize, name: &str, path: &str, line: u32) -> String {
        let mut text = String::new();
        let (name, path): (Part<'_>, Part<'_>) =
            (&|out| out.write_str(name), &|out| out.write_str(path));
        write_place(&mut text, room, name, path, line).expect("a String takes all");
        text
    }

    #[test]
    fn of_what_is_too_long_the_tail_stays() {
        let placed = |room| {
            placed(
                room,
                "kernel::scenario::panic::fifth",
                "kernel/src/panic.rs",
                49,
            )
        };
        let whole = "kernel::scenario::panic::fifth (kernel/src/panic.rs:49)";
        assert_eq!(placed(200), whole);
        assert_eq!(placed(whole.len()), whole);
        assert_eq!(
            placed(whole.len() - 1),
            "kernel::scenario::panic::fifth (..nel/src/panic.rs:49)"
        );
        assert_eq!(placed(34), "..rio::panic::fifth (..anic.rs:49)");
    }

    #[test]
    fn a_line_has_the_characters_that_it_may_have() {
        for (name, path, line) in [
            ("größe::über", "käfer/träge.rs", u32::MAX),
            ("f", "a/very/long/path/to/some/file/of/somebody/else.rs", 7),
            (
                "a_very_long_name_of_a_function_of_somebody_else",
                "a.c",
                12345,
            ),
            ("", "", 1),
        ] {
            let whole = std::format!("{name} ({path}:{line})");
            for room in 24..120 {
                let text = placed(room, name, path, line);
                assert!(text.chars().count() <= room, "{room}: {text}");
                assert!(text.ends_with(&std::format!(":{line})")), "{text}");
                match whole.chars().count() <= room {
                    true => assert_eq!(text, whole),
                    false => assert!(text.contains(DOTS), "{room}: {text}"),
                }
            }
        }
    }

    #[test]
    fn of_words_that_are_too_long_the_head_stays() {
        for (room, expected) in [(10, "page fault"), (9, "page fa.."), (2, "..")] {
            let mut text = String::new();
            write_head(&mut text, room, &|out| out.write_str("page fault")).expect("as above");
            assert_eq!(text, expected);
        }
    }
}
