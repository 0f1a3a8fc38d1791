//! Counts how much of an image's code is proven, and why the rest is not.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::isa::Isa;
use super::text::Text;
use super::unit::{Found, Span};
use super::world::World;
use crate::counted::counted;
use crate::function::Function;
use crate::reason::Reason;

/// Bytes of code, by result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes of instructions whose row is right.
    pub agrees: u64,
    /// Bytes of instructions whose row was wrong and is replaced.
    pub mended: u64,
    /// Bytes of instructions whose row was wrong and is removed.
    pub withdrawn: u64,
    /// Bytes of instructions without a row, for which one was made.
    pub made: u64,
    /// Bytes of padding between functions and after calls that do not return.
    pub filling: u64,
    /// Bytes of instructions with a row that could not be decided, by reason.
    pub undecided: BTreeMap<&'static str, u64>,
    /// Bytes of instructions without a row, for which none could be made, by reason.
    pub missing: BTreeMap<&'static str, u64>,
    /// Functions with rows.
    pub functions: Functions,
}

/// Functions that have rows, by the results for their instructions. PLT entries are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    /// How many there are.
    pub all: u64,
    /// Functions for each of whose instructions the right row is known.
    pub decided: u64,
    /// Those of the decided ones that had a wrong row.
    pub mended: u64,
    /// Functions with a wrong row for which the right one is not known, by the first reason.
    pub withdrawn: BTreeMap<&'static str, u64>,
    /// Functions with an undecided instruction, by the first reason.
    pub undecided: BTreeMap<&'static str, u64>,
}

/// The result for a whole function.
enum FunctionResult {
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
            match function_result(isa, text, function, spans) {
                FunctionResult::Agrees => functions.decided += 1,
                FunctionResult::Mended => {
                    functions.decided += 1;
                    functions.mended += 1;
                }
                FunctionResult::Withdrawn(why) => {
                    *functions.withdrawn.entry(why.words()).or_default() += 1
                }
                FunctionResult::Undecided(why) => {
                    *functions.undecided.entry(why.words()).or_default() += 1
                }
            }
        }
        functions
    }

    /// Writes the share that is decided, and the reasons why the rest is not.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let share = match self.all {
            0 => 100.0,
            all => 100.0 * self.decided as f64 / all as f64,
        };
        writeln!(
            out,
            "verified functions: {verified} of {all} ({share:.2} %), functions with unwind rows that sframe-link corrected: {corrected}",
            verified = self.decided,
            all = self.all,
            corrected = self.mended,
        )?;
        for (kind, reasons) in [
            ("wrong", &self.withdrawn),
            ("not verified", &self.undecided),
        ] {
            for (reason, count) in reasons {
                writeln!(
                    out,
                    "    {kind}, {functions}: {reason}",
                    functions = counted(*count, "function")
                )?;
            }
        }
        Ok(())
    }
}

fn function_result<I: Isa>(
    isa: &I,
    text: &Text<'_>,
    function: &Function,
    spans: &[Span],
) -> FunctionResult {
    let mut result = FunctionResult::Agrees;
    let mut at = function.start;
    let first = spans.partition_point(|span| span.end <= at);
    for span in spans.get(first..).unwrap_or(&[]) {
        if span.start >= function.end() {
            break;
        }
        if !is_padding(isa, text, at, span.start) {
            return FunctionResult::Undecided(Reason::Unreached);
        }
        at = span.end;
        match (&span.found, &result) {
            (Found::Undecided(why) | Found::Missing(why), _) => {
                return FunctionResult::Undecided(*why);
            }
            (Found::Withdrawn(why), FunctionResult::Agrees | FunctionResult::Mended) => {
                result = FunctionResult::Withdrawn(*why)
            }
            (Found::Mended(_), FunctionResult::Agrees) => result = FunctionResult::Mended,
            _ => {}
        }
    }
    match is_padding(isa, text, at, function.end()) {
        true => result,
        false => FunctionResult::Undecided(Reason::Unreached),
    }
}

impl Tally {
    /// Counts the bytes of `spans`, and of the code between them.
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

    /// Counts code that no path reaches: padding, then the rest.
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
            // Without a path to it, where further instructions start is not known.
            *kind.entry(Reason::Unreached.words()).or_default() += end - at;
            break;
        }
    }

    /// Writes the share that is decided, and the reasons why the rest is not.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let share = match self.code() {
            0 => 100.0,
            code => 100.0 * self.decided() as f64 / code as f64,
        };
        writeln!(
            out,
            "verified code: {share:.2} % of {code} bytes. Right unwind row: {right} bytes, wrong unwind row with a known correction: {wrong} bytes, wrong unwind row without a known correction: {unknown} bytes, no unwind row: {missing} bytes",
            code = self.code(),
            right = self.agrees,
            wrong = self.mended,
            unknown = self.withdrawn,
            missing = self.made,
        )?;
        for (kind, reasons) in [("not verified", &self.undecided), ("no row", &self.missing)] {
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

    /// Bytes of instructions of which it is known whether their row is right.
    #[must_use]
    pub fn decided(&self) -> u64 {
        self.agrees + self.mended + self.withdrawn + self.made
    }
}

/// Whether there is only padding between two addresses.
pub(super) fn is_padding<I: Isa>(isa: &I, text: &Text<'_>, mut from: u64, to: u64) -> bool {
    while from < to {
        let padding = text.code_at(from).and_then(|code| isa.padding(code));
        match padding.map(u64::from).or_else(|| text.data_at(from)) {
            Some(length) => from += length,
            None => return false,
        }
    }
    true
}
