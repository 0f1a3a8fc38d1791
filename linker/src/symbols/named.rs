//! Which of several names of a function is taken, where the symbol table prefers none of them: the one that calls have in debug
//! information.

use anyhow::{Context, Result};
use gimli::{
    AttributeValue, DW_AT_MIPS_linkage_name, DW_AT_abstract_origin, DW_AT_call_origin,
    DW_AT_linkage_name, DW_AT_name, DW_AT_specification, DW_TAG_GNU_call_site, DW_TAG_call_site,
    DW_TAG_subprogram, DebuggingInformationEntry, DwAt, Dwarf, UnitRef,
};
use rustc_hash::FxHashSet;

use super::Symbols;
use super::reader::Reader;
use super::removed::REMOVED;
use super::sections::Sections;

/// Entries that each refer to the next one for their name. Compilers make two.
const REFERENCES: usize = 8;

/// The functions of a file, each by the name that debug information prefers.
///
/// # Errors
/// Debug information is damaged.
pub fn named(file: &object::File<'_>, mut symbols: Symbols) -> Result<Symbols> {
    if has_rivals(&symbols)
        && let Some(sections) = Sections::of(file, None)?
    {
        choose(&mut symbols, &sections.open())?;
    }
    Ok(symbols)
}

fn has_rivals(symbols: &Symbols) -> bool {
    symbols.0.iter().any(|symbol| symbol.rivals > 0)
}

/// Prefers the name of a function that is not folded into another: debug information has it at the address. Then a name that calls have.
///
/// # Errors
/// Debug information is damaged.
pub(super) fn choose(symbols: &mut Symbols, dwarf: &Dwarf<Reader<'_>>) -> Result<()> {
    if !has_rivals(symbols) {
        return Ok(());
    }
    let found = Found::of(symbols, dwarf)?;
    for symbol in &mut symbols.0 {
        let names = std::iter::once(&symbol.name).chain(&symbol.others[..symbol.rivals]);
        let rank = |name: &str| (found.folded.contains(name), !found.called.contains(name));
        // The first of several, as the symbol table orders them.
        let best = names.enumerate().min_by_key(|(at, name)| (rank(name), *at));
        if let Some(other) = best.and_then(|(at, _)| at.checked_sub(1)) {
            // The order of the rest stays.
            let chosen = symbol.others.remove(other);
            let before = std::mem::replace(&mut symbol.name, chosen);
            symbol.others.insert(0, before);
        }
    }
    Ok(())
}

/// What debug information has of names that are equal for the symbol table.
#[derive(Default)]
struct Found {
    /// The names of functions whose code was removed.
    folded: FxHashSet<String>,
    /// The names that calls have.
    called: FxHashSet<String>,
}

impl Found {
    fn of(symbols: &Symbols, dwarf: &Dwarf<Reader<'_>>) -> Result<Self> {
        let several = symbols.0.iter().filter(|symbol| symbol.rivals > 0);
        let names: FxHashSet<&[u8]> = several
            .flat_map(|symbol| std::iter::once(&symbol.name).chain(&symbol.others))
            .map(|name| name.as_bytes())
            .collect();
        let mut found = Self::default();
        let mut units = dwarf.units();
        let damaged = "damaged section .debug_info";
        while let Some(header) = units.next().context(damaged)? {
            let unit = dwarf.unit(header).context(damaged)?;
            let unit = unit.unit_ref(dwarf);
            let mut entries = unit.entries();
            while let Some(entry) = entries.next_dfs().context(damaged)? {
                let tag = entry.tag();
                let (name, named) = if tag == DW_TAG_subprogram {
                    let is_folded = is_removed(unit, entry).context(damaged)?;
                    let name = is_folded.then(|| name(unit, entry, REFERENCES));
                    (name.flatten(), &mut found.folded)
                } else if tag == DW_TAG_call_site {
                    (called(unit, entry, DW_AT_call_origin), &mut found.called)
                } else if tag == DW_TAG_GNU_call_site {
                    let name = called(unit, entry, DW_AT_abstract_origin);
                    (name, &mut found.called)
                } else {
                    continue;
                };
                let name = name.filter(|name| names.contains(name.slice()));
                named.extend(name.map(text));
            }
        }
        Ok(found)
    }
}

/// Whether a function has code, and none in the image.
fn is_removed<'a>(
    unit: UnitRef<'_, Reader<'a>>,
    entry: &DebuggingInformationEntry<Reader<'a>>,
) -> gimli::Result<bool> {
    let mut ranges = unit.die_ranges(entry)?;
    Ok(ranges.next()?.is_some_and(|range| range.begin <= REMOVED))
}

/// The name of what an entry refers to by this attribute.
fn called<'a>(
    unit: UnitRef<'_, Reader<'a>>,
    entry: &DebuggingInformationEntry<Reader<'a>>,
    attribute: DwAt,
) -> Option<Reader<'a>> {
    referred(unit, entry.attr_value(attribute)?, REFERENCES)
}

fn text(name: Reader<'_>) -> String {
    String::from_utf8_lossy(name.slice()).into_owned()
}

/// The name of an entry for the linker, its own or that of the entry that it refers to.
fn name<'a>(
    unit: UnitRef<'_, Reader<'a>>,
    entry: &DebuggingInformationEntry<Reader<'a>>,
    references: usize,
) -> Option<Reader<'a>> {
    let own = |attribute| unit.attr_string(entry.attr_value(attribute)?).ok();
    let other = |attribute| referred(unit, entry.attr_value(attribute)?, references);
    own(DW_AT_linkage_name)
        .or_else(|| own(DW_AT_MIPS_linkage_name))
        .or_else(|| other(DW_AT_specification))
        .or_else(|| other(DW_AT_abstract_origin))
        .or_else(|| own(DW_AT_name))
}

/// The name of an entry of the same unit.
fn referred<'a>(
    unit: UnitRef<'_, Reader<'a>>,
    reference: AttributeValue<Reader<'a>>,
    references: usize,
) -> Option<Reader<'a>> {
    let AttributeValue::UnitRef(offset) = reference else {
        return None;
    };
    let entry = unit.entry(offset).ok()?;
    name(unit, &entry, references.checked_sub(1)?)
}
