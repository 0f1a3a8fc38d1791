//! `sframe lookup`: looks addresses up in the tables.

use std::io::{self, Write};

use unwind::symbols::SourceFrame;
use unwind::{Found, Proof, RowSource};

use super::Subject;
use crate::sframe::rule::texts;
use crate::symbols::printable;

/// Writes a line for an address: its function, as far as it is known file and line, and the rules for it; then a line
/// for each function that it is inlined into. Returns whether a function was found.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn lookup(subject: &Subject<'_>, address: u64, out: &mut dyn Write) -> io::Result<bool> {
    let name = subject.name_at(address);
    write!(out, "{address:#x}: ")?;
    let mut inlined_into = Vec::new();
    match (
        &name,
        subject.symbols().and_then(|table| table.resolve(address)),
    ) {
        (_, Some(answer)) => {
            let offset = address.wrapping_sub(answer.start);
            let mut frames = answer.frames().map(|frame| {
                (
                    printable(&frame.name.to_string()).into_owned(),
                    place(&frame),
                )
            });
            if let Some((name, place)) = frames.next() {
                write!(out, "{name}+{offset:#x}/{:#x}{place}", answer.size)?;
            }
            inlined_into = frames.collect();
        }
        (Some((name, start, size)), None) => {
            write!(out, "{name}+{:#x}/{size:#x}", address.wrapping_sub(*start))?;
        }
        (None, None) => write!(out, "no name")?,
    }
    let has_row = match subject.section {
        None => super::arm::lookup(subject, address, out)?,
        Some(_) => rules(subject, address, out)?,
    };
    let mut found = Found::EMPTY;
    let outcome = match subject.only_map() {
        Some(map) => map.look_up(address, &mut found),
        None => RowSource::look_up(&subject.tables, address, &mut found),
    };
    let proof = match outcome.map(|()| found.proof) {
        Ok(Proof::Unproven) => Some("unproven"),
        Ok(Proof::IfEntered) => {
            Some("the unwind row is proven correct only if a trap entered the function")
        }
        _ => None,
    };
    if let Some(proof) = proof {
        write!(out, ", {proof}")?;
    }
    writeln!(out)?;
    for (name, place) in inlined_into {
        writeln!(out, "        inlined into {name}{place}")?;
    }
    Ok(name.is_some() || has_row)
}

/// Writes the rules of `.sframe` for an address. Returns whether there are some.
fn rules(subject: &Subject<'_>, address: u64, out: &mut dyn Write) -> io::Result<bool> {
    // Each section has its own header, and so its own fixed offsets.
    let found = subject
        .tables
        .sections()
        .flatten()
        .find_map(|section| Some((section, section.lookup(address).ok()?)));
    match found {
        Some((_, (_, row))) if row.is_outermost() => write!(out, ", RA undefined")?,
        Some((section, (_, row))) => {
            let texts = texts(&row, &section);
            write!(
                out,
                ", cfa {cfa}, ra {ra}{signed}, fp {fp}",
                cfa = texts.cfa,
                ra = texts.return_address,
                signed = if row.signed { "[s]" } else { "" },
                fp = texts.frame_pointer
            )?;
        }
        None => {
            if let Err(error) = subject.tables.lookup(address) {
                write!(out, ", {error}")?;
            }
        }
    }
    Ok(found.is_some())
}

fn place(frame: &SourceFrame<'_>) -> String {
    let place = frame.place();
    place.map_or_else(String::new, |(file, line)| {
        format!(" at {}:{line}", printable(&file.to_string()))
    })
}
