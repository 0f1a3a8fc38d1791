//! The bytes of an image that a proof reads: code and read-only data.

use object::SegmentFlags;
use object::{Object, ObjectSection, ObjectSegment, SectionFlags, elf};

use super::multiboot;

/// Where an image's code and constants lie.
#[derive(Debug, Default)]
pub struct Text<'data> {
    /// Executable sections, without the data that is known to be in them: address and bytes, ascending.
    code: Vec<(u64, &'data [u8])>,
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
                text.code
                    .extend(parts.map(|part| (at + part.start as u64, &data[part])));
            }
            let is_written = sh_flags.contains(elf::SHF_WRITE)
                && (!has_segments || writable.iter().any(|range| range.contains(&at)));
            if !is_written {
                text.constants.push((at, data));
            }
        }
        text.code.sort_by_key(|(at, _)| *at);
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
