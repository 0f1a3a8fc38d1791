//! The starts of functions in call frame information. Code without a size ends there at the latest.

use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, RunTimeEndian, UnwindSection};
use object::{Object, ObjectSection};

use super::reader::endian;
use crate::compressed::uncompressed;

/// The addresses at which the loaded call frame information has functions, ascending, and whether each is trap code. Entries that cannot be
/// read are left out: `cfi` reports them.
///
/// `.debug_frame` is not read: where nothing else has a function, the code is hand-written, and a description of a part of it is common.
pub(super) fn described(file: &object::File<'_>) -> Vec<(u64, bool)> {
    let mut starts = Vec::new();
    read(file, b".eh_frame", |slice, size, bases| {
        let mut frames = EhFrame::from(slice);
        frames.set_address_size(size);
        add(&frames, bases, &mut starts);
    });
    starts.sort_unstable();
    starts
}

/// Calls `act` with each section of a name. GNU ld keeps sections of two types with one name apart.
fn read(
    file: &object::File<'_>,
    name: &[u8],
    mut act: impl FnMut(EndianSlice<'_, RunTimeEndian>, u8, &BaseAddresses),
) {
    let endian = endian(file);
    let size = match file.is_64() {
        true => 8,
        false => 4,
    };
    let address = |name| file.section_by_name(name).map(|section| section.address());
    let named = |section: &object::Section<'_, '_>| section.name_bytes() == Ok(name);
    for section in file.sections().filter(named) {
        let Ok(data) = uncompressed(&section) else {
            continue;
        };
        let mut bases = BaseAddresses::default().set_eh_frame(section.address());
        if let Some(text) = address(".text") {
            bases = bases.set_text(text);
        }
        if let Some(got) = address(".got") {
            bases = bases.set_got(got);
        }
        act(EndianSlice::new(&data, endian), size, &bases);
    }
}

fn add<'data, S: UnwindSection<EndianSlice<'data, RunTimeEndian>>>(
    frames: &S,
    bases: &BaseAddresses,
    starts: &mut Vec<(u64, bool)>,
) {
    let mut entries = frames.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        if let Ok(entry) = partial.parse(S::cie_from_offset) {
            starts.push((entry.initial_address(), entry.is_signal_trampoline()));
        }
    }
}
