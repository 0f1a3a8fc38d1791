//! `sframe lookup`: what the tables say about addresses.

use std::io::{self, Write};

use super::Subject;
use super::rule::texts;

/// Writes a line for an address: its function, and the rules for it. Whether there was a function to name.
///
/// # Errors
/// Those of the output.
pub fn lookup(subject: &Subject<'_>, address: u64, out: &mut dyn Write) -> io::Result<bool> {
    let name = subject.name_at(address);
    write!(out, "{address:#x}: ")?;
    match &name {
        Some((name, start, size)) => {
            write!(out, "{name}+{:#x}/{size:#x}", address.wrapping_sub(*start))?;
        }
        None => write!(out, "no name")?,
    }
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
                ", cfa {}, ra {}{}, fp {}",
                texts.cfa,
                texts.return_address,
                if row.signed { "[s]" } else { "" },
                texts.frame_pointer
            )?;
        }
        None => {
            if let Err(error) = subject.tables.lookup(address) {
                write!(out, ", {error}")?;
            }
        }
    }
    writeln!(out)?;
    Ok(name.is_some() || found.is_some())
}
