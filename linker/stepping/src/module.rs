//! One loaded image: its rows, the checker's verdicts, its code and its names.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use linker::architecture::Architecture;
use linker::cfi::Frames;
use linker::checked;
use linker::derived::derive;
use linker::function::Function;
use linker::image::Image;
use linker::inspect::Subject;
use linker::links::InterruptedLinks;
use linker::map::Map;
use linker::prove::Rows;
use linker::prove::world::row_of;
use linker::sframe::Table;
use linker::symbols::Symbols;
use linker::unproven::Unproven;
use object::{Object, ObjectSection, ObjectSegment, SectionKind, SegmentFlags, elf};
use row_checker::check::{Reason, Verdict};
use row_checker::row::Part;
use row_checker::value::Why;
use unwind::sframe::{Row, Rule};

use crate::claim::Wrong;
use crate::spoil::spoil;

/// Source of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowsFrom {
    /// The image's own table; rows that a link would make, if the image has no table.
    #[default]
    Table,
    /// The rows that a link would make.
    Made,
    /// Call frame information as the compiler wrote it.
    Described,
}

/// The checker's verdict on a row, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Parts that are not proven. Empty: the row is proven.
    pub unproven: Vec<Part>,
    /// The reason for the first of them.
    pub reason: String,
    /// Address of the instruction that the reason is about.
    pub cause: u64,
}

impl Judged {
    /// Whether the row is proven, or all but the frame pointer is.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.unproven.iter().all(|part| *part == Part::FramePointer)
    }

    /// Whether the checker accepts what is wrong.
    #[must_use]
    pub fn accepts(&self, wrong: Wrong) -> bool {
        match wrong {
            Wrong::FramePointer => self.unproven.is_empty(),
            _ => self.is_proven(),
        }
    }
}

/// A loaded image.
#[derive(Debug)]
pub struct Module {
    /// The file.
    pub path: PathBuf,
    /// The image's architecture.
    pub architecture: &'static Architecture,
    /// Functions with rows, ascending.
    pub functions: Vec<Function>,
    /// Verdicts, ascending. `None`: the checker found no claims that hold.
    pub verdicts: Option<Vec<Verdict>>,
    /// The functions as a table for walks, and its address.
    pub table: (Vec<u8>, u64),
    /// Sections of code, and their addresses.
    pub code: Vec<(Vec<u8>, u64)>,
    /// Names.
    pub symbols: Symbols,
    /// Executable segments: offsets in the file, and address.
    segments: Vec<(Range<u64>, u64)>,
}

/// Adds the row of a function without a caller at the entry of an image, up to the next function, if the entry has no row.
fn with_entry(mut functions: Vec<Function>, entry: u64) -> Vec<Function> {
    let after = functions.partition_point(|one| one.start <= entry);
    let is_described = after
        .checked_sub(1)
        .is_some_and(|index| entry < functions[index].end());
    if let Some(next) = functions.get(after)
        && let Ok(size) = u32::try_from(next.start - entry)
        && !is_described
        && entry != 0
    {
        let row = Row {
            offset: 0,
            cfa: Rule::Undefined,
            return_address: Rule::Undefined,
            frame_pointer: Rule::Undefined,
            signed: false,
            kept: unwind::Kept::ALL,
        };
        let function = Function {
            start: entry,
            size,
            rows: vec![row],
            signal: false,
            key_b: false,
            continues: false,
            block: None,
        };
        functions.insert(after, function);
    }
    functions
}

/// Functions of libgcc that write over the frames of their callers, which they go back to. The checker assumes that nobody does.
const UNWINDERS: [&str; 4] = [
    "_Unwind_RaiseException",
    "_Unwind_ForcedUnwind",
    "_Unwind_Resume",
    "_Unwind_Resume_or_Rethrow",
];

/// Takes the rows of these functions for unproven, as they break an assumption of the checker.
fn excuse_unwinders(verdicts: &mut [Verdict], symbols: &Symbols) {
    for verdict in verdicts {
        let symbol = symbols.at(verdict.at);
        if symbol.is_some_and(|symbol| UNWINDERS.contains(&&*symbol.name)) {
            let reason = Reason {
                why: Some(Why::Stored),
                at: verdict.at,
            };
            verdict.unproven.push((Part::ReturnAddress, reason));
        }
    }
}

impl Module {
    /// Reads an image, and makes or reads its rows. `spoiled`: a part of the rows is made wrong, as this seed chooses.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has nothing to make rows from.
    pub fn read(path: &Path, from: RowsFrom, spoiled: Option<u64>) -> Result<Self> {
        let data = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let image = Image::parse(&data).with_context(|| path.display().to_string())?;
        let described = Frames::of(&image)
            .map(|frames| frames.functions)
            .unwrap_or_default();
        let symbols = Symbols::for_readers(&image.file);
        let own = || Subject::parse(&data)?.functions();
        let mut functions = match (from, own()) {
            (RowsFrom::Table, Ok(own)) => own.functions,
            (RowsFrom::Described, _) => described.clone(),
            _ => {
                let all = Symbols::of(&image.file);
                let mut frames = Rows::of(&image, true, Frames::default(), &all)?.frames;
                frames.functions = with_entry(frames.functions, image.file.entry());
                let _ = derive(&image, &described, &mut frames, &all, true);
                frames.functions
            }
        };
        if let Some(seed) = spoiled {
            spoil(&mut functions, seed);
        }
        let mut verdicts = checked::check(&image, &described, &functions);
        if let Some(verdicts) = &mut verdicts {
            excuse_unwinders(verdicts, &symbols);
        }
        let code = image
            .file
            .sections()
            .filter(|section| section.kind() == SectionKind::Text);
        let code = code.map(|section| Ok((section.data()?.to_vec(), section.address())));
        let code = code.collect::<object::Result<Vec<_>>>()?;
        let is_executable = |segment: &object::Segment<'_, '_>| match segment.flags() {
            SegmentFlags::Elf { p_flags, .. } => p_flags.contains(elf::PF_X),
            _ => false,
        };
        let segments = image.file.segments().filter(is_executable).map(|segment| {
            let (offset, size) = segment.file_range();
            (offset..offset + size, segment.address())
        });
        let segments = segments.collect();
        // Far enough from all code, and in reach.
        let address = image
            .code()
            .iter()
            .map(|range| range.end)
            .max()
            .unwrap_or_default()
            .next_multiple_of(0x1000);
        let mut frames = Frames {
            functions,
            ..Frames::default()
        };
        let unproven = verdicts
            .as_ref()
            .map(|verdicts| Unproven::of(&frames.functions, verdicts));
        let table = match image.architecture.abi {
            Some(_) => {
                let table = Table::new(image.architecture, &mut frames);
                let table = table.with_proof(unproven, InterruptedLinks::default());
                table.to_bytes(address)
            }
            None => match Map::new(image.architecture, &frames.functions, unproven.as_ref()) {
                Ok(map) => map.to_bytes(address),
                Err(why) => bail!("the link created no unwind rule map: {why}"),
            },
        };
        Ok(Self {
            path: path.to_owned(),
            architecture: image.architecture,
            functions: frames.functions,
            verdicts,
            table: (table, address),
            code,
            symbols,
            segments,
        })
    }

    /// Executable addresses, as linked.
    pub fn segments(&self) -> impl Iterator<Item = Range<u64>> {
        self.segments
            .iter()
            .map(|(range, address)| *address..address + (range.end - range.start))
    }

    /// Address of the byte at an offset in the file, as linked.
    #[must_use]
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let page = offset & !0xfff;
        let holds = |range: &Range<u64>| (range.start & !0xfff..range.end).contains(&page);
        let (range, address) = self.segments.iter().find(|(range, _)| holds(range))?;
        Some((address & !0xfff) + (page - (range.start & !0xfff)))
    }

    /// The function with rows at an address.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<&Function> {
        let after = self.functions.partition_point(|one| one.start <= address);
        let function = &self.functions[after.checked_sub(1)?];
        (address < function.end()).then_some(function)
    }

    /// The row at an address, and whether the row is for trap code.
    #[must_use]
    pub fn row(&self, address: u64) -> Option<(Row, bool)> {
        let function = self.function(address)?;
        Some((row_of(function, address)?, function.signal))
    }

    /// The checker's verdict on the instruction that contains an address.
    #[must_use]
    pub fn judged(&self, address: u64) -> Judged {
        let nothing = |reason: &str| Judged {
            unproven: vec![Part::Entry],
            reason: reason.to_owned(),
            cause: address,
        };
        let Some(verdicts) = &self.verdicts else {
            return nothing("the checker has no claims that it proved");
        };
        let after = verdicts.partition_point(|one| one.at <= address);
        let verdict = after.checked_sub(1).map(|index| &verdicts[index]);
        match verdict.filter(|one| address < one.at + u64::from(one.length)) {
            None => nothing("no verdict"),
            Some(verdict) if verdict.is_padding => nothing("padding"),
            Some(verdict) => Judged {
                unproven: verdict.unproven.iter().map(|(part, _)| *part).collect(),
                reason: verdict
                    .unproven
                    .first()
                    .map_or_else(String::new, |(part, reason)| match reason.why {
                        Some(why) => format!("{part:?}: {why:?}"),
                        None => format!("{part:?}: the value differs"),
                    }),
                cause: verdict
                    .unproven
                    .first()
                    .map_or(address, |(_, reason)| reason.at),
            },
        }
    }

    /// Name of the function at an address, and the offset in the function.
    #[must_use]
    pub fn name(&self, address: u64) -> String {
        match self.symbols.at(address) {
            Some(symbol) => format!("{}+{:#x}", symbol.name, address - symbol.start),
            None => "?".to_owned(),
        }
    }

    /// Whether both addresses are in one function, and the second is not its start.
    #[must_use]
    pub fn is_local(&self, from: u64, to: u64) -> bool {
        let is_inside = |start: u64, end: u64| (start + 1..end).contains(&to);
        let by_symbol = self
            .symbols
            .at(from)
            .is_some_and(|symbol| is_inside(symbol.start, symbol.start + symbol.size));
        let by_rows = self
            .function(from)
            .is_some_and(|function| is_inside(function.start, function.end()));
        let starts = self.symbols.at(to).is_some_and(|symbol| symbol.start == to);
        by_symbol || by_rows && !starts
    }

    /// Whether an address, as linked, is in code.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        self.code
            .iter()
            .any(|(bytes, start)| address.wrapping_sub(*start) < bytes.len() as u64)
    }
}
