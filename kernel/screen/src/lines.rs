//! The kinds of the lines of a report, for colors, pages and the steps between frames. The lines are shown as they are.

use crate::text::{Bytes, Text};

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first one: the cause.
    Cause,
    /// A frame, with its address.
    Frame(u64),
    /// A line about the frame before: inlined into, reached by a tail call.
    OfFrame,
    /// A line about what interrupted the next frame, or about frames that are left out.
    Between,
    /// The verdict of a complete list.
    Complete,
    /// Any other verdict.
    NotComplete,
    /// Registers, code, and what else there is.
    Other,
}

/// A line of a report, without its newline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) bytes: Bytes<'a>,
    pub(crate) kind: Kind,
    /// It is of what failed: it comes up to the first verdict, or names a failure. What follows else is of other CPUs and tasks.
    pub(crate) is_first: bool,
}

/// The lines of a report.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    text: &'a Text,
    at: usize,
    is_first: bool,
}

impl<'a> Lines<'a> {
    pub(crate) const fn new(text: &'a Text) -> Self {
        Self {
            text,
            at: 0,
            is_first: true,
        }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.text.from(self.at);
        if rest.len() == 0 {
            return None;
        }
        let length = rest.iter().position(|byte| byte == b'\n');
        let length = length.unwrap_or(rest.len());
        let bytes = self.text.between(self.at, self.at + length);
        let kind = match self.at {
            0 => Kind::Cause,
            _ => kind(bytes),
        };
        self.at += length + 1;
        // The cause comes once more at the end, and so does what has made the report fail.
        let repeats = ["first failure: ", "during the report: "];
        let is_first = self.is_first || repeats.iter().any(|words| bytes.starts_with(words));
        self.is_first &= !matches!(kind, Kind::Complete | Kind::NotComplete);
        Some(Line {
            bytes,
            kind,
            is_first,
        })
    }
}

fn kind(line: Bytes<'_>) -> Kind {
    if let Some(pc) = pc(line) {
        Kind::Frame(pc)
    } else if line.starts_with("        ") {
        Kind::OfFrame
    } else if line.starts_with("   -----") {
        Kind::Between
    } else if line.starts_with("end of backtrace: complete, ") {
        Kind::Complete
    } else if line.starts_with("end of backtrace: ") {
        Kind::NotComplete
    } else {
        Kind::Other
    }
}

/// The address of a frame: behind its number and a colon, 16 hexadecimal digits.
fn pc(line: Bytes<'_>) -> Option<u64> {
    let mut bytes = line.iter().skip_while(|byte| *byte == b' ').peekable();
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    bytes.next_if(is_digit)?;
    while bytes.next_if(is_digit).is_some() {}
    for expected in *b": 0x" {
        bytes.next_if_eq(&expected)?;
    }
    (0..16).try_fold(0, |pc, _| {
        let digit = char::from(bytes.next()?).to_digit(16)?;
        Some(pc << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::sync::atomic::AtomicU8;
    use std::string::String;
    use std::vec::Vec;

    use super::*;

    static BYTES: [AtomicU8; 2048] = [const { AtomicU8::new(0) }; 2048];

    #[test]
    fn each_line_is_what_it_is() {
        let text = Text::new(&BYTES);
        let report = "\
fault on cpu 0 at 0xffffffff80157077: page fault
cpu 0, task main
  rax 0x0000000000000000  rbx 0x00000000000021e0
   0: 0xffffffff80157077 p read+0x17/0x2e at kernel/src/bad.rs:24
        inlined into null_read at kernel/src/access.rs:12
   ----- page fault, stack boot -----
1000: 0xffffffff801580b4 r kernel::scenario::run
end of backtrace: complete, 4 frames
cpu 1, task main1, stopped at 0xffffffff80128052
   0: 0xffffffff8012805 p too short
end of backtrace: complete for the kernel, 1 frames
first failure: fault on cpu 0 at 0xffffffff80157077: page fault
";
        text.append(report.as_bytes());
        let lines: Vec<Line<'_>> = Lines::new(&text).collect();
        let same: String = lines
            .iter()
            .flat_map(|line| line.bytes.characters().chain(['\n']))
            .collect();
        assert_eq!(same, report);
        let kinds: Vec<Kind> = lines.iter().map(|line| line.kind).collect();
        let expected = [
            Kind::Cause,
            Kind::Other,
            Kind::Other,
            Kind::Frame(0xffff_ffff_8015_7077),
            Kind::OfFrame,
            Kind::Between,
            Kind::Frame(0xffff_ffff_8015_80b4),
            Kind::Complete,
            Kind::Other,
            Kind::Other,
            Kind::NotComplete,
            Kind::Other,
        ];
        assert_eq!(kinds, expected);
        let others: Vec<usize> = (0..lines.len()).filter(|at| !lines[*at].is_first).collect();
        assert_eq!(others, [8, 9, 10]);
    }
}
