//! Maps and the tables of the same functions.

use std::path::{Path, PathBuf};

use linker::architecture::{self, Architecture};
use linker::cfi::Frames;
use linker::function::Function;
use linker::image::Image;
use linker::map::{self, Comparison, Unfit};
use linker::sframe::{self, Table};
use unwind::map::Map;
use unwind::sframe::{Abi, Tables};
use unwind::{Cached, Found, Range, RowSource, RuleCache};

/// Where both are said to lie.
pub const TABLES: u64 = 0x7000_0000_0000;
pub const MAP: u64 = 0x7000_4000_0000;

/// A map and a table of some functions.
pub struct Made {
    pub functions: Vec<Function>,
    pub tables: Vec<u8>,
    pub map: Vec<u8>,
}

impl Made {
    pub fn of(architecture: &'static Architecture, mut frames: Frames) -> Result<Self, Unfit> {
        let tables = Table::new(architecture, &mut frames).to_bytes(TABLES);
        let functions = frames.functions;
        let map = linker::map::Map::new(architecture, &functions, None)?;
        let size = map.size();
        let map = map.to_bytes(MAP);
        assert_eq!(map.len(), size);
        Ok(Self {
            functions,
            tables,
            map,
        })
    }

    /// The map, read.
    pub fn map(&self) -> Map<'_> {
        let map = Map::parse(&self.map, MAP).expect("a map");
        let outcome = map.verify();
        outcome.expect("its checksum");
        map.verified(outcome)
    }

    /// Compares as each link does: where something can change.
    pub fn compare(&self) -> Comparison {
        map::compare(&self.map(), &self.tables(), &self.functions, None)
    }

    fn tables(&self) -> Tables<'_> {
        Tables::new(&self.tables, TABLES)
    }

    /// Compares at every address of every function, and at 64 in each gap; how many they are.
    pub fn compare_all(&self) -> u64 {
        let (map, tables) = (self.map(), self.tables());
        let caches: [RuleCache<1024>; 2] = Default::default();
        let by_map = Cached::new(map, &caches[0]);
        let by_tables = Cached::new(tables, &caches[1]);
        let mut count = 0;
        let mut compare = |address: u64| {
            let (mut one, mut other) = (Found::EMPTY, Found::EMPTY);
            let mut in_map = map.look_up(address, &mut one).map(|()| one);
            if let Ok(found) = &mut in_map {
                assert!(found.range.holds(address, 1), "{address:#x}");
                found.range = map.function(address).expect("a function with a row");
                found.place = 0;
            }
            let in_tables = tables.look_up(address, &mut other).map(|()| other);
            // In a map, rules of trap code have no mark of a signed return address, which a walk ignores in trap code.
            let as_in_map = in_tables.map(|found| match found.is_trap {
                true => Found {
                    rules: found.rules.with_signed(false),
                    ..found
                },
                false => found,
            });
            assert_eq!(in_map, as_in_map, "{address:#x}");
            if let Ok(found) = in_tables {
                let Range { start, end, .. } = found.range;
                for near in [start.wrapping_sub(1), start, address, end - 1, end] {
                    let within = found.range.holds(near, 1);
                    assert_eq!(map.is_one_function(&one, near), within, "{address:#x}");
                }
            }
            assert_eq!(map.covers(address), tables.covers(address), "{address:#x}");
            cached(&by_map, address, as_in_map.ok());
            cached(&by_tables, address, in_tables.ok());
            count += 1;
        };
        let ranges = self.functions.iter();
        let ranges = ranges.map(|function| Range::new(function.start, function.end()));
        assert!(map.functions().eq(ranges), "the functions are others");
        let mut last = 0;
        for function in &self.functions {
            let gap = (function.start - last).min(32);
            (last..last + gap).for_each(&mut compare);
            (function.start - gap..function.end()).for_each(&mut compare);
            last = function.end();
        }
        (last..last.saturating_add(32)).for_each(&mut compare);
        count
    }
}

/// What a cache has for an address is what was `found` there without one, the first time and the second.
fn cached(source: &impl RowSource, address: u64, found: Option<Found>) {
    for _ in 0..2 {
        let mut own = Found::EMPTY;
        let outcome = source.look_up(address, &mut own);
        assert_eq!(outcome.is_ok(), found.is_some(), "{address:#x}");
        let Some(found) = found else {
            continue;
        };
        assert_eq!((own.rules, own.is_trap), (found.rules, found.is_trap));
        assert!(own.range.holds(address, 1), "{address:#x}");
        let Range { start, end, .. } = found.range;
        assert_eq!(source.function(address), Some(found.range), "{address:#x}");
        for near in [start.wrapping_sub(1), start, address, end - 1, end] {
            let within = own.range.holds(near, 1) || source.is_one_function(&own, near);
            assert_eq!(within, found.range.holds(near, 1), "{address:#x}");
        }
    }
}

/// A linked file's functions, by `.eh_frame`.
pub fn of_file(path: &Path) -> Made {
    let data = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let image = Image::parse(&data).expect("an image");
    Made::of(image.architecture, Frames::of(&image).expect("its frames")).expect("a map")
}

/// The stored sections of every version and ABI, by name, written again.
pub fn stored() -> Vec<(String, Made)> {
    let mut made = Vec::new();
    for folder in ["v1", "v2", "v2e1", "v3"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
        let entries = std::fs::read_dir(root.join(folder)).expect("stored sections");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let Some(of) = of_section(&path) else {
                continue;
            };
            made.push((path.display().to_string(), of));
        }
    }
    made
}

fn of_section(path: &Path) -> Option<Made> {
    if path.extension()? != "sframe" {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    let tables = Tables::new(&bytes, TABLES);
    let architecture = match tables.first().ok()?.abi() {
        Abi::Amd64 => &architecture::X86_64,
        Abi::AArch64Little => &architecture::AARCH64,
        Abi::AArch64Big => &architecture::AARCH64_BE,
        Abi::S390x => &architecture::S390X,
    };
    let frames = sframe::functions(&tables).ok()?;
    if frames.functions.is_empty() {
        return None;
    }
    match Made::of(architecture, frames) {
        Ok(made) => Some(made),
        // Sections of object files have functions that all begin at one address.
        Err(Unfit::Overlap(_)) => None,
        Err(other) => panic!("{}: {other}", path.display()),
    }
}
