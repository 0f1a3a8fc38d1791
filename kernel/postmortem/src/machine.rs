//! The line about the machine: architecture, build, and the verified state of the tables.

use core::{fmt, iter};

use unwind::report::write_bytes;

use crate::arch::NAME;
use crate::image::Image;
use crate::module::Loaded;
use crate::modules::Reading;
use crate::regions::Regions;
use crate::tables::{Outcome, both, is_right, moved_by, weakness, write_outcome};

/// The architecture, the build and the state of the tables; as text, without a newline.
pub(crate) struct Machine {
    build_id: &'static [u8],
    verified: Outcome,
    /// The first address of the image's code that was not compared. The code is what the kernel declares, or else what the tables contain
    /// checksums of.
    missing: Option<u64>,
    /// The weakest tables of a module, if they are weaker than those of the image.
    of_module: Option<Outcome>,
    /// How far the image lies above the addresses that it was linked for, modulo 2^64.
    moved_by: u64,
}

impl Machine {
    /// Verifies the tables of an image, which know the outcome from then on, and those of its modules. When a report begins, because memory may be damaged
    /// at any time; not for each trace again, because it takes time in proportion to the tables' size.
    ///
    /// `regions` are the code that can be read, which is compared.
    pub(crate) fn verify(image: &mut Image, regions: &Regions) -> Self {
        let tables = image.tables;
        let outcomes = (regions.iter()).map(|code| tables.verify_code(code.bytes, code.address));
        let verified = (outcomes.reduce(both)).unwrap_or_else(|| tables.verify_code(&[], 0));
        image.tables = image.tables.verified(verified);
        // Ranges of tables that are damaged may be wrong.
        let uses_checksums = image.code.bytes.is_empty() && is_right(&verified);
        let checked = (image.tables.checked_code()).filter(|_| uses_checksums);
        let code = iter::once(image.code.range()).chain(checked);
        let missing = regions.first_missing(code);
        let reading = Reading::begin();
        let modules = reading.as_ref().map(Reading::modules).unwrap_or_default();
        Self {
            of_module: weakest(&verified, modules),
            build_id: image.build_id,
            verified,
            missing,
            moved_by: moved_by(&image.tables, &verified).unwrap_or(0),
        }
    }
}

/// What verifying the weakest tables of modules has found, if those are weaker than the image's.
fn weakest(of_image: &Outcome, modules: &[Loaded]) -> Option<Outcome> {
    let outcomes = modules.iter().filter_map(Loaded::verify);
    let weaker = outcomes.filter(|outcome| weakness(outcome) > weakness(of_image));
    weaker.max_by_key(weakness)
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}, ")?;
        if self.build_id.is_empty() {
            f.write_str("no build id, ")?;
        } else {
            f.write_str("build ")?;
            write_bytes(f, self.build_id)?;
            f.write_str(", ")?;
        }
        write_outcome(f, &self.verified, self.missing.is_some())?;
        if let Some(missing) = self.missing {
            write!(f, ", code at {missing:#x} not compared")?;
        }
        if let Some(outcome) = &self.of_module {
            f.write_str(", state of a module's tables: ")?;
            write_outcome(f, outcome, false)?;
        }
        match self.moved_by {
            0 => Ok(()),
            by => write!(f, ", moved by {by:#x}"),
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod tests {
    use unwind::sframe::Verified;
    use unwind::{Range, RowSource as _};

    use super::*;
    use crate::image::Section;
    use crate::module::{Module, Rows};
    use crate::regions::{CODE, GAP};
    use crate::tables::ImageTables;

    /// Tables of another linker: a function of 16 bytes, and no checksum.
    static TABLE: [u8; 52] = [
        0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0,
        0, 0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
        0, 0, 3, 8,
    ];

    #[test]
    fn the_line_tells_the_weakest_tables() {
        let range = |bytes: &'static [u8]| {
            let range = bytes.as_ptr_range();
            Range::new(range.start as u64, range.end as u64)
        };
        let module = |tables| {
            let module = Module {
                code: range(&[0xcc; 16]),
                tables,
                symbols: Range::new(0, 0),
            };
            // SAFETY: the ranges are those of statics, or empty.
            unsafe { Loaded::new(module) }.expect("tables of this machine")
        };
        let [with, without] = [range(&TABLE), Range::new(0, 0)].map(module);
        let line = |checksum, modules: &[Loaded]| {
            let verified = Ok(Verified {
                checksum,
                code: false,
            });
            let machine = Machine {
                build_id: &[],
                verified,
                missing: None,
                of_module: weakest(&verified, modules),
                moved_by: 0,
            };
            machine.to_string()
        };
        let verified = "x86_64, no build id, tables verified, code not compared";
        assert_eq!(line(true, &[without]), verified);
        let of_module = format!("{verified}, state of a module's tables: tables without checksum");
        assert_eq!(line(true, &[without, with]), of_module);
        // Code that was not compared is named once.
        let machine = Machine {
            build_id: &[],
            verified: Ok(Verified {
                checksum: true,
                code: false,
            }),
            missing: Some(0x1000),
            of_module: None,
            moved_by: 0,
        };
        let named = "x86_64, no build id, tables verified, code at 0x1000 not compared";
        assert_eq!(machine.to_string(), named);
        // It is told already.
        let unverified = "x86_64, no build id, tables without checksum";
        assert_eq!(line(false, &[with]), unverified);
    }

    /// Bytes of code in each of the ranges with checksums.
    const SIZE: usize = 16;

    /// An image that begins with its tables, and these. They contain checksums of ranges of `SIZE` bytes, at these distances from their start. The
    /// ranges contain `byte`; the checksums were computed from bytes of 0xcc.
    pub(crate) fn with_code_at(distances: &[usize], byte: u8) -> (&'static [u8], &'static [u8]) {
        let mut table = TABLE.to_vec();
        for distance in distances {
            table.extend((*distance as u64).to_le_bytes());
            table.extend((SIZE as u32).to_le_bytes());
            table.extend(crc32fast::hash(&[0xcc; SIZE]).to_le_bytes());
        }
        table.extend((distances.len() as u32).to_le_bytes());
        table.extend(b"SFCD");
        table.extend(0_u64.to_le_bytes());
        table.extend(b"SLNK");
        // The header counts the trailer, too, as bytes of rows.
        table[16] += (table.len() + 8 - TABLE.len()) as u8;
        let checksum = crc32fast::hash(&table);
        table.extend(checksum.to_le_bytes());
        table.extend(b"SFCK");
        let size = table.len();
        let last = distances.iter().max().expect("code");
        table.resize(last + SIZE, byte);
        let image: &'static [u8] = table.leak();
        (image, &image[..size])
    }

    #[test]
    fn code_with_a_checksum_that_was_not_compared_is_named() {
        const APART: usize = 1 << 17;
        for (count, freed, missing) in [
            (3, None, None),
            // Code that was freed.
            (3, Some(2 * APART), Some(2)),
            // What was freed is no code, and there is no room for so many regions.
            (6, Some(APART + APART / 2), Some(5)),
        ] {
            let distances: Vec<_> = (1..=count).map(|number| number * APART).collect();
            let (bytes, tables) = with_code_at(&distances, 0xcc);
            let tables = ImageTables::new(tables, bytes.as_ptr() as u64);
            let start = bytes.as_ptr() as u64;
            let is_memory =
                |region: &Range| freed.is_none_or(|freed| !region.holds(start + freed as u64, 1));
            let regions = Regions::described(|| tables.checked_code(), &[CODE, GAP], is_memory);
            let none = Section::new(&[]);
            let mut image = Image::new(none, none, none);
            image.tables = tables;
            let machine = Machine::verify(&mut image, &regions);
            let expected = missing.map_or(String::new(), |number| {
                let missing = start + (number * APART) as u64;
                format!(", code at {missing:#x} not compared")
            });
            let line = machine.to_string();
            let (_, line) = line.split_once(" and code verified").expect(&line);
            let (line, _) = line.split_once(", moved by").unwrap_or((line, ""));
            assert_eq!(line, expected);
        }
    }

    #[test]
    fn code_of_a_module_is_compared() {
        let found = |byte| {
            const DISTANCE: usize = 0x100;
            let (bytes, tables) = with_code_at(&[DISTANCE], byte);
            let [tables, code] = [tables, &bytes[DISTANCE..]].map(|part| {
                let range = part.as_ptr_range();
                Range::new(range.start as u64, range.end as u64)
            });
            let module = Module {
                code,
                tables,
                symbols: Range::new(0, 0),
            };
            // SAFETY: the ranges are those of an image that stays.
            let loaded = unsafe { Loaded::new(module) }.expect("tables of this machine");
            let none = crate::tables::none();
            let doubt = Rows::new(&none, &[loaded]).doubt();
            let verified = Ok(Verified {
                checksum: true,
                code: true,
            });
            (weakest(&verified, &[loaded]).is_some(), doubt.is_some())
        };
        assert_eq!(found(0xcc), (false, false));
        assert_eq!(found(0xcd), (true, true));
    }
}
