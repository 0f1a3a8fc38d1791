//! The object file that makes room for the tables: sections of the right size, filled with zeros.

use anyhow::{Context, Result};
use object::write::Object;
use object::{BinaryFormat, Endianness, SectionFlags, SectionKind, elf};

use crate::architecture::Architecture;
use crate::{sframe, symbols};

/// Alignment of both tables, in bytes: what SFrame's readers count on.
const ALIGNMENT: u64 = 8;

/// Sizes of the tables in bytes; `None` for one that is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) sframe: Option<usize>,
    pub(super) symbols: Option<usize>,
}

impl Room {
    /// The object file's bytes. The tables' content comes later, as it depends on where the sections come to lie and
    /// on the build id that the linker computes.
    pub(super) fn object(self, architecture: &Architecture) -> Result<Vec<u8>> {
        let endianness = if architecture.is_big_endian() {
            Endianness::Big
        } else {
            Endianness::Little
        };
        let mut file = Object::new(BinaryFormat::Elf, architecture.machine, endianness);
        let sections = [
            (sframe::INPUT_SECTION, self.sframe),
            (symbols::INPUT_SECTION, self.symbols),
        ];
        for (name, size) in sections {
            let Some(size) = size else { continue };
            let id = file.add_section(Vec::new(), name.into(), SectionKind::ReadOnlyData);
            let section = file.section_mut(id);
            section.set_data(vec![0; size], ALIGNMENT);
            // Not `SHT_GNU_SFRAME`: GNU ld reads sections of that type, and these are zeros yet.
            section.flags = SectionFlags::Elf {
                sh_type: elf::SHT_PROGBITS,
                sh_flags: elf::SHF_ALLOC,
            };
        }
        // Without it GNU ld believes that this file wants an executable stack.
        let note = file.add_section(Vec::new(), b".note.GNU-stack".into(), SectionKind::Note);
        file.section_mut(note).flags = SectionFlags::Elf {
            sh_type: elf::SHT_PROGBITS,
            sh_flags: elf::SectionFlags::default(),
        };
        file.write()
            .context("cannot make an object file for the tables")
    }
}
