//! ARM's exception tables. As `unwind` reads them, entry by entry and opcode by opcode, against `readelf -u` of GNU binutils: of Debian's
//! C and C++ libraries for ARM, and of every opcode there is. And as it walks by them, against the calls of a program that runs in
//! QEMU.

mod calls;
mod every_opcode;
mod file;
mod generic;
mod machine;
mod program;
mod readelf;
mod trap;
mod walks;

use std::path::Path;

use file::Image;
use unwind::ehabi::{Error, Personality, Unwinding};

/// What both say of a file. Returns how many entries have opcodes to compare.
fn agree(path: &Path) -> usize {
    let image = Image::read(path);
    let said = readelf::entries(path);
    let routines: Vec<u64> = said.iter().filter_map(|entry| entry.routine).collect();
    let tables = image.tables().personalities(&routines);
    assert_eq!(tables.entries().count(), said.len(), "{}", path.display());
    let mut compared = 0;
    for (ours, theirs) in tables.entries().zip(&said) {
        let place = format!("{} at {:#x}", path.display(), theirs.start);
        assert_eq!(ours.range.start, theirs.start, "{place}");
        assert_eq!(
            tables.entry_at(theirs.start).map(|entry| entry.range),
            Some(ours.range),
            "{place}"
        );
        match (ours.unwinding, theirs.cannot_unwind) {
            (Ok(Unwinding::Cannot), true) => {
                assert_eq!(ours.rules().err(), Some(Error::CannotUnwind), "{place}");
            }
            (Ok(Unwinding::By(Personality::At(routine), _)), false) => {
                // readelf says no more of these.
                assert_eq!(Some(routine), theirs.routine, "{place}");
            }
            (Ok(Unwinding::By(Personality::Own(number), opcodes)), false) => {
                assert_eq!(Some(number), theirs.model, "{place}");
                assert_eq!(readelf::lines(opcodes), theirs.opcodes, "{place}");
                assert!(ours.rules().is_ok(), "{place}: {:?}", ours.rules());
                compared += 1;
            }
            other => panic!("{place}: {other:?}"),
        }
    }
    assert_eq!(tables.verify(), Ok(()), "{}", path.display());
    compared
}

/// The ends of ranges: each function's is the beginning of the next, and the last one's that of the code.
fn ranges_join(path: &Path) {
    let image = Image::read(path);
    let entries: Vec<_> = image.tables().entries().map(|entry| entry.range).collect();
    for pair in entries.windows(2) {
        assert_eq!(pair[0].end, pair[1].start);
        let found = image.tables().entry_at(pair[1].start - 1);
        assert_eq!(found.map(|entry| entry.range), Some(pair[0]));
    }
    let (first, last) = (entries[0], entries[entries.len() - 1]);
    assert_eq!(last.end, image.code.end);
    for outside in [first.start - 1, last.end, last.end + (1 << 32)] {
        assert!(image.tables().entry_at(outside).is_none(), "{outside:#x}");
    }
}

#[test]
fn libraries_of_debian() {
    let libraries = [
        ("libc.so.6", "libc6-armhf-cross", 500),
        ("libstdc++.so.6", "libstdc++6-armhf-cross", 800),
        ("libgcc_s.so.1", "libgcc-s1-armhf-cross", 20),
    ];
    for (name, package, least) in libraries {
        let path = file::of_package(&format!("/usr/arm-linux-gnueabihf/lib/{name}"), package);
        let compared = agree(&path);
        println!("{name}: {compared} entries with opcodes agree");
        assert!(compared > least, "{name}: only {compared}");
        ranges_join(&path);
    }
}
