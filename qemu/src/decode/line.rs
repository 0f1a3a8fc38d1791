//! Recognises lines of a log that can be decoded.

use std::sync::LazyLock;

use regex::Regex;

use crate::report::{self, Begin, Frame, TailCall};

/// In the line of a report that has the build, before how far the image lies above the addresses that it was linked for, in hex.
pub const MOVED: &str = ", moved by ";

/// How the first line of a report begins that the runner writes. Older versions wrote the second.
const FROM_OUTSIDE: [&str; 3] = [
    "inspected by the runner, ",
    "inspected from outside, ",
    "asked from outside, ",
];

/// The length of an address in text.
const ADDRESS_LENGTH: usize = "0x0123456789abcdef".len();

/// A line, without line feed and escape sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// A frame of a report, and the prefix before its number: a time stamp of a CI system, or an incomplete line that the report
    /// interrupted.
    Frame(&'l str, Frame<'l>),
    /// A function into which a frame's code is inlined.
    Inlined(report::Source<'l>),
    /// The address of a function that made a tail call to a frame.
    TailCall {
        /// What is before the address.
        before: &'l str,
        /// The address.
        address: u64,
    },
    /// The build id of the image that a report is of, in hex. Empty if the report contains `no build id`.
    Build(&'l str),
    /// A name, offset and size in Linux's style.
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

/// A function and an offset in Linux's style: `name+0x12/0x34`.
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
    /// The text after the size: the name of a module.
    pub after: &'l str,
    /// It is a program counter; otherwise a return address.
    pub exact: bool,
}

/// A regex from a constant pattern.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a regular expression")
}

static BUILD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?:cpu [0-9]+, |inspected by the runner, |(?:inspected|asked) from outside, ).*, build (?<id>[0-9a-f]{8,})(?:$|, )",
        // In a report of one call. A kernel's own first line may have its architecture and a date.
        r"|(?:^|\s)(?:x86_64|aarch64|armv7a), (?:no build id|build (?<one>[0-9a-f]{8,})), (?:no )?(?:exception )?tables",
    ))
});
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        // `RIP: 0010:name`: the code segment.
        r"^(?<before>.*?(?:\b[0-9]{4}:)?)(?<name>[^\s()\[\]+]+)\+0x(?<offset>[0-9a-f]+)/0x(?<size>[0-9a-f]+)",
        r"(?<after>.*)$",
    ))
});
/// Linux's label of a program counter.
static EXACT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bRIP\b|\bPC is at\b|\bpc :|\bEIP\b"));
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:0x([0-9a-fA-F]{1,16})|([0-9a-fA-F]{8}|[0-9a-fA-F]{16}))$"));

/// Returns the build id in a line of a report. Empty if the line contains `no build id`.
pub(crate) fn build(line: &str) -> Option<&str> {
    let found = BUILD.captures(line)?;
    let id = found.name("id").or(found.name("one"));
    Some(id.map_or("", |id| id.as_str()))
}

impl<'l> Line<'l> {
    /// Parses a line.
    #[must_use]
    pub fn parse(line: &'l str) -> Self {
        match report::Line::parse(line) {
            Some((before, report::Line::Frame(frame))) => return Self::Frame(before, frame),
            Some((_, report::Line::Inlined(source))) => return Self::Inlined(source),
            Some((_, report::Line::TailCall(TailCall::Address(address)))) => {
                return Self::TailCall {
                    before: &line[..line.len() - ADDRESS_LENGTH],
                    address,
                };
            }
            // The device has named it already.
            Some(_) => return Self::Other,
            None => {}
        }
        if let Some(id) = build(line) {
            return Self::Build(id);
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

/// Whether a report begins with this line; another CPU or a task belongs to the report before.
pub fn begins_report(line: &str) -> bool {
    let begins = matches!(Begin::of(line), Some(Begin::Failure | Begin::Question));
    begins || FROM_OUTSIDE.iter().any(|begin| line.contains(begin))
}

/// How far the image lies above the addresses that it was linked for, modulo 2^64, if the line with its build says it.
pub fn moved_by(line: &str) -> Option<u64> {
    let (before, by) = line.split_once(MOVED)?;
    let hex = by
        .strip_prefix("0x")
        .filter(|_| before.contains("tables "))?;
    let end = hex.find(|c: char| !c.is_ascii_hexdigit());
    u64::from_str_radix(&hex[..end.unwrap_or(hex.len())], 16).ok()
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

    #[test]
    fn a_frame_is_known_wherever_it_begins() {
        let stamped = "12:00    3: 0xffffffff8012bd1f r a+0x3/0x6";
        let Line::Frame(before, frame) = Line::parse(stamped) else {
            panic!("{stamped:?} is no frame");
        };
        assert_eq!((before, frame.number), ("12:00 ", "   3"));
    }

    #[test]
    fn other_lines_of_a_report_are_known() {
        let inlined = "        inlined into core::ptr::read at core/src/ptr/mod.rs:1";
        assert!(matches!(Line::parse(inlined), Line::Inlined(_)));
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
        let build = "12:00 x86_64, build 5c868ddb7b67, tables verified";
        assert_eq!(Line::parse(build), Line::Build("5c868ddb7b67"));
        for tables in [
            "tables verified, exception tables",
            "exception tables are valid only at calls",
            // Of earlier versions.
            "exception tables used for calls only",
            "exception tables, for calls only",
        ] {
            let build = format!("12:00 armv7a, build 5c868ddb7b67, {tables}");
            assert_eq!(Line::parse(&build), Line::Build("5c868ddb7b67"));
        }
        for none in [
            "x86_64, no build id, no tables",
            "12:00 cpu 0, task main, armv7a, no build id, exception tables are valid only at calls",
        ] {
            assert_eq!(Line::parse(none), Line::Build(""), "{none}");
        }
        for line in [
            "MyOS x86_64, build 20240115",
            "MyOS x86_64, no build id",
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
