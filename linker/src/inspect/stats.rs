//! `sframe stats`: sizes.

use std::io::{self, Write};

use object::{Object, ObjectSection, SectionFlags, elf};

use super::Subject;
use crate::symbols;

/// Functions with most rows that are listed.
const BIGGEST: usize = 5;

/// Writes how many bytes the tables of a file have, and what for.
///
/// # Errors
/// Those of the output.
pub fn stats(
    file: &object::File<'_>,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let size = |name: &str| {
        file.section_by_name(name)
            .map_or(0, |section| section.size())
    };
    let code: u64 = file
        .sections()
        .filter(|section| {
            matches!(section.flags(), SectionFlags::Elf { sh_flags, .. }
                if sh_flags.contains(elf::SHF_EXECINSTR))
        })
        .map(|section| section.size())
        .sum();
    let unwinding = size(".eh_frame") + size(".eh_frame_hdr");
    let sframe = subject.section.data.len() as u64;
    let percent = |part: u64, whole: u64| match whole {
        0 => String::new(),
        _ => format!("{:.1} %", part as f64 * 100.0 / whole as f64),
    };
    writeln!(out, "{:24}{:>12}{:>12}", "", "bytes", "of code")?;
    for (what, bytes) in [
        ("code", code),
        (".eh_frame", size(".eh_frame")),
        (".eh_frame_hdr", size(".eh_frame_hdr")),
        (crate::sframe::SECTION, sframe),
        (symbols::SECTION, size(symbols::SECTION)),
        (".symtab and .strtab", size(".symtab") + size(".strtab")),
    ] {
        if bytes > 0 {
            writeln!(out, "{what:24}{bytes:>12}{:>12}", percent(bytes, code))?;
        }
    }
    if unwinding > 0 {
        writeln!(
            out,
            ".sframe is {} of .eh_frame and .eh_frame_hdr",
            percent(sframe, unwinding)
        )?;
    }
    rows(subject, out)
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
        "{} functions, {rows} rows; {flexible} functions flexible, {signal} signal frames",
        functions.len(),
    )?;
    functions.sort_by_key(|function| (std::cmp::Reverse(function.row_count()), function.start()));
    writeln!(out, "most rows:")?;
    for function in functions.iter().take(BIGGEST) {
        let name = subject.name_at(function.start());
        let name = name.map_or_else(|| format!("{:#x}", function.start()), |(name, _, _)| name);
        writeln!(out, "{:>8}  {name}", function.row_count())?;
    }
    Ok(())
}
