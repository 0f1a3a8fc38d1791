//! Which of several names of a function is taken, where the symbol table prefers none of them: the one that calls have in debug
//! information.

use anyhow::{Context, Result};
use gimli::{
    AttributeValue, DW_AT_MIPS_linkage_name, DW_AT_abstract_origin, DW_AT_call_origin,
    DW_AT_linkage_name, DW_AT_name, DW_AT_specification, DW_TAG_GNU_call_site, DW_TAG_call_site,
    DW_TAG_subprogram, DebuggingInformationEntry, DwAt, Dwarf, UnitRef,
};
use rustc_hash::FxHashSet;

use super::reader::Reader;
use super::removed::REMOVED;
use super::sections::Sections;
use super::{Symbol, Symbols};

/// Entries that each refer to the next one for their name. Compilers make two.
pub(super) const REFERENCES: usize = 8;

/// The functions of a file, each by the name that debug information prefers.
///
/// # Errors
/// Returns an error if debug information is damaged.
pub fn named(file: &object::File<'_>, mut symbols: Symbols) -> Result<Symbols> {
    if !has_several(&symbols) {
        return Ok(symbols);
    }
    match Sections::of(file, None)? {
        Some(sections) => choose(&mut symbols, &sections.open())?,
        None => {
            for symbol in &mut symbols.0 {
                symbol.or = symbol.others[..symbol.equal()].to_vec();
            }
        }
    }
    Ok(symbols)
}

fn has_several(symbols: &Symbols) -> bool {
    let mut symbols = symbols.0.iter();
    symbols.any(|symbol| symbol.rivals > 0 || symbol.functions > 0)
}

/// Prefers the name of a function that is not folded into another: debug information has it at the address. Then a name that calls have. Keeps
/// the names of the functions that the code may be of, too.
///
/// # Errors
/// Returns an error if debug information is damaged.
pub(super) fn choose(symbols: &mut Symbols, dwarf: &Dwarf<Reader<'_>>) -> Result<()> {
    if !has_several(symbols) {
        return Ok(());
    }
    let found = Found::of(symbols, dwarf)?;
    for symbol in &mut symbols.0 {
        let names = std::iter::once(&symbol.name).chain(&symbol.others);
        let rivals = names.clone().take(1 + symbol.rivals);
        let functions = names.take(1 + symbol.functions);
        let is_folded = |name: &str| found.folded.contains(name);
        let rank = |name: &str| (is_folded(name), !found.called.contains(name));
        // The first of several, as the symbol table orders them.
        let best = rivals.clone().enumerate();
        let best = best.min_by_key(|(at, name)| (rank(name), *at));
        // Of another binding only where all of this one are folded.
        let best = best.filter(|(_, name)| !is_folded(name));
        let other = || {
            functions
                .clone()
                .enumerate()
                .find(|(_, name)| !is_folded(name))
        };
        let at = best.or_else(other).map_or(0, |(at, _)| at);
        let Some(chosen) = functions.clone().nth(at).map(|name| rank(name)) else {
            continue;
        };
        symbol.is_folded = functions.clone().any(|name| is_folded(name));
        // Debug information contains the function with only one of its names, so that it does not show which name a caller used.
        let is_equal = |at: usize, name: &str| at <= symbol.equal() && rank(name) == chosen;
        let or = functions
            .enumerate()
            .filter(|(other, name)| *other != at && (is_folded(name) || is_equal(*other, name)));
        symbol.or = or.map(|(_, name)| name.clone()).collect();
        if let Some(other) = at.checked_sub(1) {
            // The order of the rest stays.
            let chosen = symbol.others.remove(other);
            let before = std::mem::replace(&mut symbol.name, chosen);
            symbol.others.insert(0, before);
        }
    }
    Ok(())
}

impl Symbol {
    /// How many of `others`, the first ones, are functions that the symbol table does not prefer less.
    fn equal(&self) -> usize {
        self.rivals.min(self.functions)
    }
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
        let several = symbols.0.iter();
        let several = several.filter(|symbol| symbol.rivals > 0 || symbol.functions > 0);
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
                    if !is_removed(unit, entry).context(damaged)? {
                        continue;
                    }
                    (name(unit, entry, REFERENCES), &mut found.folded)
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

/// Whether a function has code that is not in the image.
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
pub(super) fn name<'a>(
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
