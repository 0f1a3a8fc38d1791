//! `sframe dump`: everything in the tables, as text.

use std::io::{self, Write};

use unwind::sframe::{Abi, Function, Rule, Section};

use super::Subject;
use crate::sframe::rule::texts;

/// Writes all functions and rows, laid out as `objdump --sframe` does, with names. Of a file for 32-bit ARM those of its rule map, and the
/// entries of its exception tables.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn dump(subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<()> {
    if subject.section.is_none() {
        return super::arm::dump(subject, out);
    }
    if let Some(map) = &subject.map {
        super::map::dump(map, out)?;
    }
    for section in subject.tables.sections().flatten() {
        header(&section, out)?;
        for (index, function) in section.functions().enumerate() {
            let name = subject.name_at(function.start());
            let name = name.map_or(String::new(), |(name, _, _)| format!("  {name}"));
            writeln!(
                out,
                "    func idx [{index}]: pc = {start:#x}, size = {size} bytes{attributes}{name}",
                start = function.start(),
                size = function.size(),
                attributes = attributes(&function),
            )?;
            rows(&section, &function, out)?;
            writeln!(out)?;
        }
    }
    unproven(subject, out)
}

fn header(section: &Section<'_>, out: &mut dyn Write) -> io::Result<()> {
    let flags: Vec<&str> = section.flags().iter_names().map(|(name, _)| name).collect();
    writeln!(out, "Section .sframe at {:#x}:\n", section.address())?;
    writeln!(out, "    Version: {}", section.version())?;
    writeln!(out, "    Flags: {}", flags.join(" | "))?;
    writeln!(out, "    ABI: {}", abi(section.abi()))?;
    for (what, offset) in [
        ("FP", section.fixed_frame_pointer_offset()),
        ("RA", section.fixed_return_address_offset()),
    ] {
        if offset != 0 {
            writeln!(out, "    CFA fixed {what} offset: {offset}")?;
        }
    }
    writeln!(out, "    Num FDEs: {}", section.function_count())?;
    writeln!(out, "    Num FREs: {}\n", section.row_count())
}

/// Writes the list of unproven ranges.
fn unproven(subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<()> {
    let own = subject.functions().ok();
    let Some(list) = subject.listed(own.as_ref()) else {
        return writeln!(out, "    Proof: none\n");
    };
    let bytes = list.bytes();
    writeln!(
        out,
        "    The unwind rows for {bytes} bytes of code are unproven. All other unwind rows are proven correct"
    )?;
    for (range, is_entered) in list.pieces() {
        let size = range.end.wrapping_sub(range.start);
        let unless = match is_entered {
            true => " (the rows are proven correct only if a trap entered the function)",
            false => "",
        };
        writeln!(
            out,
            "    code with unproven unwind rows: pc = {start:#x}, size = {size} bytes{unless}",
            start = range.start
        )?;
    }
    for (range, rule) in subject.links(own.as_ref()).ranges() {
        let size = range.end.wrapping_sub(range.start);
        let place = match rule {
            Rule::Saved { offset, .. } => format!("sp{offset:+}"),
            _ => "u".to_owned(),
        };
        writeln!(
            out,
            "    code with a known link register: pc = {start:#x}, size = {size} bytes, location = {place}",
            start = range.start
        )?;
    }
    for (range, value) in subject.stack_pointers(own.as_ref()).ranges() {
        let size = range.end.wrapping_sub(range.start);
        writeln!(
            out,
            "    code with a known stack pointer: pc = {start:#x}, size = {size} bytes, stack pointer = {value:#x}",
            start = range.start
        )?;
    }
    writeln!(out)
}

pub(super) const fn abi(abi: Abi) -> &'static str {
    match abi {
        Abi::AArch64Big => "aarch64_be",
        Abi::AArch64Little => "aarch64",
        Abi::Amd64 => "amd64",
        Abi::S390x => "s390x",
    }
}

/// The letters for a function's attributes: `S` a signal frame, `F` rows with control words, `B` key B.
fn attributes(function: &Function<'_>) -> String {
    let mut text = String::new();
    let letters: String = [
        (function.is_signal_frame(), 'S'),
        (function.is_flexible(), 'F'),
    ]
    .into_iter()
    .filter_map(|(set, letter)| set.then_some(letter))
    .collect();
    if !letters.is_empty() {
        text.push_str(&format!(", attr = \"{letters}\""));
    }
    if function.uses_key_b() {
        text.push_str(", pauth = B key");
    }
    if function.is_pc_mask() {
        text.push_str(&format!(
            ", the rows apply to each block of {size} bytes",
            size = function.block_size()
        ));
    }
    text
}

fn rows(section: &Section<'_>, function: &Function<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "    STARTPC           CFA       FP        RA")?;
    // A block is repeated, so its rows have no one address.
    let base = if function.is_pc_mask() {
        0
    } else {
        function.start()
    };
    let mut count = 0;
    for row in function.rows() {
        count += 1;
        write!(out, "    {:016x}", base.wrapping_add(row.offset.into()))?;
        if row.is_outermost() {
            writeln!(out, "  RA undefined")?;
            continue;
        }
        let texts = texts(&row, section);
        let signed = if row.signed { "[s]" } else { "" };
        let return_address = texts.return_address + signed;
        writeln!(
            out,
            "  {:<10}{:<10}{return_address}",
            texts.cfa, texts.frame_pointer
        )?;
    }
    if count < function.row_count() {
        writeln!(
            out,
            "    {more} more rows of the function are damaged and cannot be read",
            more = function.row_count() - count
        )?;
    }
    Ok(())
}
