//! Takes a report apart, by the grammar that `unwind` documents.

/// A report on the serial line.
#[derive(Debug)]
pub struct Report {
    /// The first line: where and why.
    pub panicked: String,
    /// The frames, innermost first.
    pub frames: Vec<Frame>,
    /// The lines of words between frames, each with the number of frames before it.
    pub words: Vec<(usize, String)>,
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
    /// The function with code of its own, when the line names one: the last of the sources.
    pub name: Option<String>,
    /// The functions that the code belongs to, innermost first.
    pub sources: Vec<Source>,
    /// The function that a tail call came from, when the report says so.
    pub tail_called_by: Option<String>,
}

/// A function of the source, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// Path of the file, and line.
    pub place: Option<(String, u32)>,
}

impl Source {
    /// `name [ " at " file ":" line ]`
    fn parse(text: &str) -> Self {
        let place = text.rsplit_once(" at ").and_then(|(name, place)| {
            let (file, line) = place.rsplit_once(':')?;
            Some((name, file, line.parse().ok()?))
        });
        match place {
            Some((name, file, line)) => Self {
                name: name.to_owned(),
                place: Some((file.to_owned(), line)),
            },
            None => Self {
                name: text.to_owned(),
                place: None,
            },
        }
    }
}

/// What the first line says of a CPU that had to stop for another's report.
const OF_OTHERS: [&str; 2] = [" stopped at ", " failed too: "];

#[track_caller]
fn text(serial: &[u8]) -> String {
    let text = std::str::from_utf8(serial).expect("the serial line is UTF-8");
    text.replace('\r', "")
}

impl Report {
    /// The one report on a serial line.
    #[track_caller]
    pub fn find(serial: &[u8]) -> Self {
        let text = text(serial);
        Self::next(&mut text.lines(), &text).unwrap_or_else(|| panic!("no report in:\n{text}"))
    }

    /// All reports on a serial line, and what follows them about other CPUs and tasks: a report each.
    #[track_caller]
    pub fn find_all(serial: &[u8]) -> Vec<Self> {
        let text = text(serial);
        let mut lines = text.lines();
        std::iter::from_fn(|| Self::next(&mut lines, &text)).collect()
    }

    #[track_caller]
    fn next(lines: &mut std::str::Lines<'_>, text: &str) -> Option<Self> {
        let begins = |line: &&str| {
            [
                "panicked at ",
                "fault on cpu ",
                "breakpoint on cpu ",
                "interrupted on cpu ",
                "hang on cpu ",
            ]
            .iter()
            .any(|begin| line.starts_with(begin))
                || line.starts_with("cpu ") && OF_OTHERS.iter().any(|word| line.contains(word))
                || line.starts_with("task ")
                    && !line.ends_with(": has ended")
                    && (!line.contains(": runs on cpu ") || line.ends_with(", this one"))
        };
        let panicked = lines.find(begins)?.to_owned();
        let mut frames: Vec<Frame> = Vec::new();
        let mut words = Vec::new();
        let mut left_out = 0;
        for line in lines {
            if line.starts_with("end of backtrace: ") {
                let end = line.to_owned();
                return Some(Self {
                    panicked,
                    frames,
                    words,
                    end,
                    text: text.to_owned(),
                });
            }
            let between = line
                .strip_prefix("   ----- ")
                .and_then(|rest| rest.strip_suffix(" -----"));
            if let Some(between) = between {
                if let Some(count) = between.strip_suffix(" frames left out") {
                    left_out += count.parse::<usize>().expect("a number of frames");
                }
                words.push((frames.len(), between.to_owned()));
            } else if let Some(source) = line.strip_prefix("        inlined into ") {
                let source = Source::parse(source);
                let frame = frames.last_mut().expect("something is inlined");
                frame.name = Some(source.name.clone());
                frame.sources.push(source);
            } else if let Some(name) = line.strip_prefix("        reached by a tail call from ") {
                let frame = frames.last_mut().expect("something was reached");
                frame.tail_called_by = Some(name.to_owned());
            } else if let Some(frame) = frame(line, frames.len() + left_out) {
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
    let source = words.as_str().strip_prefix(' ').map(|place| {
        // Names have spaces (`<A as B>::c`) and pluses (`dyn A + B`), numbers have not.
        let at = place
            .find("+0x")
            .unwrap_or_else(|| panic!("no offset: {line:?}"));
        let (_, size) = place[at..]
            .split_once("/0x")
            .unwrap_or_else(|| panic!("no size: {line:?}"));
        let rest = size.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        Source::parse(&format!("{}{rest}", &place[..at]))
    });
    Some(Frame {
        address,
        letter,
        name: source.as_ref().map(|source| source.name.clone()),
        sources: source.into_iter().collect(),
        tail_called_by: None,
    })
}
