//! What `sframe` prints of a file for 32-bit ARM: the rows of its rule map, and the entries of its exception tables.

use std::io::{self, Write};

use unwind::arm::R11;
use unwind::ehabi::Entry;
use unwind::map::{Map, format};
use unwind::{LookupError, Row, Rule};

use super::exceptions::{self, Exceptions};
use super::{Subject, map};
use crate::architecture::ARM;
use crate::map::{row, row_at};
use crate::sframe::rule;

/// Writes the map's header, its functions with their rows, and the entries of the exception tables.
pub(super) fn dump(subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<()> {
    if let Some(map) = &subject.map {
        map::dump(map, out)?;
        rows(subject, out)?;
    }
    let Some(exceptions) = &subject.exceptions else {
        return Ok(());
    };
    let tables = exceptions.tables();
    let count = tables.entries().count();
    writeln!(out, "Section .ARM.exidx at {:#x}:\n", exceptions.address())?;
    writeln!(out, "    Num entries: {count}\n")?;
    for entry in tables.entries() {
        let (start, end) = (entry.range.start, entry.range.end);
        writeln!(
            out,
            "    {start:#x} to {end:#x}: {}{}",
            said(&entry),
            name(subject, start)
        )?;
    }
    Ok(())
}

fn rows(subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Ok(frames) = subject.functions() else {
        return Ok(());
    };
    for (index, function) in frames.functions.iter().enumerate() {
        writeln!(
            out,
            "    func idx [{index}]: pc = {start:#x}, size = {size} bytes{attribute}{name}",
            start = function.start,
            size = function.size,
            attribute = if function.signal {
                ", attr = \"S\""
            } else {
                ""
            },
            name = name(subject, function.start),
        )?;
        writeln!(
            out,
            "    STARTPC           CFA       FP        RA        others"
        )?;
        for row in &function.rows {
            write!(
                out,
                "    {:016x}",
                function.start.wrapping_add(row.offset.into())
            )?;
            if row.is_outermost() {
                writeln!(out, "  RA undefined")?;
                continue;
            }
            let [cfa, ra, fp] = texts(row);
            let line = format!(
                "  {cfa:<10}{fp:<10}{ra:<10}{}",
                changed(row.kept.rules()).join(", ")
            );
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(out)?;
    }
    for left in &frames.left_out {
        writeln!(
            out,
            "    the unwind rows of the function at {start:#x} are damaged (function size: {size} bytes)\n",
            start = left.start,
            size = left.size
        )?;
    }
    Ok(())
}

fn name(subject: &Subject<'_>, start: u64) -> String {
    let name = subject.name_at(start);
    name.map_or_else(String::new, |(name, _, _)| format!("  {name}"))
}

/// What an entry of the exception tables says, in the words of `readelf -u`.
fn said(entry: &Entry<'_>) -> String {
    match exceptions::words(entry) {
        Ok(opcodes) => opcodes.join("; "),
        Err(error) => error.to_string(),
    }
}

/// The rules for the frame address, the return address and the frame pointer as texts.
fn texts(row: &Row) -> [String; 3] {
    let fp = match row.frame_pointer == ARM.lost_frame_pointer() {
        true => "lost".to_owned(),
        false => rule::text(row.frame_pointer),
    };
    [rule::text(row.cfa), rule::text(row.return_address), fp]
}

/// A whole row as one text, with the rules for further registers.
fn line(row: &Row, others: impl IntoIterator<Item = (u32, Rule)>) -> String {
    if row.is_outermost() {
        return "RA undefined".to_owned();
    }
    let [cfa, ra, fp] = texts(row);
    let mut line = format!("cfa {cfa}, ra {ra}, fp {fp}");
    for other in changed(others) {
        line.push_str(", ");
        line.push_str(&other);
    }
    line
}

/// The registers that do not have the caller's values any more, with where these are.
fn changed(rules: impl IntoIterator<Item = (u32, Rule)>) -> Vec<String> {
    let changed = rules.into_iter().filter(|(_, rule)| *rule != Rule::Same);
    let text = |(register, rule)| format!("r{register} {}", place(rule));
    changed.map(text).collect()
}

fn place(rule: Rule) -> String {
    match rule {
        Rule::Undefined => "lost".to_owned(),
        rule => rule::text(rule),
    }
}

/// Writes the row for an address: that of the rule map, or where it has none that of the exception tables, and which it is. Returns whether
/// there is one.
pub(super) fn lookup(subject: &Subject<'_>, address: u64, out: &mut dyn Write) -> io::Result<bool> {
    let of_map = match &subject.map {
        Some(map) => row_at(map, address),
        None => Err(LookupError::NoFunction),
    };
    let of_map = match of_map {
        Ok((row, _)) => {
            write!(
                out,
                ", {rules}, from the unwind rule map",
                rules = line(&row, row.kept.rules())
            )?;
            return Ok(true);
        }
        Err(error) => error,
    };
    let entry = subject.exceptions.as_ref();
    let tables = entry.map(Exceptions::tables);
    let Some(entry) = tables.as_ref().and_then(|tables| tables.entry_at(address)) else {
        write!(out, ", {of_map}")?;
        return Ok(false);
    };
    match entry.rules() {
        Ok((rules, restored)) => {
            let others = (0..=12).map(|register| (register, restored.rule(register)));
            let line = line(
                &row(&rules, &restored),
                others.filter(|(register, _)| *register != R11),
            );
            write!(
                out,
                ", {line}, from the exception table, whose rows are valid only at call instructions"
            )?;
        }
        Err(error) => write!(
            out,
            ", no row in the unwind rule map ({of_map}), and no usable entry in the exception table ({error})"
        )?,
    }
    Ok(true)
}

/// Writes a header line for the map and for the exception tables, and a line for each function and each entry.
pub(super) fn json(subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<()> {
    if let (Some(map), Ok(frames)) = (&subject.map, subject.functions()) {
        header(map, frames.functions.len(), frames.row_count(), out)?;
        for function in &frames.functions {
            write!(
                out,
                r#"{{"start":{},"size":{},"signal":{},"rows":["#,
                function.start, function.size, function.signal
            )?;
            for (index, row) in function.rows.iter().enumerate() {
                let [cfa, ra, fp] = texts(row);
                let kept: Vec<String> = (row.kept.rules().into_iter())
                    .filter(|(_, rule)| *rule != Rule::Same)
                    .map(|(register, rule)| format!(r#""r{register}":"{}""#, place(rule)))
                    .collect();
                write!(
                    out,
                    r#"{}{{"offset":{},"cfa":"{}","ra":"{}","fp":"{}","others":{{{}}}}}"#,
                    if index == 0 { "" } else { "," },
                    row.offset,
                    cfa,
                    ra,
                    fp,
                    kept.join(","),
                )?;
            }
            writeln!(out, "]}}")?;
        }
    }
    let Some(exceptions) = &subject.exceptions else {
        return Ok(());
    };
    let tables = exceptions.tables();
    let count = tables.entries().count();
    writeln!(out, r#"{{"section":".ARM.exidx","entries":{count}}}"#)?;
    for entry in tables.entries() {
        let said = match exceptions::words(&entry) {
            Ok(opcodes) => {
                let quoted: Vec<String> = opcodes.iter().map(|it| format!("\"{it}\"")).collect();
                format!(r#""opcodes":[{}]"#, quoted.join(","))
            }
            Err(error) => format!(r#""none":"{error}""#),
        };
        let (start, end) = (entry.range.start, entry.range.end);
        writeln!(out, r#"{{"start":{start},"end":{end},{said}}}"#)?;
    }
    Ok(())
}

fn header(map: &Map<'_>, functions: usize, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        r#"{{"section":"{}","version":{},"abi":"{}","functions":{functions},"rows":{rows}}}"#,
        crate::map::SECTION,
        format::VERSION,
        map.abi().map_or("arm", super::dump::abi),
    )
}
