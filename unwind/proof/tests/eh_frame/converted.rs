//! Large libraries: two that are on every Linux machine with this toolchain, and one that the set-up installs. They have no tables, so `linker` makes them;
//! but what is read back is held against `.eh_frame` as gimli has it, not against anything of `linker`'s.

use std::path::{Path, PathBuf};
use std::process::Command;

use linker::cfi::Frames;
use linker::image::Image;
use linker::sframe::Table;
use unwind::sframe::{LookupError, Section};

use crate::eh_frame::compare::{Compared, function};
use crate::eh_frame::dwarf::Dwarf;
use crate::say::say;

/// Where the table is said to lie; starts are 64 bits wide, so anywhere will do.
const ADDRESS: u64 = 0x7000_0000_0000;

/// The C library that this test runs with.
fn libc() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the loader's work");
    let mut paths = maps
        .lines()
        .filter_map(|line| Some(&line[line.find('/')?..]));
    let found = paths.find(|path| {
        let name = Path::new(path).file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("libc.so") || name.starts_with("libc-2"))
    });
    PathBuf::from(found.expect("a C library in this process"))
}

/// The compiler as a library.
fn rustc_driver() -> PathBuf {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let output = Command::new(rustc).args(["--print", "sysroot"]).output();
    let sysroot = String::from_utf8(output.expect("rustc").stdout).expect("a path");
    let folder = Path::new(sysroot.trim()).join("lib");
    let entries = std::fs::read_dir(&folder).expect("the toolchain's libraries");
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let found = paths.find(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("librustc_driver"))
    });
    found.expect("librustc_driver")
}

/// Converts a library, and compares every row.
fn check(path: &Path) -> Compared {
    let data = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let image = Image::parse(&data).expect("an image");
    let mut frames = Frames::of(&image).expect("its frames");
    let bytes = Table::new(image.architecture, &mut frames).to_bytes(ADDRESS);
    let section = Section::parse(&bytes, ADDRESS).expect("a section");
    let file = object::File::parse(&data[..]).expect("an ELF file");
    let dwarf = Dwarf::of(&file);

    let mut compared = Compared::default();
    let mut without_rows = 0;
    for found in section.functions() {
        let index = dwarf
            .find(found.start())
            .expect("the same function in .eh_frame");
        let (_, _, signal) = dwarf.function(index);
        assert_eq!(found.is_signal_frame(), signal, "{:#x}", found.start());
        if found.row_count() == 0 && signal {
            without_rows += 1;
            continue;
        }
        function(&dwarf, index, &found, &mut compared);
    }
    assert_eq!(
        compared.functions + without_rows,
        section.function_count() as usize
    );

    // And the other way round: what .eh_frame describes is found by its address, or was left out for a reason.
    for index in 0..dwarf.count() {
        let (start, end, signal) = dwarf.function(index);
        for pc in [start, start.midpoint(end), end - 1] {
            let left_out = || {
                frames
                    .left_out
                    .iter()
                    .any(|left| pc.wrapping_sub(left.start) < left.size)
            };
            match section.lookup(pc) {
                Ok((found, row)) => assert_eq!(found.row_at(pc), Some(row)),
                Err(LookupError::NoRows { signal: true }) => assert!(signal, "{pc:#x}"),
                Err(error) => assert!(left_out(), "{pc:#x}: {error}"),
            }
        }
    }
    say(format_args!(
        "{}: {} of {} functions and {} rows, at {} addresses as .eh_frame says; {without_rows} signal frames without \
         rows, {} left out",
        path.display(),
        compared.functions,
        dwarf.count(),
        compared.rows,
        compared.addresses,
        frames.left_out.len(),
    ));
    for left in frames.left_out.iter().take(10) {
        say(format_args!(
            "    left out: {:#x}: {}",
            left.start, left.why
        ));
    }
    compared
}

#[gate]
fn the_c_library() {
    let compared = check(&libc());
    assert!(compared.functions > 2000 && compared.rows > 10_000);
}

#[gate]
fn the_compiler() {
    let compared = check(&rustc_driver());
    assert!(compared.functions > 50_000 && compared.rows > 300_000);
}

#[gate]
fn sqlite() {
    let path = libc().with_file_name("libsqlite3.so.0");
    let target = setup::workspace::target_folder().expect("the target folder");
    let path = match setup::file(&path, "libsqlite3-0", &target) {
        Ok(path) => path,
        Err(error) => panic!("{error:#}"),
    };
    let compared = check(&path);
    assert!(compared.functions > 500 && compared.rows > 3000);
}
