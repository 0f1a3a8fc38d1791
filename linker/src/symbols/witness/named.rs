//! Names of functions in debug information, and of files.

use gimli::{
    Attribute, AttributeValue, DW_AT_abstract_origin, DW_AT_linkage_name, DW_AT_name,
    DW_AT_specification, DW_LANG_Rust, DebugInfoOffset, Dwarf, UnitOffset, UnitRef,
};

use crate::symbols::Names;
use crate::symbols::lines::name;
use crate::symbols::reader::Reader;

/// An inlined copy leads to its function, which may lead to a declaration.
const MOST_STEPS: usize = 8;

/// The units of debug information, ascending by their offsets.
pub(super) type Units<'a> = [gimli::Unit<Reader<'a>>];

/// The name of the function of an entry, as a table has it; `None` if it has none. `units` are all units of the entry's debug information.
pub(super) fn function<'u, 'a>(
    unit: UnitRef<'u, Reader<'a>>,
    entry: UnitOffset,
    units: &'u Units<'a>,
    names: Names,
) -> gimli::Result<Option<String>> {
    let (mut unit, mut entry) = (unit, entry);
    for _ in 0..MOST_STEPS {
        let found = unit.entry(entry)?;
        for attribute in [DW_AT_linkage_name, DW_AT_name] {
            if let Some(value) = found.attr_value(attribute) {
                let raw = unit.attr_string(value)?.to_string_lossy();
                return Ok(Some(name(&raw, is_rust(unit)?, names)));
            }
        }
        let origin = |attribute| found.attr(attribute).map(Attribute::value);
        match origin(DW_AT_abstract_origin).or_else(|| origin(DW_AT_specification)) {
            Some(AttributeValue::UnitRef(offset)) => entry = offset,
            Some(AttributeValue::DebugInfoRef(offset)) => match of_other(unit.dwarf, units, offset)
            {
                Some(place) => (unit, entry) = place,
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
    }
    Ok(None)
}

fn of_other<'a, 'u>(
    dwarf: &'u Dwarf<Reader<'a>>,
    units: &'u Units<'a>,
    offset: DebugInfoOffset,
) -> Option<(UnitRef<'u, Reader<'a>>, UnitOffset)> {
    units.iter().find_map(|unit| {
        let entry = offset.to_unit_offset(&unit.header)?;
        Some((UnitRef::new(dwarf, unit), entry))
    })
}

fn is_rust(unit: UnitRef<'_, Reader<'_>>) -> gimli::Result<bool> {
    Ok(super::language(unit)? == Some(DW_LANG_Rust))
}

/// The last part of the path of a unit's file with this number; `None` if there is no such file.
pub(super) fn file(unit: UnitRef<'_, Reader<'_>>, number: u64) -> gimli::Result<Option<String>> {
    let program = unit.line_program.as_ref();
    let Some(file) = program.and_then(|program| program.header().file(number)) else {
        return Ok(None);
    };
    let path = unit.attr_string(file.path_name())?.to_string_lossy();
    Ok(Some(last_part(&path).to_owned()))
}

/// The last part of a path.
pub(super) fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
