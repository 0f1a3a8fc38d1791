//! Where an image has code of A32, code of T32, and data among them: by its mapping symbols. Source: "ELF for the Arm Architecture", section
//! "Mapping symbols".

use std::ops::Range;

use object::{Object, ObjectSection, ObjectSymbol};

use crate::image::is_code;

/// What lies from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Instructions of A32.
    A32,
    /// Instructions of T32.
    T32,
    /// Data.
    Data,
}

/// The letter of a mapping symbol: its name ends in `$` and the letter, or has a dot and anything behind that.
pub(crate) fn kind_of(name: &str) -> Option<&str> {
    let (_, end) = name.rsplit_once('$')?;
    let (letter, _) = end.split_once('.').unwrap_or((end, ""));
    ["a", "d", "t", "x"].contains(&letter).then_some(letter)
}

/// What lies where: ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mapping(Vec<(u64, Kind)>);

impl Mapping {
    /// That of a file. Without mapping symbols, which a stripped one has not, nothing is known to be code.
    pub(crate) fn of(file: &object::File<'_>) -> Self {
        let code: Vec<_> = (file.sections())
            .filter(|section| is_code(section.flags()))
            .map(|section| (section.index(), section.address()))
            .collect();
        let mut all: Vec<_> = file
            .symbols()
            .filter(|symbol| {
                code.iter()
                    .any(|(index, _)| symbol.section_index() == Some(*index))
            })
            .filter(|symbol| symbol.is_local())
            .filter_map(|symbol| {
                let kind = match kind_of(symbol.name().ok()?)? {
                    "a" => Kind::A32,
                    "t" => Kind::T32,
                    "d" => Kind::Data,
                    _ => return None,
                };
                Some((symbol.address(), kind))
            })
            // What lies before a section's first symbol is not known, and not what the section before it ends with.
            .chain(code.iter().map(|(_, start)| (*start, Kind::Data)))
            .collect();
        // Of several at one address the last one is meant that a section's own start is not: data comes first then.
        all.sort_by_key(|(at, kind)| (*at, *kind != Kind::Data, *kind));
        let mut mapping: Vec<(u64, Kind)> = Vec::with_capacity(all.len());
        for (at, kind) in all {
            match mapping.last_mut() {
                Some(last) if last.0 == at => last.1 = kind,
                Some(last) if last.1 == kind => {}
                _ => mapping.push((at, kind)),
            }
        }
        Self(mapping)
    }

    /// Each address from which on something else lies, and what.
    pub(crate) fn changes(&self) -> &[(u64, Kind)] {
        &self.0
    }

    /// What lies at an address.
    pub(crate) fn at(&self, address: u64) -> Kind {
        let after = self.0.partition_point(|(start, _)| *start <= address);
        let before = after.checked_sub(1);
        before.map_or(Kind::Data, |index| self.0[index].1)
    }

    /// The address ranges with data, from an address on up to another one.
    pub(crate) fn data(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let ends = self.0.iter().skip(1).map(|(at, _)| *at).chain([u64::MAX]);
        let pieces = self.0.iter().zip(ends);
        pieces
            .filter(|((_, kind), _)| *kind == Kind::Data)
            .map(|((start, _), end)| (*start).max(range.start)..end.min(range.end))
            .filter(|piece| piece.start < piece.end)
            .collect()
    }
}
