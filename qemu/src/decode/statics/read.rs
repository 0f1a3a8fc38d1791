//! Reads statics and their types from DWARF.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use addr2line::gimli::{
    self, AttributeValue, DebuggingInformationEntry, EndianSlice, LittleEndian, Operation,
    SectionId, UnitOffset,
};
use anyhow::{Context, Result};
use linker::compressed::uncompressed;
use linker::symbols::printable;
use object::Object;

use super::{DEPTH, Parts, Static, Type};

type Slice<'d> = EndianSlice<'d, LittleEndian>;
type Dwarf<'d> = gimli::Dwarf<Slice<'d>>;
type Unit<'d> = gimli::Unit<Slice<'d>>;
type Entry<'d> = DebuggingInformationEntry<Slice<'d>>;

/// All statics of the ELF image at `path`, sorted by address.
///
/// # Errors
/// When the image or its debug information cannot be read.
pub fn statics(path: &Path) -> Result<Vec<Static>> {
    let shown = path.display();
    let data = std::fs::read(path).with_context(|| format!("cannot read image {shown}"))?;
    let file = object::File::parse(&*data).with_context(|| format!("image {shown}"))?;
    let section = |id: SectionId| -> Result<Cow<'_, [u8]>> {
        match file.section_by_name(id.name()) {
            Some(section) => uncompressed(&section),
            None => Ok(Cow::default()),
        }
    };
    let sections = gimli::DwarfSections::load(section);
    let sections = sections.with_context(|| format!("image {shown}"))?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let mut all = Vec::new();
    read(&dwarf, &mut all)
        .with_context(|| format!("the debug information of image {shown} is damaged"))?;
    all.sort_by_key(|one| one.address);
    Ok(all)
}

fn read(dwarf: &Dwarf<'_>, all: &mut Vec<Static>) -> gimli::Result<()> {
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let mut types = Types {
            dwarf,
            unit: &unit,
            known: HashMap::new(),
        };
        // The names of what the entry is in, each with its depth.
        let mut path: Vec<(isize, String)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            path.retain(|(outer, _)| *outer < depth);
            match entry.tag() {
                gimli::DW_TAG_namespace | gimli::DW_TAG_subprogram => {
                    if let Some(name) = types.name(entry)? {
                        path.push((depth, name));
                    }
                }
                gimli::DW_TAG_variable => {
                    let (Some(address), Some(name)) = (address(&unit, entry)?, types.name(entry)?)
                    else {
                        continue;
                    };
                    let layout = types.of(entry, 0)?;
                    let outer = path.iter().map(|(_, name)| name.as_str());
                    let name = outer.chain([name.as_str()]).collect::<Vec<_>>().join("::");
                    // What the linker has left out is at address 0.
                    if let Some(layout) = layout.filter(|layout| layout.size > 0 && address > 0) {
                        all.push(Static {
                            name,
                            address,
                            layout,
                        });
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Where a variable lies, if that is one address.
fn address(unit: &Unit<'_>, entry: &Entry<'_>) -> gimli::Result<Option<u64>> {
    let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_location) else {
        return Ok(None);
    };
    let mut operations = expression.operations(unit.encoding());
    match (operations.next()?, operations.next()?) {
        (Some(Operation::Address { address }), None) => Ok(Some(address)),
        _ => Ok(None),
    }
}

/// The types of a unit.
struct Types<'u, 'd> {
    dwarf: &'u Dwarf<'d>,
    unit: &'u Unit<'d>,
    known: HashMap<UnitOffset, Rc<Type>>,
}

impl<'d> Types<'_, 'd> {
    fn name(&self, entry: &Entry<'d>) -> gimli::Result<Option<String>> {
        let Some(name) = entry.attr_value(gimli::DW_AT_name) else {
            return Ok(None);
        };
        let name = self.dwarf.attr_string(self.unit, name)?;
        Ok(Some(printable(&name.to_string_lossy()).into_owned()))
    }

    fn number(entry: &Entry<'d>, name: gimli::DwAt) -> Option<u64> {
        entry.attr_value(name)?.udata_value()
    }

    /// The type that an entry has.
    fn of(&mut self, entry: &Entry<'d>, depth: usize) -> gimli::Result<Option<Rc<Type>>> {
        let Some(AttributeValue::UnitRef(at)) = entry.attr_value(gimli::DW_AT_type) else {
            return Ok(None);
        };
        if let Some(known) = self.known.get(&at) {
            return Ok(Some(known.clone()));
        }
        if depth > DEPTH {
            return Ok(None);
        }
        let entry = self.unit.entry(at)?;
        let name = self.name(&entry)?;
        let size = Self::number(&entry, gimli::DW_AT_byte_size);
        let pointer = u64::from(self.unit.encoding().address_size);
        let found = match entry.tag() {
            gimli::DW_TAG_structure_type => Type {
                name: name.unwrap_or_default(),
                size: size.unwrap_or(0),
                parts: self.members(at, depth)?,
            },
            gimli::DW_TAG_array_type => self.array(at, &entry, depth)?,
            gimli::DW_TAG_pointer_type => Type {
                name: name.unwrap_or_else(|| "pointer".to_owned()),
                size: size.unwrap_or(pointer),
                parts: Parts::None,
            },
            _ => Type {
                name: name.unwrap_or_default(),
                size: size.unwrap_or(0),
                parts: Parts::None,
            },
        };
        let found = Rc::new(found);
        self.known.insert(at, found.clone());
        Ok(Some(found))
    }

    fn members(&mut self, at: UnitOffset, depth: usize) -> gimli::Result<Parts> {
        let mut members = Vec::new();
        for child in self.children(at, gimli::DW_TAG_member)? {
            let offset = Self::number(&child, gimli::DW_AT_data_member_location);
            // A tuple's are `__0`, `__1`.
            let name = self.name(&child)?;
            let name = name.map(|name| name.strip_prefix("__").map(str::to_owned).unwrap_or(name));
            if let (Some(offset), Some(name), Some(part)) =
                (offset, name, self.of(&child, depth + 1)?)
            {
                members.push((offset, name, part));
            }
        }
        Ok(match members[..] {
            [] => Parts::None,
            _ => Parts::Members(members),
        })
    }

    fn array(&mut self, at: UnitOffset, entry: &Entry<'d>, depth: usize) -> gimli::Result<Type> {
        let ranges = self.children(at, gimli::DW_TAG_subrange_type)?;
        let count = ranges
            .first()
            .and_then(|range| Self::number(range, gimli::DW_AT_count));
        let (count, element) = (count.unwrap_or(0), self.of(entry, depth + 1)?);
        Ok(match element {
            Some(element) => Type {
                name: format!("[{}; {count}]", element.name),
                size: element.size.saturating_mul(count),
                parts: Parts::Elements(element),
            },
            None => Type {
                name: String::new(),
                size: 0,
                parts: Parts::None,
            },
        })
    }

    /// What an entry has of this kind in it.
    fn children(&self, at: UnitOffset, tag: gimli::DwTag) -> gimli::Result<Vec<Entry<'d>>> {
        let mut tree = self.unit.entries_tree(Some(at))?;
        let mut children = tree.root()?.children();
        let mut found = Vec::new();
        while let Some(child) = children.next()? {
            if child.entry().tag() == tag {
                found.push(child.entry().clone());
            }
        }
        Ok(found)
    }
}
