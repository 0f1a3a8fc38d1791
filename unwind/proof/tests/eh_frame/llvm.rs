//! Tables that LLVM wrote (version 2 errata 1), for a real program: `sframe` of the crate `linker`, compiled with
//! rustc's hidden switch and linked by lld, which puts the tables of all objects one after another.

use std::path::PathBuf;
use std::process::Command;

use object::{Object, ObjectSection};
use unwind::sframe::Tables;

use crate::eh_frame::compare::{Compared, function};
use crate::eh_frame::dwarf::Dwarf;
use crate::say::say;

/// Builds the program, in a folder of its own below the target folder; cargo keeps it until the source changes.
fn build() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sframe");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args([
            "build",
            "--quiet",
            "--package=sframe-link",
            "--bin=sframe",
            "--locked",
        ])
        // The more an optimizer does, the more there is to describe; but it takes its time.
        .args(["--config", "profile.dev.package.sframe-link.opt-level=1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            // Nothing refers to a table, so collecting garbage would drop all of them.
            [
                "-Cllvm-args=--gsframe",
                "-Cforce-unwind-tables=yes",
                "-Clink-arg=-Wl,--no-gc-sections",
            ]
            .join("\x1f"),
        )
        .status()
        .expect("cargo");
    assert!(status.success(), "the program was not built");
    target.join("debug/sframe")
}

#[long]
fn what_llvm_wrote_is_what_eh_frame_says() {
    let data = std::fs::read(build()).expect("the program");
    let file = object::File::parse(&data[..]).expect("an ELF file");
    let section = file.section_by_name(".sframe").expect("a section .sframe");
    let bytes = section.data().expect("its bytes");
    let tables = Tables::new(bytes, section.address());
    let dwarf = Dwarf::of(&file);

    let mut compared = Compared::default();
    let mut sections = 0;
    for section in tables.sections() {
        let section = section.expect("a section");
        sections += 1;
        let functions = section.functions();
        assert_eq!(functions.clone().count(), section.function_count() as usize);
        let mut rows = 0;
        for found in functions {
            rows += found.row_count();
            let index = dwarf
                .find(found.start())
                .expect("the same function in .eh_frame");
            let (start, end, signal) = dwarf.function(index);
            assert_eq!(
                (found.start(), u64::from(found.size())),
                (start, end - start)
            );
            assert!(!signal && !found.is_pc_mask());
            function(&dwarf, index, &found, &mut compared);
        }
        assert_eq!(rows, section.row_count());
    }
    // The whole way down from an address, for some: no section is sorted, so each look-up reads thousands of entries.
    let every = compared.functions / 500 + 1;
    let mut lookups = 0;
    for index in (0..dwarf.count()).step_by(every) {
        let (start, end, _) = dwarf.function(index);
        for pc in [start, start.midpoint(end), end - 1] {
            // Functions of the precompiled standard library are in .eh_frame only.
            let Some(found) = tables.function_at(pc) else {
                continue;
            };
            assert_eq!(found.start(), start);
            assert_eq!(tables.lookup(pc).ok().map(|(_, row)| row), found.row_at(pc));
            lookups += 1;
        }
    }
    say(format_args!(
        "LLVM: {sections} sections, {} functions and {} rows, at {} addresses as .eh_frame says ({} functions there); \
         {lookups} look-ups",
        compared.functions,
        compared.rows,
        compared.addresses,
        dwarf.count(),
    ));
    assert!(sections > 10 && compared.functions > 1000 && compared.rows > 5000 && lookups > 500);
}
