//! Whether a line of a list is as the kernel has written it: the image itself tells which name, file and line an address has, and
//! QEMU's lists have the text of most of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::decode::{Answer, Symbolizer};
use crate::report::{Frame, Line, Source};

/// The lines that an image can write.
pub(super) struct Writable<'a> {
    symbolizer: &'a Symbolizer,
    /// The text of a frame in QEMU's lists after its letter, by its address.
    frames: BTreeMap<u64, BTreeSet<String>>,
    /// All other lines of QEMU's.
    lines: BTreeSet<String>,
}

/// Returns the part of a frame's line after its number, address and letter.
fn after_letter<'l>(line: &'l str, frame: &Frame<'_>) -> &'l str {
    let before = format!("{}: {:#018x} {}", frame.number, frame.address, frame.letter);
    line.strip_prefix(&before).unwrap_or(line)
}

impl<'a> Writable<'a> {
    pub(super) const fn of(symbolizer: &'a Symbolizer) -> Self {
        Self {
            symbolizer,
            frames: BTreeMap::new(),
            lines: BTreeSet::new(),
        }
    }

    /// Adds a line that QEMU has written.
    pub(super) fn add(&mut self, line: &str) {
        match Line::parse(line) {
            Some(("", Line::Frame(frame))) => {
                let text = after_letter(line, &frame).to_owned();
                self.frames.entry(frame.address).or_default().insert(text);
            }
            _ => {
                self.lines.insert(line.to_owned());
            }
        }
    }

    /// Whether QEMU has written this line, which is not a frame's.
    pub(super) fn has(&self, line: &str) -> bool {
        self.lines.contains(line)
    }

    /// The build id of the image.
    pub(super) fn build(&self) -> &str {
        self.symbolizer.build_id().unwrap_or_default()
    }

    /// Returns what the image has at a frame's address, or before a return address.
    fn answer(&self, frame: &Frame<'_>) -> Answer {
        let is_return = frame.letter != 'p';
        let at = frame.address.saturating_sub(u64::from(is_return));
        self.symbolizer.answer(at)
    }

    /// Whether the name, offset, size, file and line of a frame are those that the image has at its address.
    pub(super) fn has_frame(&self, line: &str, frame: &Frame<'_>) -> bool {
        if let Some(texts) = self.frames.get(&frame.address) {
            return texts.contains(after_letter(line, frame));
        }
        let answer = self.answer(frame);
        let Some(named) = &frame.named else {
            return frame.after.is_empty() && answer.sources.is_empty();
        };
        let size = answer.function.as_ref().map_or(0, |function| function.size);
        let (name, offset) = (named.source.name, named.offset);
        frame.after.is_empty()
            && named.size == size
            && (self.symbolizer).agrees(frame.address, &answer, name, offset, size)
            && has_place(&answer, &named.source)
    }

    /// Whether the code of a frame is inlined into this function.
    pub(super) fn has_inlined(&self, line: &str, frame: &Frame<'_>, source: &Source<'_>) -> bool {
        self.has(line) || has_place(&self.answer(frame), source)
    }
}

/// Whether a file and a line are among those of an address. The kernel writes the end of a file's path.
fn has_place(answer: &Answer, source: &Source<'_>) -> bool {
    let Some((file, line)) = source.place else {
        // Assembly has lines for debuggers only.
        return !source.name.contains("::");
    };
    let is_it = |(path, number, _): &(String, u32, u32)| path.ends_with(file) && *number == line;
    let mut places = answer.sources.iter().filter_map(|one| one.place.as_ref());
    places.any(is_it)
}
