//! Converts all entries of a section.

use std::collections::hash_map::Entry;

use anyhow::{Context, Result};
use gimli::{BaseAddresses, CieOrFde, CommonInformationEntry, Reader, UnwindOffset, UnwindSection};
use rustc_hash::FxHashMap;

use super::augmentation::{Kind, Letters};
use super::function::Converter;
use super::removed::{self, Live};
use super::{Frames, Slice};
use crate::architecture::Architecture;
use crate::progress::Step;

/// Converts every function of a section; of `.debug_frame`, which has `live`, only functions that are in the image. `letters` are those of each
/// CIE, by its offset.
pub(super) fn read<'data, S>(
    architecture: &'static Architecture,
    section: &S,
    bases: &BaseAddresses,
    letters: &FxHashMap<usize, Letters>,
    live: Option<&Live>,
) -> Result<Frames>
where
    S: UnwindSection<Slice<'data>>,
{
    let kind = match live {
        Some(_) => Kind::DebugFrame,
        None => Kind::EhFrame,
    };
    let mut converter = Converter::new(architecture, section, bases, kind);
    let mut cies: FxHashMap<usize, CommonInformationEntry<Slice<'data>>> = FxHashMap::default();
    let mut frames = Frames::default();
    let mut ambiguous = Vec::new();
    let mut entries = section.entries(bases);
    let mut last = None;
    let step = Step::new("reading call frames", section.section().len());
    loop {
        let damaged = || match last {
            Some(offset) => {
                format!("the call frame section is damaged after the entry at offset {offset:#x}")
            }
            None => "the call frame section is damaged at its first entry".to_owned(),
        };
        let Some(entry) = entries.next().with_context(damaged)? else {
            break;
        };
        let partial = match entry {
            CieOrFde::Cie(cie) => {
                last = Some(cie.offset());
                continue;
            }
            CieOrFde::Fde(partial) => partial,
        };
        let fde = partial
            .parse(
                |section, bases, offset| match cies.entry(UnwindOffset::into(offset)) {
                    Entry::Occupied(known) => Ok(known.get().clone()),
                    Entry::Vacant(unknown) => {
                        let cie = section.cie_from_offset(bases, offset)?;
                        Ok(unknown.insert(cie).clone())
                    }
                },
            )
            .with_context(damaged)?;
        last = Some(fde.offset());
        step.at(fde.offset());
        let (start, size) = (fde.initial_address(), fde.len());
        // Linkers leave empty entries for code that they removed.
        if size == 0 || live.is_some_and(|live| !live.contains(start, size)) {
            continue;
        }
        let letters = letters.get(&fde.cie().offset());
        let letters = letters.copied().unwrap_or_default();
        if live.is_some() && removed::is_ambiguous(start) {
            let mut alone = Frames::default();
            converter.convert(&fde, letters, &mut alone);
            ambiguous.push(alone);
        } else {
            converter.convert(&fde, letters, &mut frames);
        }
    }
    // A removed function may have the size of the function in the image. Then the rows count only if both have the same rows.
    ambiguous.dedup();
    if let [only] = ambiguous.as_mut_slice() {
        frames.functions.append(&mut only.functions);
        frames.left_out.append(&mut only.left_out);
    }
    Ok(frames)
}
