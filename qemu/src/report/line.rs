//! Parses a line of a report.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A line of a trace, without line feed and escape sequences. All but the first and the last may have a prefix, such as a time
/// stamp of a CI system, which [`Line::parse`] returns, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// `number ": " address " " letter [ " " name "+" offset "/" size [ place ] ]`
    Frame(Frame<'l>),
    /// A function into which the frame before is inlined.
    Inlined(Source<'l>),
    /// The function that made a tail call to the frame before.
    TailCall(TailCall<'l>),
    /// How many frames are left out.
    LeftOut(usize),
    /// The next frame was interrupted: the words of the trap.
    Interrupted(&'l str),
    /// The verdict.
    End(End<'l>),
}

/// The line of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'l> {
    /// The number, with leading spaces.
    pub number: &'l str,
    /// The address.
    pub address: u64,
    /// How it was found.
    pub letter: char,
    /// The function, if the line names it.
    pub named: Option<Named<'l>>,
    /// The rest of the line, which a later version of the grammar may add.
    pub after: &'l str,
}

/// A function, and an offset in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'l> {
    /// Its name, and a place in its source.
    pub source: Source<'l>,
    /// Bytes from its start.
    pub offset: u64,
    /// Its size in bytes; 0 where the line was named on the host, by a symbol that has none.
    pub size: u64,
}

/// A function of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source<'l> {
    /// Its name.
    pub name: &'l str,
    /// Path of the file, and line.
    pub place: Option<(&'l str, u32)>,
}

/// Where a tail call came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TailCall<'l> {
    /// The function's name.
    Function(&'l str),
    /// The function's address, where it has no name.
    Address(u64),
}

/// The last line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End<'l> {
    /// Whether the trace is complete.
    pub verdict: Verdict,
    /// The words of the verdict, a reason and a doubt included.
    pub words: &'l str,
    /// How many frames there are, including those that are left out.
    pub frames: usize,
}

/// The verdict of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every caller is in it.
    Complete,
    /// Every caller in the kernel is in it, up to user code.
    User,
    /// It ends where it should, and something in it is in doubt.
    Outermost,
    /// It ends too early.
    Incomplete,
}

/// A regex from a constant pattern.
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a regular expression")
}

static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        // A number has four places; a space before them is no part of it.
        r"^(?<before>.*?)(?<number> {3}[0-9]| {2}[0-9]{2}| [0-9]{3}|[0-9]+): 0x(?<address>[0-9a-f]{16}) (?<letter>[prafl?])",
        // Names have spaces (`<A as B>::c`) and pluses (`dyn A + B`), but no plus before a number.
        r"(?: (?<name>.*?)\+0x(?<offset>[0-9a-f]+)(?:/0x(?<size>[0-9a-f]+))?(?: at (?<file>[^:]*):(?<line>[0-9]+))?)?",
        r"(?<after>$| .*$)",
    ))
});
static INLINED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?<before>|.*?\s) {7,8}inlined into (?<name>\S.*?)(?: at (?<file>[^:]*):(?<line>[0-9]+))?$",
    )
});
static TAIL_CALL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?<before>.*?) {8}reached by a tail call from ",
        r"(?:0x(?<address>[0-9a-f]{16})|(?<name>.*))$",
    ))
});
static LEFT_OUT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?<before>.*?) {3}----- (?<count>[0-9]+) frames left out -----$"));
static INTERRUPTED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?<before>.*?) {3}----- (?<words>.*) -----$"));
static END: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^end of backtrace: (?<words>(?<complete>complete)|(?<outermost>outermost function reached.*)|incomplete: .*",
        r"|user code reached at 0x[0-9a-f]{16}(?:(?<user>, complete for the kernel)|(?<doubt>, from frame .*)))",
        r", (?<frames>[0-9]+) frames$",
    ))
});

impl<'l> Line<'l> {
    /// Parses a line to its prefix and the line of a trace; `None` for any other line.
    #[must_use]
    pub fn parse(line: &'l str) -> Option<(&'l str, Self)> {
        frame(line)
            .or_else(|| inlined(line))
            .or_else(|| tail_call(line))
            .or_else(|| left_out(line))
            .or_else(|| interrupted(line))
            .or_else(|| end(line))
    }
}

fn part<'l>(found: &Captures<'l>, name: &str) -> Option<&'l str> {
    found.name(name).map(|part| part.as_str())
}

fn hex(found: &Captures<'_>, name: &str) -> Option<u64> {
    u64::from_str_radix(part(found, name)?, 16).ok()
}

fn source<'l>(found: &Captures<'l>) -> Option<Source<'l>> {
    let place = || Some((part(found, "file")?, part(found, "line")?.parse().ok()?));
    Some(Source {
        name: part(found, "name")?,
        place: place(),
    })
}

fn frame(line: &str) -> Option<(&str, Line<'_>)> {
    let found = FRAME.captures(line)?;
    let named = || {
        Some(Named {
            source: source(&found)?,
            offset: hex(&found, "offset")?,
            size: hex(&found, "size").unwrap_or(0),
        })
    };
    let frame = Frame {
        number: part(&found, "number")?,
        address: hex(&found, "address")?,
        letter: part(&found, "letter")?.chars().next()?,
        named: named(),
        after: part(&found, "after")?,
    };
    Some((part(&found, "before")?, Line::Frame(frame)))
}

fn inlined(line: &str) -> Option<(&str, Line<'_>)> {
    let found = INLINED.captures(line)?;
    Some((part(&found, "before")?, Line::Inlined(source(&found)?)))
}

fn tail_call(line: &str) -> Option<(&str, Line<'_>)> {
    let found = TAIL_CALL.captures(line)?;
    let from = match hex(&found, "address") {
        Some(address) => TailCall::Address(address),
        None => TailCall::Function(part(&found, "name")?),
    };
    Some((part(&found, "before")?, Line::TailCall(from)))
}

fn left_out(line: &str) -> Option<(&str, Line<'_>)> {
    let found = LEFT_OUT.captures(line)?;
    let count = part(&found, "count")?.parse().ok()?;
    Some((part(&found, "before")?, Line::LeftOut(count)))
}

fn interrupted(line: &str) -> Option<(&str, Line<'_>)> {
    let found = INTERRUPTED.captures(line)?;
    let words = part(&found, "words")?;
    Some((part(&found, "before")?, Line::Interrupted(words)))
}

fn end(line: &str) -> Option<(&str, Line<'_>)> {
    let found = END.captures(line)?;
    let has = |name| part(&found, name).is_some();
    let verdict = match () {
        () if has("complete") => Verdict::Complete,
        () if has("user") => Verdict::User,
        () if has("outermost") || has("doubt") => Verdict::Outermost,
        () => Verdict::Incomplete,
    };
    let end = End {
        verdict,
        words: part(&found, "words")?,
        frames: part(&found, "frames")?.parse().ok()?,
    };
    Some(("", Line::End(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(line: &str) -> (&str, Frame<'_>) {
        match Line::parse(line) {
            Some((before, Line::Frame(frame))) => (before, frame),
            other => panic!("{line:?} is {other:?}"),
        }
    }

    #[test]
    fn a_frame_is_found_with_and_without_a_name() {
        let with = "  10: 0xffffffff8012bd1f r <a::B as c::D + E>::run+0x39f/0x3b6 at a/b c.rs:83";
        let (before, found) = frame(with);
        assert_eq!((before, found.number), ("", "  10"));
        let stamped = format!("12:00 {with}");
        let (before, found) = frame(&stamped);
        assert_eq!((before, found.number), ("12:00 ", "  10"));
        assert_eq!((found.address, found.letter), (0xffff_ffff_8012_bd1f, 'r'));
        let source = Source {
            name: "<a::B as c::D + E>::run",
            place: Some(("a/b c.rs", 83)),
        };
        let named = Named {
            source,
            offset: 0x39f,
            size: 0x3b6,
        };
        assert_eq!((found.named, found.after), (Some(named), ""));
        let (_, found) = frame("   0: 0x0000000000000010 p");
        assert_eq!((found.address, found.named), (0x10, None));
        let (_, found) = frame("   1: 0x0000000000000012 r a+0x2 at b:3");
        assert_eq!(
            found.named.map(|named| (named.offset, named.size)),
            Some((2, 0))
        );
        // What a later grammar adds is kept.
        let (_, found) = frame("   0: 0x0000000000000010 p a+0x1/0x2 at b:3 in c");
        assert_eq!(found.after, " in c");
    }

    #[test]
    fn what_is_before_a_frame_is_kept() {
        let (before, found) =
            frame("2026-01-31T12:00:00.0000000Z    3: 0xffffffff8012bd1f r a+0x3/0x6");
        assert_eq!(before, "2026-01-31T12:00:00.0000000Z ");
        assert_eq!(found.number, "   3");
        assert_eq!(frame("half a li   0: 0xffffffff8012bd1f p").0, "half a li");
    }

    #[test]
    fn a_damaged_line_is_none() {
        for line in [
            "",
            "   0: 0xffffffff8012bd1 p",
            "   0: 0xffffffff8012\u{fffd}d1f p",
            "   0: 0xffffffff8012bd1f x",
            "   : 0xffffffff8012bd1f p",
            "end of backtrace: complete",
            "end of backtrace: perfect, 3 frames",
            "an end of backtrace: complete, 3 frames",
        ] {
            assert_eq!(Line::parse(line), None, "{line}");
        }
    }

    #[test]
    fn other_lines_are_known() {
        let line = |line| Line::parse(line).expect("a line of a trace");
        let source = |name, place| Line::Inlined(Source { name, place });
        assert_eq!(
            line("        inlined into core::ptr::read at core/src/ptr/mod.rs:1"),
            (
                "",
                source("core::ptr::read", Some(("core/src/ptr/mod.rs", 1)))
            )
        );
        assert_eq!(line("        inlined into f"), ("", source("f", None)));
        let nameless = "12:00         reached by a tail call from 0xffffffff8012bd1f";
        let from = TailCall::Address(0xffff_ffff_8012_bd1f);
        assert_eq!(line(nameless), ("12:00 ", Line::TailCall(from)));
        let from = TailCall::Function("<a::B as c::D>::run");
        let named = "        reached by a tail call from <a::B as c::D>::run";
        assert_eq!(line(named), ("", Line::TailCall(from)));
        assert_eq!(
            line("   ----- 17 frames left out -----"),
            ("", Line::LeftOut(17))
        );
        assert_eq!(
            line("   ----- page fault, stack boot -----"),
            ("", Line::Interrupted("page fault, stack boot"))
        );
    }

    #[test]
    fn ends_have_verdicts() {
        let end = |line| match Line::parse(line) {
            Some(("", Line::End(end))) => (end.verdict, end.words, end.frames),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            end("end of backtrace: complete, 13 frames"),
            (Verdict::Complete, "complete", 13)
        );
        let words = "user code reached at 0x0000000000400010, complete for the kernel";
        let line = format!("end of backtrace: {words}, 5 frames");
        assert_eq!(end(&line), (Verdict::User, words, 5));
        let words = "user code reached at 0x0000000000400010, from frame 4 on in doubt (a word)";
        let line = format!("end of backtrace: {words}, 5 frames");
        assert_eq!(end(&line), (Verdict::Outermost, words, 5));
        let words = "outermost function reached, from frame 1 on in doubt (no call, and so on)";
        let line = format!("end of backtrace: {words}, 2 frames");
        assert_eq!(end(&line), (Verdict::Outermost, words, 2));
        let words = "incomplete: the return address is null, from frame 3 on by scanning";
        let line = format!("end of backtrace: {words}, 40 frames");
        assert_eq!(end(&line), (Verdict::Incomplete, words, 40));
    }
}
