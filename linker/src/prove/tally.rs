//! How much of an image's code is proven, and why the rest is not.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::isa::Isa;
use super::reason::Reason;
use super::text::Text;
use super::unit::{Found, Span};
use super::world::World;

/// Bytes of code, by what was found out about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes of instructions that have a row which is right.
    pub agrees: u64,
    /// Bytes of instructions whose row was wrong, and what is right is known.
    pub mended: u64,
    /// Bytes of instructions whose row was wrong, and what is right is not known.
    pub withdrawn: u64,
    /// Bytes of instructions without a row, for which one was found.
    pub made: u64,
    /// Bytes between functions and behind calls that do not return, which only fill room.
    pub filling: u64,
    /// Bytes of instructions with a row of which nothing is known, by reason.
    pub undecided: BTreeMap<&'static str, u64>,
    /// Bytes of instructions without a row for which none was found, by reason.
    pub missing: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Counts.
    pub(super) fn of<I: Isa>(isa: &I, text: &Text<'_>, world: &World, spans: &[Span]) -> Self {
        let mut tally = Self::default();
        for span in spans {
            let bytes = span.end - span.start;
            match &span.found {
                Found::Agrees => tally.agrees += bytes,
                Found::Mended(_) => tally.mended += bytes,
                Found::Withdrawn(_) => tally.withdrawn += bytes,
                Found::Made(_) => tally.made += bytes,
                Found::Undecided(reason) => {
                    *tally.undecided.entry(reason.words()).or_default() += bytes
                }
                Found::Missing(reason) => {
                    *tally.missing.entry(reason.words()).or_default() += bytes
                }
            }
        }
        for (start, code) in text.code() {
            let end = start.saturating_add(code.len() as u64);
            let mut at = *start;
            let first = spans.partition_point(|span| span.end <= at);
            for span in spans[first..].iter().take_while(|span| span.start < end) {
                tally.between(isa, text, world, at, span.start);
                at = span.end;
            }
            tally.between(isa, text, world, at, end);
        }
        tally
    }

    /// What no way leads to.
    fn between<I: Isa>(&mut self, isa: &I, text: &Text<'_>, world: &World, mut at: u64, end: u64) {
        while at < end {
            let fills = text
                .code_at(at)
                .and_then(|code| isa.padding(code))
                .map(|length| u64::from(length).min(end - at));
            if let Some(length) = fills {
                self.filling += length;
                at += length;
                continue;
            }
            let kind = match world.function_at(at) {
                Some(_) => &mut self.undecided,
                None => &mut self.missing,
            };
            // The rest of it is no different.
            *kind.entry(Reason::Unreached.words()).or_default() += end - at;
            break;
        }
    }

    /// Writes the share that is decided, and the reasons why the rest is not.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let share = match self.code() {
            0 => 100.0,
            code => 100.0 * self.decided() as f64 / code as f64,
        };
        writeln!(
            out,
            "{share:.2} % of {} bytes of code decided: {} as described, {} mended, {} withdrawn, {} without description",
            self.code(),
            self.agrees,
            self.mended,
            self.withdrawn,
            self.made,
        )?;
        for (kind, reasons) in [("undecided", &self.undecided), ("no row", &self.missing)] {
            for (reason, bytes) in reasons {
                writeln!(out, "    {kind}, {bytes} bytes: {reason}")?;
            }
        }
        Ok(())
    }

    /// Bytes of instructions.
    #[must_use]
    pub fn code(&self) -> u64 {
        self.decided() + self.undecided.values().sum::<u64>() + self.missing.values().sum::<u64>()
    }

    /// Bytes of instructions of which it is known what their rows are worth.
    #[must_use]
    pub fn decided(&self) -> u64 {
        self.agrees + self.mended + self.withdrawn + self.made
    }
}

/// Whether nothing between two addresses runs.
pub(super) fn is_filling<I: Isa>(isa: &I, text: &Text<'_>, mut from: u64, to: u64) -> bool {
    while from < to {
        match text.code_at(from).and_then(|code| isa.padding(code)) {
            Some(length) => from += u64::from(length),
            None => return false,
        }
    }
    true
}
