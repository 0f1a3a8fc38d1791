//! The object file that reserves space for the tables: sections of the right size, filled with zeros.
//!
//! The size is known only after a link, so the first link of an image runs the linker twice. The alternatives are worse. Tables at the end
//! of the image would follow `.bss`, where kernels write that use `_end`. Tables inserted into a linked image need `--emit-relocs`, which
//! costs the linker more time, and a linker of our own. A size computed from the inputs wastes memory, because their `.eh_frame` is 2.5 to
//! 3.5 times as large as the image's.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use object::write::{Object, Symbol, SymbolSection};
use object::{
    BinaryFormat, Endianness, SectionFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf,
};

use super::options::Options;
use super::place;
use crate::architecture::Architecture;
use crate::image::{Image, Mapped};
use crate::{map, sframe, symbols};

/// Alignment of both tables, in bytes, which SFrame's readers expect.
const ALIGNMENT: u64 = 8;

/// The input section of constants: scripts of kernels put it between the symbols, or into the segment, by which they map what is only read.
const RODATA: &str = ".rodata";

/// The space for tables up to this size, in bytes, is not rounded up.
const SMALL: usize = 4096;

/// The space for a table of a size, rounded up by at most one part in 64, so that it often stays the same after a change.
pub(super) fn room(size: usize) -> usize {
    match size {
        0..=SMALL => size,
        _ => size.next_multiple_of(1 << (size / 64).ilog2()),
    }
}

/// The second name of the last build's image. cargo removes the output file before it builds, but leaves a hard link,
/// `target/…/kernel` for `target/…/deps/kernel-0123456789abcdef`.
pub(super) fn second_name(output: &Path) -> Option<PathBuf> {
    let folder = output.parent()?;
    let (name, hash) = output.file_name()?.to_str()?.rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && folder.ends_with("deps")).then(|| folder.with_file_name(name))
}

/// Sizes of the tables in bytes; `None` for one that is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// That of `.sframe`, or of the rule map that is loaded instead.
    pub(super) sframe: Option<usize>,
    pub(super) symbols: Option<usize>,
}

impl Room {
    /// The space in a linked file, and its architecture.
    pub(super) fn of_file(path: &Path) -> Option<(Self, &'static Architecture)> {
        let data = Mapped::open(path).ok()?;
        let image = Image::parse(&data).ok()?;
        // An image without a table has an empty section.
        let size = |name| {
            let size = image.section(name).ok()??.data.len();
            (size > 0).then_some(size)
        };
        let room = Self {
            sframe: size(map::SECTION).or_else(|| size(sframe::SECTION)),
            symbols: size(symbols::SECTION),
        };
        Some((room, image.architecture))
    }

    /// The room that the options ask for, if they do for each table.
    pub(super) fn asked_for(options: &Options) -> Option<Self> {
        let room = Self {
            sframe: (options.sframe.is_some()).then_some(options.sframe_room),
            symbols: (options.symbols.is_some()).then_some(options.symbols_room),
        };
        let is_asked = room.sframe != Some(0) && room.symbols != Some(0);
        is_asked.then_some(room)
    }

    /// As much of each as in both.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            sframe: self.sframe.max(other.sframe),
            symbols: self.symbols.max(other.symbols),
        }
    }

    /// Whether there is space for exactly the tables that the options ask for.
    pub(super) fn is_for(self, options: &Options) -> bool {
        self.sframe.is_some() == options.sframe.is_some()
            && self.symbols.is_some() == options.symbols.is_some()
    }

    /// A little of each, for a first link that shows where they would be.
    pub(super) fn little(options: &Options) -> Self {
        Self {
            sframe: options.sframe.map(|_| ALIGNMENT as usize),
            symbols: options.symbols.map(|_| ALIGNMENT as usize),
        }
    }

    /// The object file's bytes. The tables are written later, because they depend on the sections' addresses and on the build id
    /// that the linker computes. With `is_within`, the tables are constants as those of the kernel, with the symbols around them that
    /// [`super::SCRIPT`] defines otherwise.
    pub(super) fn object(self, architecture: &Architecture, is_within: bool) -> Result<Vec<u8>> {
        let endianness = if architecture.is_big_endian() {
            Endianness::Big
        } else {
            Endianness::Little
        };
        let mut file = Object::new(BinaryFormat::Elf, architecture.machine, endianness);
        let tables = [
            (sframe::INPUT_SECTION, self.sframe, place::SFRAME),
            (symbols::INPUT_SECTION, self.symbols, place::SYMBOLS),
        ];
        for (own, size, table) in tables {
            let (name, size) = match (is_within, size) {
                (true, size) => (RODATA, size.unwrap_or_default()),
                (false, Some(size)) => (own, size),
                (false, None) => continue,
            };
            let id = file.add_section(Vec::new(), name.into(), SectionKind::ReadOnlyData);
            let section = file.section_mut(id);
            section.set_data(vec![0; size], ALIGNMENT);
            // Not `SHT_GNU_SFRAME`: GNU ld parses sections of that type, and these are still zeros.
            section.flags = SectionFlags::Elf {
                sh_type: elf::SHT_PROGBITS,
                sh_flags: elf::SHF_ALLOC,
            };
            if is_within {
                for (name, value) in [(table.start, 0), (table.end, size as u64)] {
                    file.add_symbol(Symbol {
                        name: name.into(),
                        value,
                        size: 0,
                        kind: SymbolKind::Label,
                        scope: SymbolScope::Dynamic,
                        weak: false,
                        section: SymbolSection::Section(id),
                        flags: SymbolFlags::None,
                    });
                }
            }
        }
        // Without it GNU ld makes the stack executable.
        let note = file.add_section(Vec::new(), b".note.GNU-stack".into(), SectionKind::Note);
        file.section_mut(note).flags = SectionFlags::Elf {
            sh_type: elf::SHT_PROGBITS,
            sh_flags: elf::SectionFlags::default(),
        };
        file.write()
            .context("cannot create an object file for the unwind tables")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_name_is_cargos() {
        let name = |path: &str| second_name(Path::new(path));
        let hashed = "/x/debug/deps/my-kernel-8bcf190e4078a4ad";
        assert_eq!(name(hashed), Some("/x/debug/my-kernel".into()));
        assert_eq!(name("/x/debug/my-kernel-8bcf190e4078a4ad"), None);
        assert_eq!(name("/x/debug/deps/my-kernel"), None);
        assert_eq!(name("kernel"), None);
    }

    #[test]
    fn room_is_little_more_than_the_size() {
        assert_eq!(room(0), 0);
        assert_eq!(room(4095), 4095);
        assert_eq!(room(4097), 4160);
        assert_eq!(room(277_816), 278_528);
        for size in (1..2_000_000).step_by(997) {
            let room = room(size);
            assert!(room >= size && room - size <= size / 64, "{size}: {room}");
            assert_eq!(super::room(room), room);
        }
    }
}
