//! Functions in debug information whose code a linker has removed: linkers leave them at address 0, where an image may have code.

use anyhow::{Context, Result};
use gimli::{
    AttributeValue, DW_AT_high_pc, DW_AT_low_pc, DW_TAG_subprogram, Dwarf, UnitOffset, UnitRef,
};

use super::named::{REFERENCES, name};
use super::reader::Reader;
use super::removed::{Live, REMOVED};

/// Where the first addresses of removed functions are.
#[derive(Default)]
pub(super) struct Operands {
    /// Offsets in `.debug_info`.
    pub(super) info: Vec<usize>,
    /// Offsets in `.debug_addr`.
    pub(super) addresses: Vec<usize>,
}

/// A function at an address that removed functions have.
struct Function {
    /// The offset of its first address, and whether that is in `.debug_addr`.
    at: (usize, bool),
    end: u64,
    /// Whether a function of the image there has its name.
    is_named: bool,
}

/// Finds the first addresses of all removed functions.
///
/// # Errors
/// Returns an error if debug information is damaged.
pub(super) fn operands(dwarf: &Dwarf<Reader<'_>>, live: &Live) -> Result<Operands> {
    let mut functions = Vec::new();
    let mut units = dwarf.units();
    let damaged = "damaged section .debug_info";
    while let Some(header) = units.next().context(damaged)? {
        let unit = dwarf.unit(header).context(damaged)?;
        of_unit(unit.unit_ref(dwarf), live, &mut functions).context(damaged)?;
    }
    // At most one is in the image: it has the size of the image's function.
    let has_size = |one: &&Function| live.at_0.iter().any(|(_, end)| *end == one.end);
    let sized: Vec<_> = functions.iter().filter(has_size).collect();
    let kept = match &sized[..] {
        [only] => Some(only.at),
        several => several.iter().find(|one| one.is_named).map(|one| one.at),
    };
    let mut operands = Operands::default();
    for Function { at, .. } in functions {
        match at {
            at if Some(at) == kept => {}
            (offset, true) => operands.addresses.push(offset),
            (offset, false) => operands.info.push(offset),
        }
    }
    Ok(operands)
}

fn of_unit(
    unit: UnitRef<'_, Reader<'_>>,
    live: &Live,
    functions: &mut Vec<Function>,
) -> gimli::Result<()> {
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        let entry = entries.next_offset();
        let Some(abbreviation) = entries.read_abbreviation()? else {
            continue;
        };
        let (mut first, mut size) = (None, 0);
        for specification in abbreviation.attributes() {
            let at = entries.next_offset();
            let attribute = entries.read_attribute(*specification)?;
            if attribute.name() == DW_AT_low_pc {
                first = Some((at, attribute.value()));
            } else if attribute.name() == DW_AT_high_pc {
                size = attribute.udata_value().unwrap_or(0);
            }
        }
        let first = first.filter(|_| abbreviation.tag() == DW_TAG_subprogram);
        let Some((at, start)) = first.and_then(|(at, value)| place(unit, at, value)) else {
            continue;
        };
        if start <= REMOVED {
            functions.push(Function {
                at,
                end: start.saturating_add(size),
                is_named: is_named(unit, entry, live)?,
            });
        }
    }
    Ok(())
}

/// Where the value of an attribute at an offset in its unit is, as [`Function::at`] has it, and the address that it is.
fn place(
    unit: UnitRef<'_, Reader<'_>>,
    at: UnitOffset,
    value: AttributeValue<Reader<'_>>,
) -> Option<((usize, bool), u64)> {
    match value {
        AttributeValue::Addr(address) => {
            let offset = at.to_debug_info_offset(&unit.header)?;
            Some(((offset.0, false), address))
        }
        AttributeValue::DebugAddrIndex(index) => {
            let word = usize::from(unit.encoding().address_size);
            let offset = unit.addr_base.0 + index.0 * word;
            Some(((offset, true), unit.address(index).ok()?))
        }
        _ => None,
    }
}

fn is_named(unit: UnitRef<'_, Reader<'_>>, entry: UnitOffset, live: &Live) -> gimli::Result<bool> {
    let entry = unit.entry(entry)?;
    let name = name(unit, &entry, REFERENCES);
    let mut at_0 = live.at_0.iter();
    Ok(name.is_some_and(|name| at_0.any(|(own, _)| own.as_bytes() == name.slice())))
}
