//! One program, compiled in the ways in which kernels are compiled: with each the tables are complete and right, and the
//! same input makes the same bytes.

use std::fs;
use std::path::Path;

use crate::common::{SCRIPT, compile, folder, sframe, sources, stderr, stdout};
use linker::image::Image;
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol};
use unwind::symbols::{Precision, SymbolTable};

/// Compiles the program, checks its tables, and gives back the image.
fn checked(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    sources(folder);
    checked_as_it_is(folder, arguments)
}

fn checked_as_it_is(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    compile(folder, arguments);
    let path = folder.join("image");
    let check = sframe(&["check"], &path);
    assert!(
        check.status.success(),
        "{arguments:?}: {}{}",
        stdout(&check),
        stderr(&check)
    );
    let said = stdout(&check);
    // The first line compares the unwind rows, the second one .symbols.
    for expected in [": 0 differences\n", " Differences: 0\n"] {
        assert_eq!(said.matches(expected).count(), 1, "{arguments:?}: {said}");
    }
    fs::read(path).unwrap()
}

/// Checks that code which calls has a table, with all frames at the call and the names that the source has.
fn knows_the_program(data: &[u8]) {
    let image = Image::parse(data).unwrap();
    let section = image.section(".symbols").unwrap().unwrap();
    let symbols = SymbolTable::parse(section.data, section.address).unwrap();
    let section = image.section(".sframe").unwrap().unwrap();
    let tables = unwind::sframe::Tables::new(section.data, section.address);
    let mut names = Vec::new();
    let mut exact = 0;
    for code in image
        .file
        .sections()
        .filter(|section| section.name() == Ok(".text"))
    {
        for address in code.address()..code.address() + code.size() {
            let Some(answer) = symbols.resolve(address) else {
                continue;
            };
            exact += u32::from(answer.precision == Precision::Exact);
            names.extend(answer.frames().map(|frame| frame.name.to_string()));
            assert!(
                tables.function_at(address).is_some()
                    || names.last().is_some_and(|name| name == "stub"),
                "{address:#x} has a name, {:?}, and no function",
                names.last()
            );
            names.dedup();
        }
    }
    assert!(exact > 0);
    for expected in [
        "_start",
        "stub",
        "start",
        "program::pick",
        "core::panicking::panic_bounds_check",
    ] {
        assert!(
            names.iter().any(|name| name == expected),
            "{expected} not in {names:?}"
        );
    }
}

#[test]
fn link_time_optimization_levels_and_codegen_units() {
    let folder = folder("variants");
    for arguments in [
        &["-Clto=fat", "-Copt-level=s"][..],
        &["-Clto=thin", "-Copt-level=z", "-Ccodegen-units=16"],
        &["-Copt-level=3", "-Ccodegen-units=16", "-Cdebuginfo=2"],
    ] {
        let first = checked(&folder, arguments);
        knows_the_program(&first);
        let second = checked(&folder, arguments);
        assert!(first == second, "{arguments:?}: not the same bytes again");
    }
}

#[test]
fn incremental_builds() {
    let folder = folder("incremental");
    let arguments = ["-Cincremental=state", "-Ccodegen-units=16", "-Copt-level=0"];
    let first = checked(&folder, &arguments);
    knows_the_program(&first);
    // What was changed is seen, and changing it back gives the first image.
    let text = fs::read_to_string(folder.join("program.rs")).unwrap();
    let changed = text.replace("self.0 * 3", "self.0.wrapping_mul(3).count_ones().into()");
    assert_ne!(text, changed);
    fs::write(folder.join("program.rs"), changed).unwrap();
    assert!(first != checked_as_it_is(&folder, &arguments));
    let again = checked(&folder, &arguments);
    assert!(first == again);
}

#[test]
fn levels_of_debug_information() {
    let folder = folder("levels_of_debug_information");
    for (level, precision) in [
        ("-Cdebuginfo=2", Precision::Exact),
        ("-Cdebuginfo=1", Precision::Exact),
        ("-Cdebuginfo=line-tables-only", Precision::Exact),
        // `core` has debug information, the program has not.
        ("-Cdebuginfo=0", Precision::NameOnly),
    ] {
        let data = checked(&folder, &[level, "-Clink-arg=--symbols=all"]);
        let image = Image::parse(&data).unwrap();
        let section = image.section(".symbols").unwrap().unwrap();
        let symbols = SymbolTable::parse(section.data, section.address).unwrap();
        let start = image.file.symbol_by_name("start").unwrap();
        let answer = symbols.resolve(start.address()).unwrap();
        assert_eq!(answer.precision, precision, "{level}");
        assert_eq!(answer.frames().next_back().unwrap().name, *"start");
    }
}

#[test]
fn a_position_independent_image() {
    let folder = folder("position_independent");
    sources(&folder);
    let script = SCRIPT
        .replace(". = 0xffffffff80100000;", ". = 0;")
        .replace(".bss :", ".dynamic : { *(.dynamic) } .bss :");
    assert!(script.contains(". = 0;") && script.contains(".dynamic"));
    fs::write(folder.join("image.ld"), script).unwrap();
    let data = checked_as_it_is(
        &folder,
        &[
            "-Crelocation-model=pie",
            "-Ccode-model=small",
            "-Ctarget-feature=+crt-static",
            "-Crelro-level=off",
        ],
    );
    let image = Image::parse(&data).unwrap();
    assert_eq!(image.file.kind(), ObjectKind::Dynamic);
    knows_the_program(&data);
    // Where the image is loaded does not matter: the same bytes, read elsewhere, say the same.
    let section = image.section(".symbols").unwrap().unwrap();
    let code = image.section(".text").unwrap().unwrap();
    let moved = 0xffff_8000_0000_0000;
    let here = SymbolTable::parse(section.data, section.address).unwrap();
    let there = SymbolTable::parse(section.data, section.address + moved).unwrap();
    for address in code.address..code.address + code.data.len() as u64 {
        let names = |table: &SymbolTable<'_>, address| -> Option<Vec<String>> {
            let answer = table.resolve(address)?;
            Some(
                answer
                    .frames()
                    .map(|frame| frame.name.to_string())
                    .collect(),
            )
        };
        assert_eq!(names(&here, address), names(&there, address + moved));
    }
}
