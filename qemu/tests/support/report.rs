//! A parsed report, for tests. [`qemu::report`] parses its lines.

use std::sync::Arc;

use qemu::report::{self, Begin, Line, TailCall};

/// A report on the serial line.
#[derive(Clone, Debug)]
pub struct Report {
    /// The first line: where and why.
    pub panicked: String,
    /// The frames, innermost first.
    pub frames: Vec<Frame>,
    /// The lines of words between frames, each with the number of frames before it.
    pub words: Vec<(usize, String)>,
    /// The last line.
    pub end: String,
    /// The whole text, for messages. All reports of a serial line share it.
    pub text: Arc<str>,
}

/// A line of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The address, as on the line.
    pub address: u64,
    /// How it was found.
    pub letter: char,
    /// The function that is not inlined, if the line names one: the last of `sources`.
    pub name: Option<String>,
    /// Bytes from its start.
    pub offset: Option<u64>,
    /// The inlined functions and that function, innermost first.
    pub sources: Vec<Source>,
    /// The function that made a tail call, if the report names one.
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
    fn of(source: &report::Source<'_>) -> Self {
        Self {
            name: source.name.to_owned(),
            place: source.place.map(|(file, line)| (file.to_owned(), line)),
        }
    }
}

#[track_caller]
fn text(serial: &[u8]) -> Arc<str> {
    let text = std::str::from_utf8(serial).expect("the serial line is UTF-8");
    text.replace('\r', "").into()
}

impl Report {
    /// The one report on a serial line.
    #[track_caller]
    pub fn find(serial: &[u8]) -> Self {
        let text = text(serial);
        Self::next(&mut text.lines(), &text).unwrap_or_else(|| panic!("no report in:\n{text}"))
    }

    /// All reports on a serial line. The parts about other CPUs and tasks count as a report each.
    #[track_caller]
    pub fn find_all(serial: &[u8]) -> Vec<Self> {
        let text = text(serial);
        let mut lines = text.lines();
        std::iter::from_fn(|| Self::next(&mut lines, &text)).collect()
    }

    #[track_caller]
    fn next(lines: &mut std::str::Lines<'_>, text: &Arc<str>) -> Option<Self> {
        let panicked = lines.find(|line| Begin::of(line).is_some())?.to_owned();
        let mut frames: Vec<Frame> = Vec::new();
        let mut words = Vec::new();
        let mut left_out = 0;
        for line in lines {
            let parsed = match Line::parse(line) {
                Some(("", parsed)) => parsed,
                // Other output of the kernel.
                _ => continue,
            };
            let last = frames.last_mut();
            match parsed {
                Line::Frame(frame) => {
                    let number = frame.number.trim_start().parse();
                    let expected = frames.len() + left_out;
                    assert_eq!(number, Ok(expected), "number of the frame {line:?}");
                    assert_eq!(frame.after, "", "behind the frame {line:?}");
                    frames.push(Frame::of(&frame));
                }
                Line::Inlined(source) => last
                    .unwrap_or_else(|| panic!("into what is it inlined? {line:?}"))
                    .inlined_into(&source),
                Line::TailCall(from) => {
                    let frame = last.unwrap_or_else(|| panic!("what was reached? {line:?}"));
                    frame.tail_called_by = Some(match from {
                        TailCall::Function(name) => name.to_owned(),
                        TailCall::Address(address) => format!("{address:#018x}"),
                    });
                }
                Line::LeftOut(count) => {
                    left_out += count;
                    words.push((frames.len(), format!("{count} frames left out")));
                }
                Line::Interrupted(between) => words.push((frames.len(), between.to_owned())),
                Line::End(end) => {
                    let counted = frames.len() + left_out;
                    assert_eq!(
                        end.frames, counted,
                        "frames that {line:?} counts in:\n{text}"
                    );
                    return Some(Self {
                        panicked,
                        frames,
                        words,
                        end: line.to_owned(),
                        text: text.clone(),
                    });
                }
            }
        }
        panic!("no end of the backtrace in:\n{text}");
    }

    /// The report without the frames above the line between frames that ends in these words; that line is its first.
    pub fn interrupted_behind(&self, end: &str) -> Option<Self> {
        let at = self
            .words
            .iter()
            .position(|(_, found)| found.ends_with(end))?;
        let (above, _) = self.words[at];
        let words = self.words[at..].iter();
        Some(Self {
            frames: self.frames[above..].to_vec(),
            words: words
                .map(|(before, found)| (before - above, found.clone()))
                .collect(),
            ..self.clone()
        })
    }

    /// The functions' names, innermost first; `?` where a line names none.
    pub fn names(&self) -> Vec<&str> {
        self.frames
            .iter()
            .map(|frame| frame.name.as_deref().unwrap_or("?"))
            .collect()
    }

    /// Fails unless the report is complete, with the right number of frames.
    #[track_caller]
    pub fn expect_complete(&self) {
        let expected = format!("end of backtrace: complete, {} frames", self.frames.len());
        assert_eq!(self.end, expected, "in:\n{}", self.text);
        for frame in &self.frames {
            assert!("pr".contains(frame.letter), "{frame:x?} is no sure frame");
        }
    }
}

impl Frame {
    fn of(frame: &report::Frame<'_>) -> Self {
        let source = frame.named.as_ref().map(|named| Source::of(&named.source));
        Self {
            address: frame.address,
            letter: frame.letter,
            name: source.as_ref().map(|source| source.name.clone()),
            offset: frame.named.as_ref().map(|named| named.offset),
            sources: source.into_iter().collect(),
            tail_called_by: None,
        }
    }

    fn inlined_into(&mut self, source: &report::Source<'_>) {
        let source = Source::of(source);
        self.name = Some(source.name.clone());
        self.sources.push(source);
    }
}
