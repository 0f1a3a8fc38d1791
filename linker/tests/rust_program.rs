//! `sframe-link` in rustc's place of a linker: a small program without an operating system, from source to tables.

use std::fs;
use std::path::Path;

use crate::common::{folder, program, scripts, sframe, stderr, stdout};
use linker::image::Image;
use object::{Object, ObjectSection, ObjectSymbol};
use unwind::sframe::Tables;
use unwind::symbols::SymbolTable;

/// The names that an image carries for its functions, in the order of addresses.
fn names(data: &[u8]) -> Vec<String> {
    let image = Image::parse(data).unwrap();
    let section = image.section(".symbols").unwrap().unwrap();
    let table = SymbolTable::parse(section.data, section.address).unwrap();
    let code = image.section(".text").unwrap().unwrap();
    let mut names: Vec<String> = Vec::new();
    for offset in 0..code.data.len() as u64 {
        let Some(answer) = table.resolve(code.address + offset) else {
            continue;
        };
        let function = answer.frames().next_back().unwrap();
        if names.last().is_none_or(|last| function.name != **last) {
            names.push(function.name.to_string());
        }
    }
    names
}

#[test]
fn a_rust_program_gets_both_tables() {
    let folder = folder("a_rust_program");
    program(&folder, &["-Clink-arg=--sframe-stats=stats.txt"]);
    let path = folder.join("image");
    let data = fs::read(&path).unwrap();
    let image = Image::parse(&data).unwrap();

    let check = sframe(&["check"], &path);
    assert!(
        check.status.success(),
        "{}{}",
        stdout(&check),
        stderr(&check)
    );
    assert!(
        stdout(&check).contains(": 0 differences"),
        "{}",
        stdout(&check)
    );

    let names = names(&data);
    for expected in [
        "_start",
        "stub",
        "start",
        "program::call",
        "program::pick",
        "program::Square::grow",
        "program::start::{closure#0}",
        "<program::Square as program::Area>::area",
        "<program::Circle as program::Area>::area",
        "core::panicking::panic_bounds_check",
    ] {
        assert!(
            names.iter().any(|name| name == expected),
            "{expected} not in {names:?}"
        );
    }
    assert!(
        !names.iter().any(|name| name == "dead"),
        "--gc-sections removes it: {names:?}"
    );

    // Where the target looks: between the linker script's symbols.
    let symbol = |name| image.file.symbol_by_name(name).unwrap().address();
    let section = |name| image.section(name).unwrap().unwrap();
    for (name, start, end) in [
        (".sframe", "__sframe_start", "__sframe_end"),
        (".symbols", "__symbols_start", "__symbols_end"),
    ] {
        let section = section(name);
        assert_eq!(symbol(start), section.address);
        assert_eq!(symbol(end), section.address + section.data.len() as u64);
    }
    let blob = section(".symbols");
    let table = SymbolTable::parse(blob.data, blob.address).unwrap();
    assert_eq!(Some(table.build_id()), image.file.build_id().unwrap());
    assert_eq!(table.build_id().len(), 20);

    let stats = fs::read_to_string(folder.join("stats.txt")).unwrap();
    assert!(
        stats.contains("functions left out of the unwind tables: 0\n"),
        "{stats}"
    );
    assert!(
        stats.contains(
            "\nfunctions and unwind rows that are synthesized from the code: 1 functions, 1 rows\n"
        ),
        "{stats}"
    );
    assert!(
        stats.contains("functions without unwind information: 0\n"),
        "{stats}"
    );
    let leftovers = fs::read_dir(&folder).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().contains("sframe-link")
    });
    assert_eq!(leftovers.count(), 0);
}

#[test]
fn stats_say_what_the_bytes_of_symbols_are_for() {
    let folder = folder("stats_of_symbols");
    program(&folder, &[]);
    let path = folder.join("image");
    let data = fs::read(&path).unwrap();
    let text = stdout(&sframe(&["stats"], &path));
    let parts = text.split(".symbols:\n").nth(1).unwrap();
    let parts = parts.lines().take_while(|line| line.starts_with("  "));
    let sum: usize = parts
        .map(|line| -> usize {
            let numbers = line.rsplit_once(" %").unwrap().0;
            let bytes = numbers.split_whitespace().rev().nth(1).unwrap();
            bytes.parse().unwrap()
        })
        .sum();
    let image = Image::parse(&data).unwrap();
    let section = image.section(".symbols").unwrap().unwrap();
    assert_eq!(sum, section.data.len(), "{text}");
}

#[test]
fn the_same_input_makes_the_same_bytes() {
    let folder = folder("the_same_input");
    program(&folder, &[]);
    let first = fs::read(folder.join("image")).unwrap();
    program(&folder, &[]);
    assert!(first == fs::read(folder.join("image")).unwrap());
}

#[test]
fn names_can_be_full_and_tables_can_be_left_out() {
    let folder = folder("names_can_be_full");
    program(&folder, &["-Clink-arg=--symbol-names=full"]);
    let names = names(&fs::read(folder.join("image")).unwrap());
    for expected in [
        "program::pick::<u32>",
        "program::pick::<u8>",
        "<program::Square>::grow::<u32>",
    ] {
        assert!(
            names.iter().any(|name| name == expected),
            "{expected} not in {names:?}"
        );
    }

    for (switch, empty, full) in [
        ("-Clink-arg=--sframe=none", ".sframe", ".symbols"),
        ("-Clink-arg=--symbols=none", ".symbols", ".sframe"),
    ] {
        program(&folder, &[switch]);
        let data = fs::read(folder.join("image")).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let size = |name: &str| {
            file.section_by_name(name)
                .map_or(0, |section| section.size())
        };
        assert_eq!(size(empty), 0, "{switch}");
        assert!(size(full) > 0, "{switch}");
    }
}

/// The answers compared by `sframe check`, with all frames, and with the outermost line.
fn answers(path: &Path) -> (u64, u64, u64) {
    let check = sframe(&["check"], path);
    let text = stdout(&check);
    assert!(check.status.success(), "{text}{}", stderr(&check));
    let line = text.lines().find(|line| line.contains("compared .symbols"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(line.ends_with("Differences: 0"), "{line}");
    let numbers: Vec<u64> = line
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    (numbers[0], numbers[1], numbers[2])
}

#[test]
fn levels_say_more_and_more() {
    let folder = folder("levels");
    let path = folder.join("image");
    let mut sizes = Vec::new();
    for (level, has_exact, has_outer) in [
        ("names", false, false),
        ("lines", false, true),
        ("calls", true, true),
        ("faults", true, true),
        ("all", true, false),
    ] {
        program(&folder, &[&format!("-Clink-arg=--symbols={level}")]);
        let (all, exact, outer) = answers(&path);
        assert!(all > 20, "{level}: {all}");
        assert_eq!((exact > 0, outer > 0), (has_exact, has_outer), "{level}");
        assert!(exact + outer <= all);
        let data = fs::read(&path).unwrap();
        let image = Image::parse(&data).unwrap();
        sizes.push(image.section(".symbols").unwrap().unwrap().data.len());
    }
    assert!(sizes.is_sorted(), "{sizes:?}");
}

#[test]
fn lookup_prints_places_and_what_is_inlined() {
    let folder = folder("lookup_prints_places");
    program(&folder, &["-Clink-arg=--symbols=all", "-Copt-level=3"]);
    let path = folder.join("image");
    let data = fs::read(&path).unwrap();
    let image = Image::parse(&data).unwrap();
    let code = image.section(".text").unwrap().unwrap();
    let addresses =
        (0..code.data.len() as u64).map(|offset| format!("{:#x}", code.address + offset));
    let addresses: Vec<String> = addresses.collect();
    let mut arguments = vec!["lookup"];
    arguments.extend(addresses.iter().map(String::as_str));
    let text = stdout(&sframe(&arguments, &path));
    assert!(text.contains(" at program.rs:"), "{text}");
    let inlined = text
        .lines()
        .find(|line| line.starts_with("        inlined into "));
    assert!(inlined.is_some_and(|line| line.contains(" at ")), "{text}");
}

#[test]
fn with_less_debug_information_it_says_less_and_says_so() {
    let folder = folder("less_debug_information");
    let path = folder.join("image");
    // By hand, as rustc keeps the linker's warnings to itself.
    program(&folder, &["-Cdebuginfo=0", "--emit=obj"]);
    fs::rename(&path, folder.join("program.o")).unwrap();
    let link = |level: &str| {
        let output = crate::common::sframe_link()
            .current_dir(&folder)
            .args([
                "-T",
                "image.ld",
                "-L",
                &scripts(),
                "-o",
                "image",
                "program.o",
            ])
            .args(["--unresolved-symbols=ignore-all", level])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    let expected = "sframe-link: warning: the link used --symbols=names instead of --symbols=calls: the image has no debug information: compile \
                    with debug = \"limited\" (-C debuginfo=1)\n";
    assert_eq!(link("--symbols=calls"), expected);
    assert_eq!(link("--symbols=names"), "");
    let (_, exact, outer) = answers(&path);
    assert_eq!((exact, outer), (0, 0));
}

#[test]
fn a_stripped_image_keeps_its_tables() {
    let folder = folder("a_stripped_image");
    program(&folder, &["-Cstrip=symbols"]);
    let data = fs::read(folder.join("image")).unwrap();
    let image = Image::parse(&data).unwrap();
    assert_eq!(image.file.symbols().count(), 0);
    assert!(names(&data).iter().any(|name| name == "program::pick"));
    let section = image.section(".sframe").unwrap().unwrap();
    let tables = Tables::new(section.data, section.address);
    assert!(tables.first().unwrap().function_count() > 10);
}
