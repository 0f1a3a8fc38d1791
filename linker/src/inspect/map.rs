//! What `sframe dump` and `sframe stats` say of a rule map. Its rules by address are those of `.sframe`, as `sframe check` shows.

use std::io::{self, Write};

use unwind::map::{Map, format};

use super::dump::abi;

/// Writes the header.
pub(super) fn dump(map: &Map<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Section .unwind_map at {:#x}:\n", map.address())?;
    writeln!(out, "    Version: {}", format::VERSION)?;
    writeln!(out, "    ABI: {}", map.abi().map_or("32-bit ARM", abi))?;
    for (what, count) in counts(map) {
        writeln!(out, "    Num {what}: {count}")?;
    }
    writeln!(out)
}

/// Writes how many bytes it has, and of what it has how many.
pub(super) fn stats(map: &Map<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, ".unwind_map: {} bytes", map.length())?;
    for (what, count) in counts(map) {
        write!(out, ", {count} {what}")?;
    }
    writeln!(out)
}

fn counts(map: &Map<'_>) -> [(&'static str, usize); 5] {
    [
        ("regions", map.region_count()),
        ("rules", map.rule_count()),
        ("long rules", map.long_rule_count()),
        ("changes", map.change_count()),
        ("exceptions", map.exception_count()),
    ]
}
