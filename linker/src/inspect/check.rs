//! `sframe check`: compares `.sframe`, or the rule map of a file for 32-bit ARM, with call frame information and the code, and `.symbols`
//! with debug information.

use std::path::Path;

use anyhow::{Context, Result, bail};
use object::Object;
use unwind::ImageTables;
use unwind::sframe::{Damage, StartRule};
use unwind::symbols::{Precision, format};

use super::proof::Proven;
use super::{Exceptions, Strict, Subject};
use crate::cfi::Frames;
use crate::code_checksums;
use crate::covered::Covered;
use crate::function::LeftOut;
use crate::image::Image;
use crate::map;
use crate::outermost;
use crate::prove::Rows;
use crate::settled::settle;
use crate::sframe::{Comparison, Mismatch, Table, Version, compare};
use crate::symbols::{self, Code, Coverage, Names, Symbol, Symbols};

/// The results of a check.
#[derive(Debug)]
pub struct Check {
    /// The name of the section with the rows.
    pub table: &'static str,
    /// How many entries the exception tables have, if there are such tables; or which one cannot be read, and why.
    pub exceptions: Option<Result<usize, String>>,
    /// The comparison of `.sframe`.
    pub comparison: Comparison,
    /// What is not strict about `.sframe`.
    pub strict: Strict,
    /// Functions in `.sframe` that nothing else describes.
    pub uncompared: usize,
    /// What the code says of the rows, where it can be followed.
    pub proven: Option<Proven>,
    /// How much of the code has rows, if the table can be read.
    pub covered: Option<Covered>,
    /// The comparison of `.symbols`, if there is one that can be read.
    pub symbols: Option<symbols::Comparison>,
    /// Why `.symbols` is there and could not be compared.
    pub symbols_uncompared: Option<&'static str>,
    /// The comparison of the rule map with `.sframe`, if there is one.
    pub map: Option<map::Comparison>,
    /// How much code the checksums in the tables are for, in bytes; or that it differs from the linked code.
    pub code: Result<u64, String>,
    /// Functions that `.sframe` cannot describe, and need not.
    pub left_out: Vec<LeftOut>,
    /// Functions that the link has declared to have no caller, which nothing else shows.
    pub declared: Vec<Symbol>,
}

/// Compares a file's `.sframe` with its `.eh_frame`, at both ends of every row, and the answers of its `.symbols` with
/// debug information, at every instruction. `package` is the path of the image's `.dwp` file, which need not exist.
///
/// # Errors
/// Returns an error if a section is missing or cannot be read.
pub fn check(data: &[u8], starts: StartRule, package: Option<&Path>) -> Result<Check> {
    let image = Image::parse(data)?;
    image.check_no_overlays()?;
    let subject = Subject::parse_with(data, starts)?;
    if let Some((offset, error)) = subject.symbols_error {
        return Err(error)
            .with_context(|| format!("cannot read section .symbols at offset {offset}"));
    }
    if subject.section.is_none() && subject.map.is_none() {
        bail!("no section .unwind_map");
    }
    let functions = Symbols::of(&image.file);
    let others = Frames::default();
    let rows = Rows::of(&image, true, others, &functions)?;
    let own = subject.functions();
    let exceptions = subject.exceptions.as_ref().map(check_exceptions);
    let map = compare_map(&subject, own.as_ref().ok())?;
    let left_out = &rows.frames.left_out;
    let covered =
        (own.as_ref()).map(|own| Covered::of(&image, &own.functions, left_out, &functions));
    // Neither code nor call frame information shows that a link has declared a function to have no caller.
    let known = own.as_ref().map_or(&[][..], |own| &own.functions);
    let declared = outermost::declared(known, &rows.frames, &functions);
    let covered = covered.ok();
    let listed = subject.listed(own.as_ref().ok());
    let proven = match &rows.proof {
        Some(_) => {
            let mut own = own?;
            if subject.only_map().is_some() {
                map::fill_gaps(&mut own, &functions);
            }
            let links = subject.links(Some(&own));
            let stack_pointers = subject.stack_pointers(Some(&own));
            Proven::of(
                &image,
                &rows,
                &own,
                listed.as_ref(),
                &links,
                &stack_pointers,
                functions.clone(),
            )
        }
        None => None,
    };
    let compared = |mut frames: Frames, is_judged: &dyn Fn(u64) -> bool| {
        outermost::repeat(&mut frames, &declared);
        // Functions that this version of the format cannot hold are not expected.
        let version = subject.tables.first().map_or(3, |table| table.version());
        let version = Version::of(version);
        let mut comparison = match subject.only_map() {
            Some(map) => map::compare_with(map, &frames.functions),
            None => {
                let _ = Table::of_version(version, image.architecture, &mut frames);
                compare(&subject.tables, &frames.functions)
            }
        };
        comparison.differences.retain(|one| {
            let is_for_the_proof = match &one.what {
                // The proof believes that there is no caller.
                Mismatch::Row { found, .. } => !found.is_outermost(),
                what => matches!(what, Mismatch::Missing(_)),
            };
            !(is_for_the_proof && is_judged(one.address))
        });
        (frames, comparison)
    };
    // Rows that a link would make from the code are not compared: other rows there may be right, too, or missing. The proof
    // judges those in the table.
    let made = rows.made();
    let is_judged = |address| made.iter().any(|range| range.contains(&address));
    let mut mended = rows.frames;
    outermost::repeat(&mut mended, &declared);
    if listed.is_some() {
        // The link has done the same before it wrote the list.
        let version = Version::of(subject.tables.first().map_or(3, |table| table.version()));
        let has_lost = version.has_lost();
        let described = &rows.described;
        let _ = settle(&image, described, &mut mended, &functions, has_lost);
    }
    let mended = compared(mended, &is_judged);
    // A table that was not mended is compared with unmended call frame information: the smaller number of differences decides.
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
            let symbols = Symbols::of(&image.file);
            let code = Code::of(&image.file, &symbols, names, with_lines, package)?;
            if with_lines && !code.has_lines {
                symbols_uncompared = Some("no debug information");
            } else if !code.missing.is_empty() {
                symbols_uncompared = Some(
                    "the .dwo files with the debug information of the checked file are missing",
                );
            }
            match symbols_uncompared {
                Some(_) => None,
                None => {
                    let mut comparison = symbols::compare(table, &code, Coverage::Every);
                    let unseen = symbols::witness(&image.file, table, &code, package)?;
                    comparison.differences.extend(unseen);
                    Some(comparison)
                }
            }
        }
        None => None,
    };
    // Functions that only an input's table describes have nothing to be compared with.
    let differences = comparison.differences.len();
    comparison
        .differences
        .retain(|one| one.what != Mismatch::Unexpected || frames.covers(one.address));
    let strict = subject.section.as_ref();
    let strict = strict.map(|section| Strict::of(&subject.tables, section, image.architecture));
    Ok(Check {
        proven,
        table: subject.rows_section(),
        exceptions,
        strict: strict.unwrap_or_default(),
        uncompared: differences - comparison.differences.len(),
        comparison,
        covered,
        symbols,
        symbols_uncompared,
        map,
        code: compare_code(&image, &subject),
        left_out: frames.left_out,
        declared,
    })
}

/// Compares the code with the checksums in the tables. Damaged tables are reported by the other comparisons.
fn compare_code(image: &Image<'_>, subject: &Subject<'_>) -> Result<u64, String> {
    let tables = match &subject.map {
        Some(map) => ImageTables::Map(*map),
        None => ImageTables::SFrame(subject.tables),
    };
    code_checksums::compare(image, &tables).or_else(|error| match error.downcast_ref() {
        Some(Damage::Code { .. }) => Err(error.to_string()),
        _ => Ok(0),
    })
}

/// Counts the entries of exception tables, if all can be read.
fn check_exceptions(exceptions: &Exceptions<'_>) -> Result<usize, String> {
    let tables = exceptions.tables();
    match tables.verify() {
        Ok(()) => Ok(tables.entries().count()),
        Err((number, error)) => Err(format!("entry {number}: {error}")),
    }
}

/// Verifies a file's rule map, if it has one, and compares it with its `.sframe`, if it has that.
fn compare_map(subject: &Subject<'_>, own: Option<&Frames>) -> Result<Option<map::Comparison>> {
    let (Some(map), Some(own)) = (&subject.map, own) else {
        return Ok(None);
    };
    map.verify().with_context(|| {
        format!(
            "section .unwind_map at offset {offset} is damaged",
            offset = subject.map_offset
        )
    })?;
    if subject.only_map().is_some() {
        return Ok(None);
    }
    let listed = subject.listed(Some(own));
    let compared = map::compare(map, &subject.tables, &own.functions, listed.as_ref());
    Ok(Some(compared))
}

impl Check {
    /// Whether the tables are right, and cover at least so many percent of the code.
    #[must_use]
    pub fn is_ok(&self, least: u8) -> bool {
        let symbols = self.symbols.as_ref();
        let covered = self.covered.as_ref();
        covered.is_none_or(|covered| covered.is_at_least(least))
            && !self.strict.has_error()
            && self.comparison.differences.is_empty()
            && self.code.is_ok()
            && self.proven.as_ref().is_none_or(Proven::is_ok)
            && symbols.is_none_or(|symbols| symbols.differences.is_empty())
            && (self.map.as_ref()).is_none_or(|map| map.differences.is_empty())
            && self.exceptions.as_ref().is_none_or(Result::is_ok)
    }
}
