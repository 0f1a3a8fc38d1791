//! Whether an image is what a machine has in its memory: all of its code is compared, not only where a CPU is, and its build id.

use unwind::sframe::{Damage, Verified};

use crate::machine::{PIECE, Source};

/// What comparing an image with a machine's memory has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum InMemory {
    /// Nobody has compared them.
    #[default]
    Unknown,
    /// No code could be compared: none is in what is left of the machine, or the tables have no checksums of it.
    NotCompared,
    /// The code in memory is the code that was linked, by the checksums in the image's tables.
    Same,
    /// Of the code that was linked, the range from this address on differs.
    Changed(u64),
    /// Another image is there.
    Another,
}

/// Bytes of an image, and their address.
type Part = (Vec<u8>, u64);

/// Compares an image's code and build id with memory as this CPU sees it. `verify` compares code with the checksums in the image's tables, if
/// it has any.
pub(super) fn in_memory(
    (code, build): (&[Part], Option<&Part>),
    verify: impl Fn(&[u8], u64) -> Option<Result<Verified, Damage>>,
    source: &mut dyn Source,
    cpu: usize,
) -> InMemory {
    if !source.has_own_code() {
        return InMemory::NotCompared;
    }
    let (mut is_same, mut changed) = (false, None);
    let (mut equal, mut all) = (0, 0);
    for (code, address) in code {
        // Code for the start of a machine may not be mapped any more.
        let Some(found) = bytes(source, cpu, *address, code.len()) else {
            continue;
        };
        let pairs = found.iter().zip(code);
        equal += pairs.filter(|(one, other)| one == other).count();
        all += code.len();
        match verify(&found, *address) {
            Some(Err(Damage::Code { start })) => changed = changed.or(Some(start)),
            Some(Ok(verified)) => is_same |= verified.code,
            Some(Err(_)) | None => {}
        }
    }
    let has_build = build.and_then(|(id, address)| {
        let found = bytes(source, cpu, *address, id.len())?;
        Some(found == *id)
    });
    match (changed, has_build) {
        (None, _) if is_same => InMemory::Same,
        (_, Some(false)) => InMemory::Another,
        // Without a build id: nearly nothing of it is there. Code that changes itself changes little.
        (_, None) if equal < all / 2 => InMemory::Another,
        (Some(start), _) => InMemory::Changed(start),
        (None, _) => InMemory::NotCompared,
    }
}

/// The bytes from this address on. None if not all of them are known.
fn bytes(source: &mut dyn Source, cpu: usize, start: u64, size: usize) -> Option<Vec<u8>> {
    let mut found = Vec::with_capacity(size);
    while found.len() < size {
        let at = start.wrapping_add(found.len() as u64);
        let piece = source.piece(cpu, at)?;
        let from = (at % PIECE) as usize;
        let count = (PIECE as usize - from).min(size - found.len());
        if !source.knows(at, count as u64) {
            return None;
        }
        found.extend_from_slice(&piece[from..from + count]);
    }
    Some(found)
}
