//! `sframe dump --json`: everything in the tables, one JSON object a line.

use std::io::{self, Write};

use unwind::sframe::{Function, Section};

use super::Subject;
use super::dump::abi;
use crate::sframe::rule::texts;

/// Writes a header line for each section, and a line for each function. No text in them needs escapes.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn json(subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<()> {
    if subject.section.is_none() {
        return super::arm::json(subject, out);
    }
    let own = subject.functions().ok();
    let list = subject.listed(own.as_ref());
    let unproven = list.map(|list| {
        let ranges = list.ranges().iter();
        let ranges = ranges.map(|range| [range.start, range.end.wrapping_sub(range.start)]);
        ranges.collect::<Vec<_>>()
    });
    for section in subject.tables.sections().flatten() {
        writeln!(
            out,
            r#"{{"section":"{}","version":{},"flags":{},"abi":"{}","functions":{},"rows":{},"unproven":{}}}"#,
            crate::sframe::SECTION,
            section.version(),
            section.flags().bits(),
            abi(section.abi()),
            section.function_count(),
            section.row_count(),
            unproven
                .as_ref()
                .map_or("null".to_owned(), |ranges| format!("{ranges:?}")),
        )?;
        for function in section.functions() {
            line(&section, &function, out)?;
        }
    }
    Ok(())
}

fn line(section: &Section<'_>, function: &Function<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        r#"{{"start":{},"size":{},"pc_type":"{}","kind":"{}","signal":{},"pauth_key":"{}","rep_size":{},"rows":["#,
        function.start(),
        function.size(),
        if function.is_pc_mask() { "mask" } else { "inc" },
        if function.is_flexible() {
            "flex"
        } else {
            "default"
        },
        function.is_signal_frame(),
        if function.uses_key_b() { "b" } else { "a" },
        function.block_size(),
    )?;
    for (index, row) in function.rows().enumerate() {
        let texts = texts(&row, section);
        write!(
            out,
            r#"{}{{"offset":{},"cfa":"{}","ra":"{}","fp":"{}","ra_signed":{}}}"#,
            if index == 0 { "" } else { "," },
            row.offset,
            texts.cfa,
            texts.return_address,
            texts.frame_pointer,
            row.signed,
        )?;
    }
    writeln!(out, "]}}")
}
