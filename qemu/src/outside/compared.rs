//! Whether an image is what a machine has in its memory: all of its code is compared, not only where a CPU is, and its build id.

use object::{File, Object, ObjectSection, ObjectSymbol, SectionFlags, elf};
use unwind::Range;
use unwind::sframe::Damage;

use crate::machine::{PIECE, Source};

/// What comparing an image with a machine's memory has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum InMemory {
    /// Nobody has compared them.
    #[default]
    Unknown,
    /// No code could be compared: none is in what is left of the machine, or the tables have no checksums of it.
    NotCompared,
    /// No code could be compared, but the image's build id is there.
    Named,
    /// The code in memory is the code that was linked, by the checksums in the image's tables.
    Same,
    /// All code that could be read is the code that was linked. Other code could not be read.
    Partly {
        /// The first address of code that could not be read.
        unread: u64,
        /// The list names that address: most of the code could not be read, or code that the kernel's own reports compare. Other code that
        /// cannot be read is used only while a kernel starts.
        is_told: bool,
        /// The image's build id is there.
        is_named: bool,
    },
    /// Of the code that was linked, the range from this address on differs.
    Changed(u64),
    /// Another image is there.
    Another,
}

/// Bytes of an image, and their address.
pub(super) type Part = (Vec<u8>, u64);

/// Returns the range between the symbols that `kernel/postmortem` uses for the code.
pub(super) fn declared_code(file: &File<'_>) -> Option<Range> {
    let address = |name| {
        let symbol = file.symbols().find(|one| one.name() == Ok(name));
        symbol.map(|symbol| symbol.address())
    };
    let (start, end) = (address("__text_start")?, address("__text_end")?);
    (start < end).then(|| Range::new(start, end))
}

/// The bytes of an image's build id, and their address, if they are loaded.
pub(super) fn loaded_build_id(file: &File<'_>) -> Option<Part> {
    let id = file.build_id().ok()??;
    let section = file.section_by_name(".note.gnu.build-id")?;
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
        return None;
    };
    let bytes = section.data().ok()?;
    let at = bytes.len().checked_sub(id.len())?;
    let is_loaded = sh_flags.contains(elf::SHF_ALLOC) && bytes[at..] == *id;
    is_loaded.then(|| (id.to_vec(), section.address().wrapping_add(at as u64)))
}

/// Compares an image's code and build id with memory as this CPU sees it. `verify` compares code with the checksums in the image's tables, if
/// it has any, and returns whether there are some. `declared` is the range of code that the kernel's own reports compare. Without it, they
/// compare all code with checksums.
pub(super) fn in_memory(
    (code, build): (&[Part], Option<&Part>),
    declared: Option<Range>,
    verify: impl Fn(&[u8], u64) -> Option<Result<bool, Damage>>,
    source: &mut dyn Source,
    cpu: usize,
) -> InMemory {
    if !source.has_own_code() {
        return InMemory::NotCompared;
    }
    let has_checksums = |part: &Part| {
        let verified = verify(&part.0, part.1);
        matches!(verified, Some(Ok(true) | Err(Damage::Code { .. })))
    };
    let is_compared_by_kernel = |part: &Part| match declared {
        Some(Range { start, end }) => {
            part.1 < end && start < part.1.saturating_add(part.0.len() as u64)
        }
        None => has_checksums(part),
    };
    let (mut is_same, mut changed) = (false, None);
    // The first address of all unreadable code, and of the unreadable code that the kernel's own reports compare.
    let (mut unread, mut missing) = (None, None);
    let (mut equal, mut all, mut without) = (0, 0, 0);
    for part in code {
        // Code for the start of a machine may not be mapped any more.
        let Some(found) = bytes(source, cpu, part.1, part.0.len()) else {
            unread = unread.or(Some(part.1));
            missing = missing.or_else(|| is_compared_by_kernel(part).then_some(part.1));
            without += part.0.len();
            continue;
        };
        let pairs = found.iter().zip(&part.0);
        equal += pairs.filter(|(one, other)| one == other).count();
        all += part.0.len();
        match verify(&found, part.1) {
            Some(Err(Damage::Code { start })) => changed = changed.or(Some(start)),
            Some(Ok(has_checksums)) => is_same |= has_checksums,
            Some(Err(_)) | None => {}
        }
    }
    let has_build = is_build(build, source, cpu);
    match (changed, has_build) {
        (_, Some(false)) => InMemory::Another,
        (None, _) if is_same => unread.map_or(InMemory::Same, |unread| InMemory::Partly {
            unread: missing.unwrap_or(unread),
            is_told: missing.is_some() || without > all,
            is_named: has_build == Some(true),
        }),
        // Without a build id: nearly nothing of it is there. Code that changes itself changes little.
        (_, None) if equal < all / 2 => InMemory::Another,
        (Some(start), _) => InMemory::Changed(start),
        (None, Some(true)) => InMemory::Named,
        (None, _) => InMemory::NotCompared,
    }
}

/// Whether the build id of an image is in memory; `None` if it is not known.
pub(super) fn is_build(build: Option<&Part>, source: &mut dyn Source, cpu: usize) -> Option<bool> {
    let (id, address) = build?;
    let found = bytes(source, cpu, *address, id.len())?;
    Some(found == *id)
}

/// The bytes from this address on. None if not all of them are known.
pub(super) fn bytes(
    source: &mut dyn Source,
    cpu: usize,
    start: u64,
    size: usize,
) -> Option<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use anyhow::{Result, bail};

    use super::*;
    use crate::stub::State;

    /// A memory in which some pages are.
    #[derive(Debug)]
    struct Pages(Vec<(u64, u8)>);

    impl Source for Pages {
        fn cpus(&mut self) -> Result<Vec<bool>> {
            Ok(vec![false])
        }

        fn state(&mut self, _: usize) -> Result<State> {
            bail!("nobody asks")
        }

        fn piece(&mut self, _: usize, address: u64) -> Option<Box<[u8; PIECE as usize]>> {
            let mut pages = self.0.iter();
            let (_, byte) = pages.find(|(page, _)| *page == address & !(PIECE - 1))?;
            Some(Box::new([*byte; PIECE as usize]))
        }
    }

    const BOOT: u64 = 0x10_0000;
    const TEXT: u64 = 0x20_0000;
    const BUILD: u64 = 0x30_0000;

    /// Compares an image of a small and a large section, both of bytes 1, and a build id of bytes 2. The kernel declares the large one.
    fn compared(pages: &[(u64, u8)]) -> InMemory {
        compared_with(Some(Range::new(TEXT, TEXT + PIECE)), pages)
    }

    fn compared_with(declared: Option<Range>, pages: &[(u64, u8)]) -> InMemory {
        let code = [(vec![1; 16], BOOT), (vec![1; PIECE as usize], TEXT)];
        let build = (vec![2; 20], BUILD);
        let verify = |bytes: &[u8], start| {
            let is_same = bytes.iter().all(|byte| *byte == 1);
            Some(is_same.then_some(true).ok_or(Damage::Code { start }))
        };
        let mut pages = Pages(pages.to_vec());
        in_memory((&code, Some(&build)), declared, verify, &mut pages, 0)
    }

    /// A kernel's own report uses the declared range, or else the checksums.
    #[test]
    fn a_small_part_that_was_not_compared_is_named() {
        let pages = [(TEXT, 1), (BUILD, 2)];
        let is_told = |declared| match compared_with(declared, &pages) {
            InMemory::Partly {
                unread: BOOT,
                is_told,
                is_named: true,
            } => is_told,
            other => panic!("{other:?}"),
        };
        assert!(is_told(None));
        assert!(is_told(Some(Range::new(BOOT, TEXT + PIECE))));
        assert!(!is_told(Some(Range::new(BOOT + 16, TEXT + PIECE))));
    }

    #[test]
    fn all_code_and_the_build_id_must_be_there() {
        let (boot, text, build) = ((BOOT, 1), (TEXT, 1), (BUILD, 2));
        assert_eq!(compared(&[boot, text, build]), InMemory::Same);
        assert_eq!(compared(&[boot, text]), InMemory::Same);
        assert_eq!(compared(&[boot, text, (BUILD, 3)]), InMemory::Another);
        assert_eq!(compared(&[boot, (TEXT, 3), build]), InMemory::Changed(TEXT));
        assert_eq!(compared(&[build]), InMemory::Named);
        assert_eq!(compared(&[]), InMemory::NotCompared);
        let partly = |unread, is_told, is_named| InMemory::Partly {
            unread,
            is_told,
            is_named,
        };
        assert_eq!(compared(&[text, build]), partly(BOOT, false, true));
        assert_eq!(compared(&[boot, build]), partly(TEXT, true, true));
        assert_eq!(compared(&[boot]), partly(TEXT, true, false));
        assert_eq!(compared(&[boot, (BUILD, 3)]), InMemory::Another);
    }
}
