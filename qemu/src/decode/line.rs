//! What a line of a log has that can be decoded.

use std::sync::LazyLock;

use regex::Regex;

/// A line, without its end and without escape sequences of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// A frame of a report: see `unwind/src/report.rs`.
    Frame(Frame<'l>),
    /// A function that a frame's code is inlined into.
    Inlined,
    /// Where a tail call came from to a frame, by its address.
    TailCall {
        /// What is before the address.
        before: &'l str,
        /// The address.
        address: u64,
    },
    /// The build id of the image that a report is of, as hexadecimal digits.
    Build(&'l str),
    /// A place in Linux's way: name, offset and size.
    Named(Named<'l>),
    /// Addresses only.
    Addresses {
        /// What is before the first.
        before: &'l str,
        /// The addresses.
        addresses: Vec<u64>,
    },
    /// Anything else.
    Other,
}

/// A frame of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'l> {
    /// What is before the number: a time stamp of a CI system, or what was written when the report began.
    pub before: &'l str,
    /// The number, with the spaces before it.
    pub number: &'l str,
    /// The address.
    pub address: u64,
    /// How it was found.
    pub letter: char,
    /// What is behind all that is known.
    pub after: &'l str,
}

/// A place in Linux's way: `name+0x12/0x34`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'l> {
    /// What is before the name.
    pub before: &'l str,
    /// The function's name, mangled or not.
    pub name: &'l str,
    /// Bytes from its start.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What is behind the size: the name of a module.
    pub after: &'l str,
    /// Whether it is a program counter; otherwise, a return address.
    pub exact: bool,
}

/// A pattern that is known to be right.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a regular expression")
}

static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?<before>.*?)(?<number> {0,3}[0-9]+): 0x(?<address>[0-9a-f]{16}) (?<letter>[prfl?])",
        // What the device itself says of the frame is said anew.
        r"(?: .*?\+0x[0-9a-f]+/0x[0-9a-f]+(?: at [^:]*:[0-9]+)?)?(?<after>$| .*$)",
    ))
});
static INLINED: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:^|\s) {7}inlined into \S"));
static TAIL_CALL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?<before>.*? {8}reached by a tail call from )0x(?<address>[0-9a-f]{16})$")
});
static BUILD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"cpu [0-9]+, .*, build (?<id>[0-9a-f]{8,})(?:$|, )"));
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        // `RIP: 0010:name`: the code segment.
        r"^(?<before>.*?(?:\b[0-9]{4}:)?)(?<name>[^\s()\[\]+]+)\+0x(?<offset>[0-9a-f]+)/0x(?<size>[0-9a-f]+)",
        r"(?<after>.*)$",
    ))
});
/// How Linux says that what follows is a program counter.
static EXACT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bRIP\b|\bPC is at\b|\bpc :|\bEIP\b"));
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:0x([0-9a-fA-F]{1,16})|([0-9a-fA-F]{8}|[0-9a-fA-F]{16}))$"));

impl<'l> Line<'l> {
    /// Takes a line apart.
    #[must_use]
    pub fn parse(line: &'l str) -> Self {
        if let Some(found) = FRAME.captures(line) {
            let part = |name| found.name(name).map_or("", |part| part.as_str());
            // Sixteen digits always fit.
            let address = u64::from_str_radix(part("address"), 16).unwrap_or(0);
            return Self::Frame(Frame {
                before: part("before"),
                number: part("number"),
                address,
                letter: part("letter").chars().next().unwrap_or('?'),
                after: part("after"),
            });
        }
        if INLINED.is_match(line) {
            return Self::Inlined;
        }
        if let Some(found) = TAIL_CALL.captures(line) {
            let part = |name| found.name(name).map_or("", |part| part.as_str());
            return Self::TailCall {
                before: part("before"),
                // Sixteen digits always fit.
                address: u64::from_str_radix(part("address"), 16).unwrap_or(0),
            };
        }
        if let Some(found) = BUILD.captures(line) {
            return Self::Build(found.name("id").map_or("", |id| id.as_str()));
        }
        if let Some(found) = NAMED.captures(line) {
            let part = |name| found.name(name).map_or("", |part| part.as_str());
            let hex = |name| u64::from_str_radix(part(name), 16);
            if let (Ok(offset), Ok(size)) = (hex("offset"), hex("size")) {
                return Self::Named(Named {
                    before: part("before"),
                    name: part("name"),
                    offset,
                    size,
                    after: part("after"),
                    exact: EXACT.is_match(part("before")),
                });
            }
        }
        addresses(line).unwrap_or(Self::Other)
    }
}

/// A line that ends in addresses, and has nothing before them but numbers, time stamps and words with a colon.
fn addresses(line: &str) -> Option<Line<'_>> {
    let mut start = line.len();
    let mut found = Vec::new();
    let mut rest = line.trim_end();
    while !rest.is_empty() {
        let at = rest.rfind([' ', '\t', ',']).map_or(0, |at| at + 1);
        let word = &rest[at..];
        let bare = word.trim_matches(|c| "[]<>();".contains(c));
        let Some(digits) = ADDRESS.captures(bare) else {
            break;
        };
        let digits = digits.get(1).or(digits.get(2))?.as_str();
        found.push(u64::from_str_radix(digits, 16).ok()?);
        start = at;
        rest = rest[..at].trim_end_matches([' ', '\t', ',']);
    }
    if found.is_empty() {
        return None;
    }
    found.reverse();
    let before = &line[..start];
    let passes = |word: &str| {
        word.ends_with(':')
            || !word.contains(|c: char| c.is_alphabetic())
            // 2026-01-31T12:00:00.000Z
            || word.starts_with(|c: char| c.is_ascii_digit())
    };
    before
        .split_whitespace()
        .all(passes)
        .then_some(Line::Addresses {
            before,
            addresses: found,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(line: &str) -> Frame<'_> {
        match Line::parse(line) {
            Line::Frame(frame) => frame,
            other => panic!("{line:?} is {other:?}"),
        }
    }

    #[test]
    fn a_frame_is_found_with_and_without_a_name() {
        let with = "  10: 0xffffffff8012bd1f r <a::B as c::D + E>::run+0x39f/0x3b6 at a/b c.rs:83";
        let found = frame(with);
        assert_eq!((found.before, found.number), ("", "  10"));
        assert_eq!((found.address, found.letter), (0xffff_ffff_8012_bd1f, 'r'));
        assert_eq!(found.after, "");
        assert_eq!(frame("   0: 0x0000000000000010 p").address, 0x10);
        assert_eq!(
            frame("   0: 0x0000000000000010 p kernel_entry+0xe/0x10").after,
            ""
        );
        // What a later grammar adds is kept.
        assert_eq!(
            frame("   0: 0x0000000000000010 p a+0x1/0x2 at b:3 in c").after,
            " in c"
        );
    }

    #[test]
    fn what_is_before_a_frame_is_kept() {
        let stamped = frame("2026-01-31T12:00:00.0000000Z    3: 0xffffffff8012bd1f r a+0x3/0x6");
        assert_eq!(stamped.before, "2026-01-31T12:00:00.0000000Z ");
        assert_eq!(stamped.number, "   3");
        assert_eq!(
            frame("half a li   0: 0xffffffff8012bd1f p").before,
            "half a li"
        );
    }

    #[test]
    fn a_damaged_frame_is_none() {
        for line in [
            "   0: 0xffffffff8012bd1 p",
            "   0: 0xffffffff8012\u{fffd}d1f p",
            "   0: 0xffffffff8012bd1f x",
            "   : 0xffffffff8012bd1f p",
        ] {
            assert!(!matches!(Line::parse(line), Line::Frame(_)), "{line}");
        }
    }

    #[test]
    fn other_lines_of_a_report_are_known() {
        let inlined = "        inlined into core::ptr::read at core/src/ptr/mod.rs:1";
        assert_eq!(Line::parse(inlined), Line::Inlined);
        let nameless = "12:00         reached by a tail call from 0xffffffff8012bd1f";
        let address = 0xffff_ffff_8012_bd1f;
        assert_eq!(
            Line::parse(nameless),
            Line::TailCall {
                before: &nameless[..nameless.len() - 18],
                address
            }
        );
        let build = "12:00 cpu 0, task main, x86_64, build 5c868ddb7b67";
        assert_eq!(Line::parse(build), Line::Build("5c868ddb7b67"));
        // What a later grammar adds is passed over.
        let build = "cpu 0, task main, x86_64, build 5c868ddb7b67, tables damaged: wrong checksum";
        assert_eq!(Line::parse(build), Line::Build("5c868ddb7b67"));
        for line in [
            "end of backtrace: complete, 13 frames",
            "",
            "   ----- interrupted -----",
            "        reached by a tail call from <a::B as c::D>::run",
        ] {
            assert_eq!(Line::parse(line), Line::Other, "{line}");
        }
    }

    #[test]
    fn lines_of_linux_are_known() {
        let parsed = Line::parse("[    1.5]  ? do_one+0x1f/0x2a0 [module]");
        let Line::Named(named) = parsed else {
            panic!("{parsed:?}")
        };
        assert_eq!(
            (named.name, named.offset, named.size),
            ("do_one", 0x1f, 0x2a0)
        );
        assert_eq!((named.before, named.after), ("[    1.5]  ? ", " [module]"));
        assert!(!named.exact);
        let parsed = Line::parse("RIP: 0010:do_one+0x1f/0x2a0");
        let Line::Named(named) = parsed else {
            panic!("{parsed:?}")
        };
        assert!(named.exact);
        assert_eq!(named.name, "do_one");
    }

    #[test]
    fn lists_of_addresses_are_known() {
        let list = |line| match Line::parse(line) {
            Line::Addresses { before, addresses } => Some((before.to_owned(), addresses)),
            _ => None,
        };
        let one = Some((String::new(), vec![0xffff_ffff_8010_0000]));
        assert_eq!(list("0xffffffff80100000"), one);
        assert_eq!(list("ffffffff80100000"), one);
        assert_eq!(
            list("#3  [<ffffffff80100000>]").map(|found| found.1),
            one.map(|found| found.1)
        );
        assert_eq!(
            list("Backtrace: 0x10 0x20, 0x30"),
            Some(("Backtrace: ".into(), vec![0x10, 0x20, 0x30]))
        );
        assert_eq!(list("jumped to 0xffffffff80100000"), None);
        assert_eq!(list("no address"), None);
    }
}
