//! Converts all entries of a section.

use std::collections::hash_map::Entry;

use anyhow::{Context, Result};
use gimli::{BaseAddresses, CieOrFde, CommonInformationEntry, Reader, UnwindOffset, UnwindSection};
use rustc_hash::FxHashMap;

use super::augmentation::{Kind, Letters};
use super::function::Converter;
use super::{Frames, Slice};
use crate::architecture::Architecture;
use crate::progress::Step;

/// Converts every function of a section whose start `is_code` accepts. `letters` are those of each CIE, by its offset.
pub(super) fn read<'data, S>(
    architecture: &'static Architecture,
    section: &S,
    bases: &BaseAddresses,
    letters: &FxHashMap<usize, Letters>,
    kind: Kind,
    is_code: impl Fn(u64) -> bool,
) -> Result<Frames>
where
    S: UnwindSection<Slice<'data>>,
{
    let mut converter = Converter::new(architecture, section, bases, kind);
    let mut cies: FxHashMap<usize, CommonInformationEntry<Slice<'data>>> = FxHashMap::default();
    let mut frames = Frames::default();
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
        // Linkers leave empty entries for code that they removed.
        if fde.len() > 0 && is_code(fde.initial_address()) {
            let letters = letters.get(&fde.cie().offset());
            converter.convert(&fde, letters.copied().unwrap_or_default(), &mut frames);
        }
    }
    Ok(frames)
}
