//! Reads landing pads, where a function goes on when a call throws, from language-specific data areas (`.gcc_except_table`),
//! to which call frame information points.
//!
//! Purpose: "Itanium C++ ABI: Exception Handling", section 2.5. Format: GCC's `gcc/except.cc`
//! (`output_one_function_exception_table`), which LLVM and rustc follow.

use std::collections::HashMap;

use gimli::{
    BaseAddresses, CallFrameInstruction, CieOrFde, CommonInformationEntry, EhFrame, EndianSlice,
    FrameDescriptionEntry, Pointer, Reader, RunTimeEndian, UnwindContext, UnwindSection,
};
use object::{Object, ObjectSection};

use super::Slice;
use super::augmentation::{Kind, replace_letters};
use super::function::Unbounded;
use crate::image::{Image, Section};

/// A range of calls with the same landing pad; addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LandingPad {
    /// Start of the first one.
    pub start: u64,
    /// End of the last one.
    pub end: u64,
    /// The landing pad.
    pub pad: u64,
    /// Bytes of arguments that the personality routine pops before it enters the landing pad: `DW_CFA_GNU_args_size`.
    pub arguments: u64,
}

/// The landing pads of an image, ascending by calls. An area that cannot be read gives none: the code at its landing pads is
/// then unreachable to the proof, and stays undecided.
#[must_use]
pub fn landing_pads(image: &Image<'_>) -> Vec<LandingPad> {
    let sections = image.sections(".eh_frame").unwrap_or_default();
    let pads = sections.iter().flat_map(|one| landing_pads_in(image, one));
    let mut pads: Vec<LandingPad> = pads.collect();
    pads.sort_by_key(|pad| pad.start);
    pads
}

/// The landing pads of one section.
fn landing_pads_in(image: &Image<'_>, eh_frame: &Section<'_>) -> Vec<LandingPad> {
    let endian = match image.file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    let areas: Vec<(u64, &[u8])> = image
        .file
        .sections()
        .filter_map(|section| Some((section.address(), section.data().ok()?)))
        .filter(|(address, _)| *address != 0)
        .collect();
    let (data, _) = replace_letters(eh_frame.data, Kind::EhFrame, endian);
    let mut section = EhFrame::new(&data, endian);
    section.set_address_size(8);
    section.set_vendor(image.architecture.vendor);
    let bases = BaseAddresses::default().set_eh_frame(eh_frame.address);
    let mut cies: HashMap<usize, CommonInformationEntry<Slice<'_>>> = HashMap::new();
    let mut pads = Vec::new();
    let mut entries = section.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let fde = partial.parse(|section, bases, offset| match cies.get(&offset.0) {
            Some(known) => Ok(known.clone()),
            None => {
                let cie = section.cie_from_offset(bases, offset)?;
                cies.insert(offset.0, cie.clone());
                Ok(cie)
            }
        });
        let Ok(fde) = fde else { continue };
        let Some(Pointer::Direct(address)) = fde.lsda() else {
            continue;
        };
        let area = areas.iter().find_map(|(start, data)| {
            let from = usize::try_from(address.checked_sub(*start)?).ok()?;
            data.get(from..).filter(|rest| !rest.is_empty())
        });
        let own = area.and_then(|area| {
            let area = EndianSlice::new(area, endian);
            call_sites(area, address, fde.initial_address())
        });
        let own = own.unwrap_or_default();
        match own.is_empty() {
            true => {}
            false => add(&section, &bases, &fde, &own, &mut pads),
        }
    }
    pads
}

/// Adds a function's landing pads, divided where the size of its arguments on the stack changes.
fn add(
    section: &EhFrame<Slice<'_>>,
    bases: &BaseAddresses,
    fde: &FrameDescriptionEntry<Slice<'_>>,
    own: &[LandingPad],
    pads: &mut Vec<LandingPad>,
) {
    let mut instructions = fde.instructions(section, bases);
    let mut has_arguments = false;
    while let Ok(Some(instruction)) = instructions.next() {
        has_arguments |= matches!(instruction, CallFrameInstruction::ArgsSize { .. });
    }
    if !has_arguments {
        pads.extend_from_slice(own);
        return;
    }
    let mut context: UnwindContext<usize, Unbounded> = UnwindContext::new_in();
    let Ok(mut table) = fde.rows(section, bases, &mut context) else {
        return;
    };
    while let Ok(Some(row)) = table.next_row() {
        pads.extend(own.iter().filter_map(|pad| {
            let (start, end) = (
                pad.start.max(row.start_address()),
                pad.end.min(row.end_address()),
            );
            (start < end).then_some(LandingPad {
                start,
                end,
                arguments: row.saved_args_size(),
                ..*pad
            })
        }));
    }
}

/// The call sites with landing pads in the area at `address`, of the function that starts at `function`. `None`: it is
/// damaged, or of an unknown kind.
fn call_sites(mut area: Slice<'_>, address: u64, function: u64) -> Option<Vec<LandingPad>> {
    let whole = area.len();
    let base = match area.read_u8().ok()? {
        OMITTED => function,
        encoding => {
            let at = address + (whole - area.len()) as u64;
            let value = number(&mut area, encoding & FORMAT)?;
            match encoding & !FORMAT {
                0 => value,
                RELATIVE => value.wrapping_add(at),
                _ => return None,
            }
        }
    };
    if area.read_u8().ok()? != OMITTED {
        area.read_uleb128().ok()?;
    }
    let encoding = area.read_u8().ok()?;
    if encoding & !FORMAT != 0 {
        return None;
    }
    let length = usize::try_from(area.read_uleb128().ok()?).ok()?;
    let mut table = area.split(length).ok()?;
    let mut pads = Vec::new();
    while !table.is_empty() {
        let start = function.wrapping_add(number(&mut table, encoding)?);
        let size = number(&mut table, encoding)?;
        let pad = number(&mut table, encoding)?;
        // The action, which is not needed.
        table.read_uleb128().ok()?;
        if pad != 0 {
            pads.push(LandingPad {
                start,
                end: start.wrapping_add(size),
                pad: base.wrapping_add(pad),
                arguments: 0,
            });
        }
    }
    Some(pads)
}

/// `DW_EH_PE_omit`: Linux Standard Base, "DWARF Exception Header Encoding".
const OMITTED: u8 = 0xff;
/// The bits of an encoding that are the format.
const FORMAT: u8 = 0x0f;
/// `DW_EH_PE_pcrel`.
const RELATIVE: u8 = 0x10;

/// Reads a number in one of the `DW_EH_PE` formats.
fn number(from: &mut Slice<'_>, format: u8) -> Option<u64> {
    let value = match format {
        0x00 | 0x04 | 0x0c => from.read_u64().ok()?,
        0x01 => from.read_uleb128().ok()?,
        0x02 => from.read_u16().ok()?.into(),
        0x03 => from.read_u32().ok()?.into(),
        0x09 => from.read_sleb128().ok()?.cast_unsigned(),
        0x0a => i64::from(from.read_i16().ok()?).cast_unsigned(),
        0x0b => i64::from(from.read_i32().ok()?).cast_unsigned(),
        _ => return None,
    };
    Some(value)
}
