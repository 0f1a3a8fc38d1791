//! Hands an image and its rows to the checker, which shares no fact with the search for rows (`prove`).

mod marks;

use std::borrow::Cow;

use object::{
    Architecture, Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationFlags,
    RelocationTarget, SectionFlags, SymbolKind, elf,
};
use row_checker::aarch64::AArch64;
use row_checker::architecture::Architecture as Decoder;
use row_checker::arm::Arm;
use row_checker::check::Verdict;
use row_checker::derive::Derived;
use row_checker::program::{self, Declared, LandingPad, Program};
use row_checker::x86_64::X86;
use rustc_hash::FxHashSet;
use unwind::Range;

use crate::cfi::landing::landing_pads;
use crate::function::Function;
use crate::image::Image;
use crate::loaders;
use crate::mapping::{Kind, Mapping};
use marks::{marked_data, modes};

/// Sections of data whose words that look like addresses of code are none that the program jumps to.
const NO_ADDRESSES: [&str; 8] = [
    ".sframe",
    ".symbols",
    ".unwind_map",
    ".eh_frame",
    ".eh_frame_hdr",
    ".gcc_except_table",
    ".dynsym",
    ".gnu.hash",
];

/// Bytes that addresses need behind a section: the longest instruction, and the largest word.
const BEHIND: u64 = 64;
/// Bytes below the stack pointer that the System V ABI of x86-64 leaves to programs of an operating system.
const RED_ZONE: i32 = 128;

/// Judges the rows of an image. `described` is what its call frame information says of functions' extents. `None`: the checker does not
/// know its architecture, or has found no claims that hold.
#[must_use]
pub fn check(
    image: &Image<'_>,
    described: &[Function],
    functions: &[Function],
) -> Option<Vec<Verdict>> {
    let program = program(image, described, functions);
    row_checker::check::check(&program, decoder(image)?)
}

/// Does the same as [`check`], and returns the rows that follow for instructions without an accepted row.
#[must_use]
pub(crate) fn check_and_derive(
    image: &Image<'_>,
    described: &[Function],
    functions: &[Function],
) -> Option<(Vec<Verdict>, Vec<Derived>)> {
    let program = program(image, described, functions);
    row_checker::check::check_and_derive(&program, decoder(image)?)
}

/// The instructions of an image's architecture. `None`: the checker does not know it.
pub(crate) fn decoder(image: &Image<'_>) -> Option<&'static dyn Decoder> {
    match image.architecture.machine {
        Architecture::X86_64 => Some(&X86),
        Architecture::Aarch64 if !image.architecture.is_big_endian() => Some(&AArch64),
        Architecture::Arm => Some(&Arm),
        _ => None,
    }
}

fn program<'data>(
    image: &Image<'data>,
    described: &[Function],
    functions: &'data [Function],
) -> Program<'data> {
    let file = &image.file;
    let mut sections = sections(file);
    let mut taken = relocate(file, &mut sections);
    let is_relocatable = file.kind() == ObjectKind::Dynamic && !taken.is_empty();
    if !is_relocatable {
        taken = addresses(file, &sections, image.architecture.word.into());
    }
    // Other images call these, and other files what an object file has.
    let is_object = file.segments().next().is_none();
    let global = file.symbols().filter(|one| is_object && one.is_global());
    let exported = functions_of(file, file.dynamic_symbols().chain(global));
    taken.extend(exported.into_iter().map(|symbol| (symbol.start, u64::MAX)));
    let symbols = functions_of(file, file.symbols().chain(file.dynamic_symbols()));
    let mut declared: Vec<Declared> = symbols
        .iter()
        .copied()
        .filter(|one| one.start < one.end)
        .collect();
    declared.extend(described.iter().map(|function| Declared {
        start: function.start,
        end: function.end(),
    }));
    taken.extend(distances(file, &sections, &declared));
    taken.sort_unstable();
    let mut starts: Vec<u64> = described.iter().map(|function| function.start).collect();
    starts.sort_unstable();
    let marked = described.iter().filter(|function| function.signal);
    let mut traps: Vec<u64> = marked.map(|function| function.start).collect();
    traps.sort_unstable();
    let pads = landing_pads(image).into_iter().map(|pad| LandingPad {
        start: pad.start,
        end: pad.end,
        pad: pad.pad,
        arguments: pad.arguments as i32,
    });
    let has = |name| file.section_by_name(name).is_some();
    let is_hosted = file.dynamic_symbols().next().is_some()
        || [".init_array", ".preinit_array", ".tdata"]
            .into_iter()
            .any(has);
    let functions = functions
        .iter()
        .filter(|function| !function.rows.is_empty())
        .map(|function| program::Function {
            start: function.start,
            end: function.end(),
            rows: &function.rows,
            is_trap_code: function.signal,
            block: function.block,
        });
    Program {
        sections,
        modes: modes(file),
        marked: marked_data(file),
        functions: functions.collect(),
        symbols: symbols.into(),
        declared: declared.into(),
        described: starts,
        traps,
        taken,
        entry: file.entry() & !u64::from(image.architecture.machine == Architecture::Arm),
        other_mode: loaders::entries_of_32_bits(file),
        landing_pads: pads.collect(),
        red_zone: match (image.architecture.machine, is_hosted) {
            (Architecture::X86_64, true) => RED_ZONE,
            _ => 0,
        },
        is_hosted,
        is_relocatable,
    }
}

/// Returns a program that contains the code of an image and nothing else.
pub(crate) fn code<'data>(image: &Image<'data>) -> Program<'data> {
    Program {
        sections: sections(&image.file),
        modes: modes(&image.file),
        ..Program::default()
    }
}

/// The loaded sections with bytes, ascending.
fn sections<'data>(file: &object::File<'data>) -> Vec<program::Section<'data>> {
    let loaded = file.sections().filter_map(|section| {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
            return None;
        };
        let data = section.data().ok().filter(|data| !data.is_empty())?;
        // Addresses behind it are used, too.
        let end = section.address().checked_add(data.len() as u64)?;
        end.checked_add(BEHIND)?;
        sh_flags.contains(elf::SHF_ALLOC).then(|| program::Section {
            address: section.address(),
            data: Cow::Borrowed(data),
            is_code: sh_flags.contains(elf::SHF_EXECINSTR),
            is_linkage: section
                .name_bytes()
                .is_ok_and(|name| name.starts_with(b".plt")),
        })
    });
    let mut sections: Vec<_> = loaded.collect();
    sections.sort_by_key(|section| section.address);
    sections
}

/// Applies the relocations that add where the image is loaded, as if that was where it was linked. Returns the addresses, and where they are.
fn relocate(file: &object::File<'_>, sections: &mut [program::Section<'_>]) -> Vec<(u64, u64)> {
    let word = |at: u64| {
        let after = sections.partition_point(|section| section.address <= at);
        let section = &sections[after.checked_sub(1)?];
        let rest = section.data.get((at - section.address) as usize..)?;
        Some((u64::from_le_bytes(*rest.first_chunk()?), at))
    };
    let mut taken: Vec<(u64, u64)> = packed(file).into_iter().filter_map(word).collect();
    let relocations = file.dynamic_relocations().into_iter().flatten();
    for (at, relocation) in relocations {
        let RelocationFlags::Elf { r_type } = relocation.flags() else {
            continue;
        };
        let is_relative = match file.architecture() {
            Architecture::X86_64 => {
                matches!(r_type, elf::R_X86_64_RELATIVE | elf::R_X86_64_IRELATIVE)
            }
            Architecture::Aarch64 => {
                matches!(r_type, elf::R_AARCH64_RELATIVE | elf::R_AARCH64_IRELATIVE)
            }
            _ => false,
        };
        if !is_relative || relocation.target() != RelocationTarget::Absolute {
            continue;
        }
        let address = relocation.addend().cast_unsigned();
        taken.push((address, at));
        let after = sections.partition_point(|section| section.address <= at);
        let Some(section) = after
            .checked_sub(1)
            .and_then(|index| sections.get_mut(index))
        else {
            continue;
        };
        let offset = (at - section.address) as usize;
        if offset
            .checked_add(8)
            .is_some_and(|end| end <= section.data.len())
        {
            section.data.to_mut()[offset..offset + 8].copy_from_slice(&address.to_le_bytes());
        }
    }
    taken
}

/// The addresses of the words to which packed relocations (`SHT_RELR`) add where the image is loaded.
fn packed(file: &object::File<'_>) -> Vec<u64> {
    const BITS: u64 = 63;
    let section = file.section_by_name(".relr.dyn");
    let data = section
        .filter(|_| file.is_64())
        .and_then(|section| section.data().ok())
        .unwrap_or_default();
    let mut all = Vec::new();
    let mut next = 0_u64;
    for bytes in data.as_chunks().0 {
        let entry = u64::from_le_bytes(*bytes);
        // An entry is an address, or has a bit for each of the following words.
        if entry & 1 == 0 {
            all.push(entry);
            next = entry.wrapping_add(8);
            continue;
        }
        let set = (0..BITS).filter(|bit| entry >> (bit + 1) & 1 != 0);
        all.extend(set.map(|bit| next.wrapping_add(8 * bit)));
        next = next.wrapping_add(8 * BITS);
    }
    all
}

/// The data whose words are not read as addresses of code. This data can lie in a different section, for example a kernel's unwind tables in
/// `.rodata`.
struct Excluded(Vec<Range>);

impl Excluded {
    fn of(file: &object::File<'_>) -> Self {
        let sections = NO_ADDRESSES
            .into_iter()
            .filter_map(|name| file.section_by_name(name));
        let ranges = sections.map(|section| {
            let start = section.address();
            Range::new(start, start.saturating_add(section.size()))
        });
        Self(ranges.collect())
    }

    /// Whether it contains a byte of the word of `size` bytes at this address.
    fn overlaps(&self, word: u64, size: u64) -> bool {
        let end = word.saturating_add(size);
        let mut ranges = self.0.iter();
        ranges.any(|range| range.start < end && word < range.end)
    }
}

/// The starts of functions to which a word of data holds the distance from the word itself, and where these words are.
fn distances(
    file: &object::File<'_>,
    sections: &[program::Section<'_>],
    declared: &[Declared],
) -> Vec<(u64, u64)> {
    const WORD: usize = 4;
    let starts: FxHashSet<u64> = declared.iter().map(|one| one.start).collect();
    let excluded = Excluded::of(file);
    let data = sections.iter().filter(|section| !section.is_code);
    let of_section = |section: &program::Section<'_>| {
        let first = section.address.next_multiple_of(WORD as u64);
        let skipped = (first - section.address) as usize;
        let words = section.data.get(skipped..).unwrap_or_default();
        let words = words
            .as_chunks::<WORD>()
            .0
            .iter()
            .zip((first..).step_by(WORD));
        let far =
            words.map(|(word, at)| (at.wrapping_add_signed(i32::from_le_bytes(*word).into()), at));
        far.filter(|(address, at)| starts.contains(address) && !excluded.overlaps(*at, WORD as u64))
            .collect::<Vec<_>>()
    };
    data.flat_map(of_section).collect()
}

/// The words that are addresses of code, and where they are. Words of 8 bytes in code are read, too: an instruction hardly looks like one.
fn addresses(
    file: &object::File<'_>,
    sections: &[program::Section<'_>],
    word: u64,
) -> Vec<(u64, u64)> {
    let excluded = Excluded::of(file);
    let code: Vec<(u64, u64)> = sections
        .iter()
        .filter(|section| section.is_code)
        .map(|section| (section.address, section.address + section.data.len() as u64))
        .collect();
    let mapping = (file.architecture() == Architecture::Arm).then(|| Mapping::of(file));
    let mut taken = Vec::new();
    for section in sections
        .iter()
        .filter(|section| !section.is_code || word == 8)
    {
        let mut at = section.address.next_multiple_of(word);
        while let Some(bytes) = section
            .data
            .get((at - section.address) as usize..)
            .and_then(|rest| rest.get(..word as usize))
        {
            let address = bytes
                .iter()
                .rev()
                .fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            let Some(address) = mapping
                .as_ref()
                .map_or(Some(address), |mapping| of_arm(mapping, address))
            else {
                at += word;
                continue;
            };
            let is_code = code
                .iter()
                .any(|(start, end)| (*start..*end).contains(&address));
            if is_code && !excluded.overlaps(at, word) {
                taken.push((address, at));
            }
            at += word;
        }
    }
    taken
}

/// The address of code that a word of 32-bit ARM means: the lowest bit marks code of T32.
fn of_arm(mapping: &Mapping, word: u64) -> Option<u64> {
    let address = word & !1;
    match (mapping.at(address), word == address) {
        (Kind::A32, true) | (Kind::T32, false) => Some(address),
        _ => None,
    }
}

/// The symbols that are marked as functions.
fn functions_of<'data, 'file>(
    file: &object::File<'_>,
    all: impl Iterator<Item = object::Symbol<'data, 'file>>,
) -> Vec<Declared>
where
    'data: 'file,
{
    let functions = all.filter(|symbol| {
        symbol.kind() == SymbolKind::Text && symbol.address() != 0 && !symbol.is_undefined()
    });
    let mut symbols: Vec<Declared> = functions
        .map(|symbol| {
            let start = symbol.address() & !u64::from(file.architecture() == Architecture::Arm);
            Declared {
                start,
                end: start.saturating_add(symbol.size()),
            }
        })
        .collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}
