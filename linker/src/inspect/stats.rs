//! `sframe stats`: sizes of the tables and their parts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use anyhow::Result;
use object::{Object, ObjectSection};

use unwind::RowSource;
use unwind::sframe::{Verified, format};

use super::Subject;
use crate::cfi::Frames;
use crate::image::{self, Image};
use crate::outermost;
use crate::prove::Rows;
use crate::prove::origin::Origins;
use crate::settled::settle;
use crate::sframe::Version;
use crate::symbols::{self, Symbols};

/// How many functions with the most rows, and how many reasons, are listed.
const BIGGEST: usize = 5;

/// Writes the sizes of a file's tables, by part.
///
/// # Errors
/// Returns an error if the file is not linked, or writing to `out` fails.
pub fn stats(data: &[u8], subject: &Subject<'_>, out: &mut dyn Write) -> Result<()> {
    let file = image::linked(data)?;
    // A link may have several of a name, as of code by two compilers. The sizes in a damaged file may overflow.
    let size = |name: &str| {
        let of_name = |section: &object::Section<'_, '_>| section.name() == Ok(name);
        let sections = file.sections().filter(of_name);
        let sizes = sections.map(|section| section.size());
        sizes.fold(0, u64::saturating_add)
    };
    let code: u64 = file
        .sections()
        .filter(|section| image::is_code(section.flags()))
        .map(|section| section.size())
        // The sizes in a damaged file may overflow.
        .fold(0, u64::saturating_add);
    let unwinding = size(".eh_frame").saturating_add(size(".eh_frame_hdr"));
    let sframe = subject.section.map_or(0, |its| its.data.len() as u64);
    let is_arm = subject.section.is_none();
    let percent = |part: u64, whole: u64| match whole {
        0 => String::new(),
        _ => format!("{:.1} %", part as f64 * 100.0 / whole as f64),
    };
    writeln!(out, "{:24}{:>12}{:>12}", "", "bytes", "of code")?;
    for (what, bytes) in [
        ("code", code),
        (".eh_frame", size(".eh_frame")),
        (".eh_frame_hdr", size(".eh_frame_hdr")),
        (
            ".debug_frame",
            if is_arm { size(".debug_frame") } else { 0 },
        ),
        (".ARM.exidx", size(".ARM.exidx")),
        (".ARM.extab", size(".ARM.extab")),
        (crate::sframe::SECTION, sframe),
        (crate::map::SECTION, size(crate::map::SECTION)),
        (symbols::SECTION, size(symbols::SECTION)),
        (
            ".symtab and .strtab",
            size(".symtab").saturating_add(size(".strtab")),
        ),
    ] {
        if bytes > 0 {
            writeln!(out, "{what:24}{bytes:>12}{:>12}", percent(bytes, code))?;
        }
    }
    if unwinding > 0 && !is_arm {
        writeln!(
            out,
            "the size of .sframe is {percent} of the size of .eh_frame and .eh_frame_hdr",
            percent = percent(sframe, unwinding)
        )?;
    }
    if !is_arm {
        parts(subject, out)?;
    }
    if let Some(map) = &subject.map {
        super::map::stats(map, out)?;
    }
    if let Some(section) = image::section(&file, symbols::SECTION)? {
        super::parts::parts(section.data, code, out)?;
    }
    match is_arm {
        true => arm_rows(subject, &subject.functions().unwrap_or_default(), out)?,
        false => rows(subject, out)?,
    }
    origins(data, subject, out)?;
    missing(data, subject, out)?;
    Ok(())
}

/// Writes the sizes of the parts of `.sframe`.
fn parts(subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (mut header, mut index, mut all) = (0, 0, 0);
    let (mut stored, mut used) = (0, 0);
    let has_checksums = matches!(subject.tables.verify(), Ok(Verified { checksum: true, .. }));
    let (mut checksums, mut addresses, mut unproven, mut code) = (0, 0, 0, 0);
    for section in subject.tables.sections().flatten() {
        header += format::HEADER_SIZE;
        let size = match section.version() {
            1 => format::FUNCTION_SIZE_V1,
            2 => format::FUNCTION_SIZE_V2,
            _ => format::FUNCTION_SIZE_V3,
        };
        index += size * section.function_count() as usize;
        all += section.length();
        if has_checksums {
            checksums += format::CHECKSUM_SIZE;
            addresses += section.moved_by().map_or(0, |_| format::LINKED_SIZE);
            unproven += section.unproven_count().map_or(0, |count| {
                count * format::UNPROVEN_SIZE
                    + format::PROOF_SIZE
                    + section.interrupted_links_size()
                    + section.stack_pointers_size()
            });
            code += section.code_checksums_size();
        }
        stored += u64::from(section.row_count());
        let functions = section.functions();
        used += functions.map(|one| u64::from(one.row_count())).sum::<u64>();
    }
    let rows = all.saturating_sub(header + index + unproven + code + checksums + addresses);
    write!(
        out,
        "sizes in .sframe: header: {header} bytes, functions: {index} bytes, rows: {rows} bytes ({used} rows, {stored} rows after deduplication)"
    )?;
    match checksums {
        0 => writeln!(out, ", no checksum"),
        bytes => writeln!(
            out,
            ", list of unproven rows: {unproven} bytes, checksums of the code: {code} bytes, address of the table: {addresses} bytes, checksum of the table: {bytes} bytes"
        ),
    }
}

/// Writes where functions and rows come from, by comparison with those that a link would make now; nothing if none can be made.
fn origins(data: &[u8], subject: &Subject<'_>, out: &mut dyn Write) -> Result<()> {
    let Ok(image) = Image::parse(data) else {
        return Ok(());
    };
    let symbols = Symbols::of(&image.file);
    let Ok(mut rows) = Rows::of(&image, true, Frames::default(), &symbols) else {
        return Ok(());
    };
    let own = subject.functions()?;
    let version = Version::of(subject.tables.first().map_or(3, |table| table.version()));
    let _ = settle(
        &image,
        &rows.described,
        &mut rows.frames,
        &symbols,
        version.has_lost(),
    );
    let right = &rows.frames.functions;
    let declared = outermost::starts(&own.functions, &rows.frames, &symbols);
    let merged = HashSet::new();
    let origins = Origins::of(&own.functions, &rows.described, right, &merged, &declared);
    writeln!(out, "{:26}{:>12}{:>12}", "from", "functions", "rows")?;
    for (origin, count) in origins.named(subject.rows_section()) {
        writeln!(out, "{origin:26}{:>12}{:>12}", count.functions, count.rows)?;
    }
    Ok(())
}

/// Writes what call frame information describes and `.sframe` does not, by reason; nothing if there is no such information.
fn missing(data: &[u8], subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Ok(frames) = Image::parse(data).and_then(|image| Frames::of(&image)) else {
        return Ok(());
    };
    let mut reasons: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    let mut add = |why: String, size: u64| {
        let (count, bytes) = reasons.entry(why).or_default();
        *count += 1;
        *bytes += size;
    };
    for left in &frames.left_out {
        add(left.why.to_string(), left.size);
    }
    let has = |address| match subject.only_map() {
        Some(map) => RowSource::function(map, address).is_some(),
        None => subject.tables.function_at(address).is_some(),
    };
    let words = match subject.section {
        Some(_) => "the function is in .eh_frame, but not in .sframe",
        None => "call frame information contains the function, but .unwind_map does not",
    };
    for function in &frames.functions {
        if !has(function.start) {
            add(words.to_owned(), function.size.into());
        }
    }
    writeln!(
        out,
        "left out:{}",
        if reasons.is_empty() { " nothing" } else { "" }
    )?;
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (count, _))| Reverse(*count));
    for (why, (count, bytes)) in reasons.iter().take(BIGGEST) {
        writeln!(out, "{count:>8}  {bytes} bytes: {why}")?;
    }
    if reasons.len() > BIGGEST {
        writeln!(
            out,
            "          {more} more reasons for missing rows are not shown",
            more = reasons.len() - BIGGEST
        )?;
    }
    Ok(())
}

/// Writes how many rows a rule map has, and which functions have most; and how many entries the exception tables have.
fn arm_rows(subject: &Subject<'_>, own: &Frames, out: &mut dyn Write) -> io::Result<()> {
    if let Some(exceptions) = &subject.exceptions {
        let entries = exceptions.tables().entries().count();
        writeln!(out, ".ARM.exidx: {entries} entries")?;
    }
    let mut functions: Vec<_> = own.functions.iter().collect();
    let signal = functions.iter().filter(|one| one.signal).count();
    writeln!(
        out,
        "functions: {count}, unwind rows: {rows}, signal frames: {signal}",
        count = functions.len(),
        rows = own.row_count()
    )?;
    functions.sort_by_key(|function| (Reverse(function.rows.len()), function.start));
    writeln!(out, "most rows:")?;
    for function in functions.iter().take(BIGGEST) {
        let count = function.rows.len();
        writeln!(out, "{count:>8}  {}", name_of(subject, function.start))?;
    }
    Ok(())
}

fn name_of(subject: &Subject<'_>, start: u64) -> String {
    let name = subject.name_at(start);
    name.map_or_else(|| format!("{start:#x}"), |(name, _, _)| name)
}

fn rows(subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut functions: Vec<_> = subject
        .tables
        .sections()
        .flatten()
        .flat_map(|section| section.functions())
        .collect();
    let rows: u64 = functions.iter().map(|f| u64::from(f.row_count())).sum();
    let flexible = functions.iter().filter(|f| f.is_flexible()).count();
    let signal = functions.iter().filter(|f| f.is_signal_frame()).count();
    writeln!(
        out,
        "functions: {count}, unwind rows: {rows}, flexible functions: {flexible}, signal frames: {signal}",
        count = functions.len(),
    )?;
    functions.sort_by_key(|function| (Reverse(function.row_count()), function.start()));
    writeln!(out, "most rows:")?;
    for function in functions.iter().take(BIGGEST) {
        let name = name_of(subject, function.start());
        writeln!(out, "{:>8}  {name}", function.row_count())?;
    }
    Ok(())
}
