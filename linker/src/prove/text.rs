//! The bytes of an image that a proof reads: code and read-only data.

use std::ops::Range;

use object::SegmentFlags;
use object::{Object, ObjectSection, ObjectSegment, SectionFlags, elf};

use super::multiboot;
use crate::mapping::Mapping;

/// Where an image's code and constants lie.
#[derive(Debug, Default)]
pub struct Text<'data> {
    /// Executable sections, without the data that is known to be in them: address and bytes, ascending.
    code: Vec<(u64, &'data [u8])>,
    /// Address ranges of that data, where symbols tell it (32-bit ARM).
    data: Vec<Range<u64>>,
    /// Read-only sections: address and bytes.
    constants: Vec<(u64, &'data [u8])>,
    big_endian: bool,
}

impl<'data> Text<'data> {
    /// The code and constants of an image.
    #[must_use]
    pub fn of(file: &object::File<'data>) -> Self {
        // Linker scripts put writable sections into read-only segments, and read-only sections into writable segments. Data is
        // constant if either the section or the segment is read-only.
        let writable: Vec<_> = file
            .segments()
            .filter(|segment| matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.contains(elf::PF_W)))
            .map(|segment| segment.address()..segment.address().saturating_add(segment.size()))
            .collect();
        let has_segments = file.segments().next().is_some();
        let mut text = Self {
            big_endian: !file.is_little_endian(),
            ..Self::default()
        };
        let is_arm = file.architecture() == object::Architecture::Arm;
        let mapping = is_arm.then(|| Mapping::of(file));
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                continue;
            };
            let Ok(data) = section.data() else { continue };
            let at = section.address();
            if data.is_empty() || !sh_flags.contains(elf::SHF_ALLOC) {
                continue;
            }
            if sh_flags.contains(elf::SHF_EXECINSTR) {
                let in_file = section.file_range().map_or(u64::MAX, |(offset, _)| offset);
                let parts = multiboot::code_around(data, in_file).into_iter();
                let known = mapping.as_ref();
                for part in parts {
                    let start = at.wrapping_add(part.start as u64);
                    // A section that reaches beyond the last address is damaged, and no ARM code.
                    let end = start.checked_add(part.len() as u64);
                    let holes = known.zip(end);
                    let holes = holes.map_or_else(Vec::new, |(it, end)| it.data(start..end));
                    let mut from = part.start;
                    let ends = holes.iter().map(|hole| {
                        let offset = |address: u64| (address - at) as usize;
                        offset(hole.start)..offset(hole.end)
                    });
                    for hole in ends.chain(std::iter::once(part.end..part.end)) {
                        let code = &data[from..hole.start];
                        if !code.is_empty() {
                            text.code.push((at.wrapping_add(from as u64), code));
                        }
                        from = hole.end;
                    }
                    text.data.extend(holes);
                }
            }
            let is_written = sh_flags.contains(elf::SHF_WRITE)
                && (!has_segments || writable.iter().any(|range| range.contains(&at)));
            if !is_written {
                text.constants.push((at, data));
            }
        }
        text.code.sort_by_key(|(at, _)| *at);
        text.data.sort_by_key(|range| range.start);
        text
    }

    /// The code from an address to the end of its section, or to data in it.
    #[must_use]
    pub fn code_at(&self, address: u64) -> Option<&'data [u8]> {
        let after = self.code.partition_point(|(start, _)| *start <= address);
        let (start, data) = self.code.get(after.checked_sub(1)?)?;
        data.get(usize::try_from(address - start).ok()?..)
            .filter(|rest| !rest.is_empty())
    }

    /// Bytes of data from an address on, if that is data among code.
    #[must_use]
    pub(super) fn data_at(&self, address: u64) -> Option<u64> {
        let after = self.data.partition_point(|range| range.start <= address);
        let range = self.data.get(after.checked_sub(1)?)?;
        (address < range.end).then(|| range.end - address)
    }

    /// Executable sections, without the data that is known to be in them: address and bytes, ascending.
    #[must_use]
    pub fn code(&self) -> &[(u64, &'data [u8])] {
        &self.code
    }

    /// A constant of `size` bytes, at most 8.
    #[must_use]
    pub fn read(&self, address: u64, size: u8) -> Option<u64> {
        let bytes = self.constants.iter().find_map(|(start, data)| {
            let from = usize::try_from(address.checked_sub(*start)?).ok()?;
            data.get(from..from.checked_add(size.into())?)
        })?;
        let number = |bytes: &mut dyn Iterator<Item = &u8>| {
            bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        Some(match self.big_endian {
            true => number(&mut bytes.iter()),
            false => number(&mut bytes.iter().rev()),
        })
    }
}
