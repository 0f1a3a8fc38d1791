//! How much of an image's code is proven, and why the rest is not.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::isa::Isa;
use super::reason::Reason;
use super::text::Text;
use super::unit::{Found, Span};
use super::world::World;
use crate::function::Function;

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
    /// Functions with rows.
    pub functions: Functions,
}

/// Functions that have rows, by what was found out about their instructions. Entries of linkage tables are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    /// How many there are.
    pub all: u64,
    /// Those of which each row is right, or it is known what is.
    pub decided: u64,
    /// Those of them with a row that is wrong.
    pub mended: u64,
    /// The others, by the first reason: a row is wrong, and what is right is not known.
    pub withdrawn: BTreeMap<&'static str, u64>,
    /// And those of which nothing is known at an instruction.
    pub undecided: BTreeMap<&'static str, u64>,
}

/// What one function is worth.
enum Worth {
    Agrees,
    Mended,
    Withdrawn(Reason),
    Undecided(Reason),
}

impl Functions {
    fn of<I: Isa>(isa: &I, text: &Text<'_>, world: &World, spans: &[Span]) -> Self {
        let mut functions = Self::default();
        for function in world.rows.iter().filter(|one| one.block.is_none()) {
            functions.all += 1;
            match worth(isa, text, function, spans) {
                Worth::Agrees => functions.decided += 1,
                Worth::Mended => {
                    functions.decided += 1;
                    functions.mended += 1;
                }
                Worth::Withdrawn(why) => *functions.withdrawn.entry(why.words()).or_default() += 1,
                Worth::Undecided(why) => *functions.undecided.entry(why.words()).or_default() += 1,
            }
        }
        functions
    }

    /// Writes the share that is decided, and the reasons why the rest is not.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let share = match self.all {
            0 => 100.0,
            all => 100.0 * self.decided as f64 / all as f64,
        };
        writeln!(
            out,
            "{share:.2} % of {} functions decided: {}, of them {} mended",
            self.all, self.decided, self.mended,
        )?;
        for (kind, reasons) in [("wrong", &self.withdrawn), ("undecided", &self.undecided)] {
            for (reason, count) in reasons {
                writeln!(out, "    {kind}, {count} functions: {reason}")?;
            }
        }
        Ok(())
    }
}

fn worth<I: Isa>(isa: &I, text: &Text<'_>, function: &Function, spans: &[Span]) -> Worth {
    let mut worth = Worth::Agrees;
    let mut at = function.start;
    let first = spans.partition_point(|span| span.end <= at);
    for span in spans.get(first..).unwrap_or(&[]) {
        if span.start >= function.end() {
            break;
        }
        if !is_filling(isa, text, at, span.start) {
            return Worth::Undecided(Reason::Unreached);
        }
        at = span.end;
        match (&span.found, &worth) {
            (Found::Undecided(why) | Found::Missing(why), _) => return Worth::Undecided(*why),
            (Found::Withdrawn(why), Worth::Agrees | Worth::Mended) => {
                worth = Worth::Withdrawn(*why)
            }
            (Found::Mended(_), Worth::Agrees) => worth = Worth::Mended,
            _ => {}
        }
    }
    match is_filling(isa, text, at, function.end()) {
        true => worth,
        false => Worth::Undecided(Reason::Unreached),
    }
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
        tally.functions = Functions::of(isa, text, world, spans);
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
