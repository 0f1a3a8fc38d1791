//! Takes a report apart, by the grammar that `unwind` documents.

/// A report on the serial line.
#[derive(Debug)]
pub struct Report {
    /// The first line: where and why.
    pub panicked: String,
    /// The frames, innermost first.
    pub frames: Vec<Frame>,
    /// The last line.
    pub end: String,
    /// All of it, for people.
    pub text: String,
}

/// A line of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The address, as on the line.
    pub address: u64,
    /// How it was found.
    pub letter: char,
    /// The function, when the line names one.
    pub name: Option<String>,
}

impl Report {
    /// The one report on a serial line.
    #[track_caller]
    pub fn find(serial: &[u8]) -> Self {
        let text = std::str::from_utf8(serial)
            .expect("the serial line is UTF-8")
            .replace('\r', "");
        let mut lines = text.lines();
        let panicked = lines.find(|line| line.starts_with("panicked at "));
        let panicked = panicked
            .unwrap_or_else(|| panic!("no panic in:\n{text}"))
            .to_owned();
        let mut frames = Vec::new();
        for line in lines {
            if line.starts_with("end of backtrace: ") {
                let end = line.to_owned();
                return Self {
                    panicked,
                    frames,
                    end,
                    text,
                };
            }
            if let Some(frame) = frame(line, frames.len()) {
                frames.push(frame);
            }
        }
        panic!("no end of the backtrace in:\n{text}");
    }

    /// The functions' names, innermost first; `?` where a line names none.
    pub fn names(&self) -> Vec<&str> {
        self.frames
            .iter()
            .map(|frame| frame.name.as_deref().unwrap_or("?"))
            .collect()
    }

    /// Whether every caller is in it, with the number of frames that it has.
    #[track_caller]
    pub fn expect_complete(&self) {
        let expected = format!("end of backtrace: complete, {} frames", self.frames.len());
        assert_eq!(self.end, expected, "in:\n{}", self.text);
        for frame in &self.frames {
            assert!("pr".contains(frame.letter), "{frame:x?} is no sure frame");
        }
    }
}

/// `number ": " address " " letter [ " " name "+" offset "/" size ]`; None when the line is something else.
#[track_caller]
fn frame(line: &str, expected: usize) -> Option<Frame> {
    let (number, rest) = line.split_once(": 0x")?;
    let number: usize = number.trim_start().parse().ok()?;
    assert_eq!(number, expected, "number of the frame {line:?}");
    let (address, rest) = rest
        .split_at_checked(16)
        .unwrap_or_else(|| panic!("short: {line:?}"));
    let address =
        u64::from_str_radix(address, 16).unwrap_or_else(|_| panic!("no address: {line:?}"));
    let mut words = rest
        .strip_prefix(' ')
        .unwrap_or_else(|| panic!("no letter: {line:?}"))
        .chars();
    let letter = words
        .next()
        .unwrap_or_else(|| panic!("no letter: {line:?}"));
    let name = words.as_str().strip_prefix(' ').map(|place| {
        // Names have spaces (`<A as B>::c`) and pluses (`dyn A + B`), numbers have not.
        let at = place
            .find("+0x")
            .unwrap_or_else(|| panic!("no offset: {line:?}"));
        assert!(place[at..].contains("/0x"), "no size: {line:?}");
        place[..at].to_owned()
    });
    Some(Frame {
        address,
        letter,
        name,
    })
}
