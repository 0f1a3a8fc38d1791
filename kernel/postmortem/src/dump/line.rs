//! Lines with a checksum each.

use core::fmt::{self, Write};

use base64ct::{Base64, Encoding};
use crc::{CRC_32_ISO_HDLC, Crc, Digest, NoTable};
use unwind::Range;

use super::pack::{Packed, ROOM};
use crate::postmortem::Postmortem;

/// Without a table, which would be 1 KiB: the serial line takes longer than this.
const CHECKSUM: Crc<u32, NoTable> = Crc::<u32, NoTable>::new(&CRC_32_ISO_HDLC);

/// Characters of a packed line in base64.
const TEXT: usize = ROOM.div_ceil(3).saturating_mul(4);

/// Sends lines.
pub(super) struct Lines {
    postmortem: &'static Postmortem,
    /// How many were sent.
    count: u32,
}

impl Lines {
    pub(super) fn new(postmortem: &'static Postmortem) -> Self {
        Self {
            postmortem,
            count: 0,
        }
    }

    /// Sends a line with what `write` writes.
    pub(super) fn line(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> fmt::Result,
    ) -> fmt::Result {
        let mut line = Line {
            postmortem: self.postmortem,
            digest: CHECKSUM.digest(),
        };
        line.write_str("dump ")?;
        write(&mut line)?;
        let sum = line.digest.finalize();
        writeln!(Plain(self.postmortem), " {sum:08x}")?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Sends the words in this range, whose start is a multiple of 8, that can be read.
    pub(super) fn memory(
        &mut self,
        range: Range,
        read: impl Fn(u64) -> Option<u64>,
    ) -> fmt::Result {
        let (mut first, mut packed) = (range.start, Packed::new());
        let mut at = range.start;
        while range.holds(at, 8) {
            let next = at.saturating_add(8);
            let word = read(at);
            // What cannot be read ends a line, and so does what has no room.
            if !word.is_some_and(|word| packed.add(word)) {
                self.send(first, &packed)?;
                packed = Packed::new();
                first = match word {
                    Some(word) => {
                        packed.add(word);
                        at
                    }
                    None => next,
                };
            }
            at = next;
        }
        self.send(first, &packed)
    }

    fn send(&mut self, first: u64, packed: &Packed) -> fmt::Result {
        let mut room = [0; TEXT];
        match Base64::encode(packed.bytes(), &mut room) {
            Ok("") => Ok(()),
            Ok(text) => self.line(|out| write!(out, "at {first:#018x} {text}")),
            Err(_) => Err(fmt::Error),
        }
    }

    /// Sends the last line.
    pub(super) fn end(&mut self) -> fmt::Result {
        let count = self.count;
        self.line(|out| write!(out, "end {count}"))
    }
}

/// The begin of a line.
struct Line {
    postmortem: &'static Postmortem,
    digest: Digest<'static, u32, NoTable>,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.digest.update(text.as_bytes());
        self.postmortem.send(text);
        Ok(())
    }
}

/// What has no checksum: a checksum.
struct Plain(&'static Postmortem);

impl Write for Plain {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.send(text);
        Ok(())
    }
}
