//! Lines for a host, each with a checksum.

mod pack;

use core::fmt::{self, Write};

use base64ct::{Base64, Encoding};
use crc::{CRC_32_ISO_HDLC, Crc, Digest, NoTable};
use unwind::{Range, RegisterSet as _};

use crate::arch::Registers;
use crate::image::Image;
use crate::postmortem::Postmortem;
use crate::probe;
pub(crate) use pack::Packed;

/// Without a table, which would be 1 KiB: the serial line takes longer than this.
const CHECKSUM: Crc<u32, NoTable> = Crc::<u32, NoTable>::new(&CRC_32_ISO_HDLC);

/// Bytes of a packed line of memory: in base64 and with what is around them, a line is 164 characters long.
const ROOM: usize = 96;

/// Bytes that are made base64 at once, a multiple of 3; and the characters that they make.
const PART: usize = 48;
const TEXT: usize = PART / 3 * 4;

/// Sends lines.
pub(crate) struct Lines {
    postmortem: &'static Postmortem,
    /// Their first word.
    word: &'static str,
    /// How many were sent.
    count: u32,
    /// While they are only counted, and none is sent: the checksum of all.
    unsent: Option<Digest<'static, u32, NoTable>>,
}

impl Lines {
    /// Sends a first line with what `begin` writes, those of `rest`, and a last one, all of which begin with this word. What was printed before
    /// ends its line.
    ///
    /// The first and the last one have a mark in common, by which a host knows that all between them are of one sending: a reset may
    /// cut it off, and the next one's first line may be lost. A dying kernel has no random numbers, so the mark is a checksum of
    /// everything, which is written twice for that. Two sendings with the same mark have the same lines.
    pub(crate) fn send_all(
        postmortem: &'static Postmortem,
        word: &'static str,
        begin: &dyn Fn(&mut dyn Write) -> fmt::Result,
        rest: &dyn Fn(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        let new = |unsent| Self {
            postmortem,
            word,
            count: 0,
            unsent,
        };
        let mut unsent = new(Some(CHECKSUM.digest()));
        unsent.line(|out| begin(out))?;
        rest(&mut unsent)?;
        let mark = unsent.unsent.map_or(0, |all| all.finalize());
        let _ = postmortem.out();
        let mut lines = new(None);
        lines.line(|out| {
            begin(out)?;
            write!(out, " {mark:08x}")
        })?;
        rest(&mut lines)?;
        let count = lines.count;
        lines.line(|out| write!(out, "end {count} {mark:08x}"))
    }

    /// Sends a line with what `write` writes.
    pub(crate) fn line(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> fmt::Result,
    ) -> fmt::Result {
        if let Some(all) = &mut self.unsent {
            return write(&mut Line {
                postmortem: None,
                digest: all,
            });
        }
        let mut digest = CHECKSUM.digest();
        let mut line = Line {
            postmortem: Some(self.postmortem),
            digest: &mut digest,
        };
        write!(line, "{} ", self.word)?;
        write(&mut line)?;
        let sum = digest.finalize();
        writeln!(Plain(self.postmortem), " {sum:08x}")?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Sends the words of this architecture in this range, whose start is a multiple of their size, that can be read.
    pub(crate) fn memory(
        &mut self,
        range: Range,
        read: impl Fn(u64) -> Option<u64>,
    ) -> fmt::Result {
        let (mut first, mut packed) = (range.start, Packed::<ROOM>::new());
        let mut at = range.start;
        while range.holds(at, Registers::WORD) {
            let next = at.saturating_add(Registers::WORD);
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

    fn send(&mut self, first: u64, packed: &Packed<ROOM>) -> fmt::Result {
        match packed.bytes() {
            [] => Ok(()),
            _ => self.packed(format_args!("at {first:#018x}"), packed),
        }
    }

    /// Sends a line with packed words behind this text.
    pub(crate) fn packed<const SIZE: usize>(
        &mut self,
        text: fmt::Arguments<'_>,
        packed: &Packed<SIZE>,
    ) -> fmt::Result {
        self.line(|out| {
            write!(out, "{text} ")?;
            packed.bytes().chunks(PART).try_for_each(|part| {
                let mut room = [0; TEXT];
                let text = Base64::encode(part, &mut room);
                out.write_str(text.map_err(|_| fmt::Error)?)
            })
        })
    }
}

/// The begin of a line, which is sent if there is somebody to send it.
struct Line<'d> {
    postmortem: Option<&'static Postmortem>,
    digest: &'d mut Digest<'static, u32, NoTable>,
}

impl Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.digest.update(text.as_bytes());
        if let Some(postmortem) = self.postmortem {
            postmortem.send(text);
        }
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

/// The version of the format of all lines. Those of version 1 have no mark.
pub(crate) const VERSION: u32 = 2;

/// Writes what tells which image it is, and where it lies: the build id in hexadecimal digits, or `-` if it is not known, and the
/// address of `postmortem_read`.
pub(crate) fn write_image(out: &mut dyn Write, image: &Image) -> fmt::Result {
    match image.build_id {
        [] => out.write_str("-")?,
        bytes => {
            let mut bytes = bytes.iter();
            bytes.try_for_each(|byte| write!(out, "{byte:02x}"))?;
        }
    }
    write!(out, " {:#018x}", probe::address())
}
