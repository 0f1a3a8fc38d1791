//! `sframe check`: `.sframe` against `.eh_frame` and the code, `.symbols` against debug information.

use std::io::{self, Write};

use anyhow::{Context, Result};
use object::Object;
use unwind::sframe::StartRule;
use unwind::symbols::{Precision, format};

use super::proof::Proven;
use super::{Strict, Subject};
use crate::cfi::Frames;
use crate::function::LeftOut;
use crate::image::Image;
use crate::prove::Rows;
use crate::sframe::{Comparison, Table, Version, What, compare};
use crate::symbols::{self, Asked, Code, Names, Symbols};

/// What a check found.
#[derive(Debug)]
pub struct Check {
    /// The comparison of `.sframe`.
    pub comparison: Comparison,
    /// What is not strict about `.sframe`.
    pub strict: Strict,
    /// Functions in `.sframe` that nothing else describes.
    pub uncompared: usize,
    /// What the code says of the rows, where it can be followed.
    pub proven: Option<Proven>,
    /// The comparison of `.symbols`, if there is one that can be read.
    pub symbols: Option<symbols::Comparison>,
    /// Why `.symbols` is there and could not be compared.
    pub symbols_uncompared: Option<&'static str>,
    /// Functions that `.sframe` cannot describe, and need not.
    pub left_out: Vec<LeftOut>,
}

/// Compares a file's `.sframe` with its `.eh_frame`, at both ends of every row, and the answers of its `.symbols` with
/// debug information, at every instruction.
///
/// # Errors
/// The file has not both, or they cannot be read.
pub fn check(data: &[u8], starts: StartRule) -> Result<Check> {
    let image = Image::parse(data)?;
    let subject = Subject::parse_with(data, starts)?;
    if let Some((offset, error)) = subject.symbols_error {
        return Err(error).with_context(|| format!("section .symbols at offset {offset}"));
    }
    let functions = Symbols::of(&image.file);
    let others = Frames::default();
    let rows = Rows::of(&image, true, others, &functions)?;
    let proven = Proven::of(&image, &rows, &subject.tables, functions)?;
    let compared = |mut frames: Frames, is_judged: &dyn Fn(u64) -> bool| {
        // What the format cannot hold is not missing.
        let version = subject.tables.first().map_or(3, |table| table.version());
        let version = Version::of(version);
        let _ = Table::of_version(version, image.architecture, &mut frames);
        let mut comparison = compare(&subject.tables, &frames.functions);
        comparison.differences.retain(|one| {
            !(matches!(one.what, What::Row { .. } | What::Missing(_)) && is_judged(one.address))
        });
        (frames, comparison)
    };
    // Where rows were found in the code, others may be as right, and nobody promised any. The proof judges those of the
    // table, and counts where it has none.
    let made = rows.made();
    let is_judged = |address| made.iter().any(|range| range.contains(&address));
    let mended = compared(rows.frames, &is_judged);
    // A table that nobody mended says what call frame information says, and then that is what it is compared with.
    let described = compared(Frames::of(&image)?, &|_| false);
    let differences = |(_, comparison): &(Frames, Comparison)| comparison.differences.len();
    let (frames, mut comparison) = match differences(&mended) <= differences(&described) {
        true => mended,
        false => described,
    };
    let mut symbols_uncompared = None;
    let symbols = match subject.symbols() {
        Some(_) if image.file.symbols().next().is_none() => {
            symbols_uncompared = Some("no symbol table");
            None
        }
        Some(table) => {
            let names = if table.has_full_names() {
                Names::Full
            } else {
                Names::Short
            };
            let with_lines = format::promise(table.level()).calls != Precision::NameOnly;
            let code = Code::of(&image.file, &Symbols::of(&image.file), names, with_lines)?;
            if with_lines && !code.has_lines {
                symbols_uncompared = Some("no debug information");
            }
            symbols_uncompared
                .is_none()
                .then(|| symbols::compare(table, &code, Asked::Every))
        }
        None => None,
    };
    // Input tables are all that is known about some code; there is nothing to compare them with.
    let differences = comparison.differences.len();
    comparison
        .differences
        .retain(|one| one.what != What::Unexpected || frames.covers(one.address));
    Ok(Check {
        proven,
        strict: Strict::of(&subject.tables, &subject.section, image.architecture),
        uncompared: differences - comparison.differences.len(),
        comparison,
        symbols,
        symbols_uncompared,
        left_out: frames.left_out,
    })
}

impl Check {
    /// Whether the tables say what they should.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        let symbols = self.symbols.as_ref();
        !self.strict.has_error()
            && self.comparison.differences.is_empty()
            && self
                .proven
                .as_ref()
                .is_none_or(|proven| proven.wrong.is_empty())
            && symbols.is_none_or(|symbols| symbols.differences.is_empty())
    }

    /// Writes what was compared, and every difference.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let comparison = &self.comparison;
        match &self.proven {
            Some(proven) => proven.write(out)?,
            None => writeln!(
                out,
                "not compared with the code: its instructions are not known here"
            )?,
        }
        for difference in &comparison.differences {
            writeln!(out, "{difference}")?;
        }
        for left in &self.left_out {
            let LeftOut { start, size, why } = left;
            writeln!(
                out,
                "{start:#x}, {size} bytes: not in SFrame's words: {why}"
            )?;
        }
        writeln!(
            out,
            "{} functions, {} rows, {} addresses compared: {} differences",
            comparison.functions,
            comparison.rows,
            comparison.addresses,
            comparison.differences.len(),
        )?;
        self.strict.write(out)?;
        if self.uncompared > 0 {
            writeln!(
                out,
                "{} functions not compared: only .sframe describes them",
                self.uncompared
            )?;
        }
        if let Some(why) = self.symbols_uncompared {
            writeln!(out, ".symbols not compared: {why}")?;
        }
        let Some(symbols) = &self.symbols else {
            return Ok(());
        };
        for difference in &symbols.differences {
            writeln!(out, "{difference}")?;
        }
        writeln!(
            out,
            "{} answers of .symbols compared, {} of them with all frames, {} with the outermost line: {} differences",
            symbols.answers,
            symbols.exact,
            symbols.outer,
            symbols.differences.len(),
        )?;
        let (exact, faults) = (symbols.exact_faults, symbols.faults);
        writeln!(
            out,
            "{exact} of {faults} instructions that can fault have all frames"
        )
    }
}
