//! `sframe make`: tables added to files that are linked already, and those files still work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{folder, rustc, scripts, sframe, sframe_link, stderr, stdout, succeed};
use object::elf;
use object::{Object, ObjectSection, ObjectSegment};

/// Runs `sframe make`, and `sframe check` on the result; what `make` printed.
fn make(file: &Path, output: &Path, options: &[&str]) -> String {
    let mut arguments = vec!["make", "-o", output.to_str().unwrap()];
    arguments.extend(options);
    let made = sframe(&arguments, file);
    assert!(made.status.success(), "{}", stderr(&made));
    let check = sframe(&["check"], output);
    let text = stdout(&check) + &stderr(&check);
    assert!(check.status.success(), "{text}");
    assert!(text.contains(": 0 differences"), "{text}");
    stdout(&made)
}

/// The first addition may only change where the file's header says that other headers are: bytes 32 to 47, and the
/// counts from 56 on.
fn assert_only_appended(before: &Path, after: &Path) {
    let (before, after) = (fs::read(before).unwrap(), fs::read(after).unwrap());
    assert_eq!(before[..32], after[..32]);
    assert_eq!(before[48..56], after[48..56]);
    assert!(before[64..] == after[64..before.len()]);
}

/// Compiles a Rust program that prints the magic number and the size of its own `.sframe`, if its program headers have one.
fn program(folder: &Path, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/finds_table.rs");
    let program = folder.join("program");
    let mut rustc = rustc();
    let rustc = rustc.args(["--edition=2024", "-o"]).arg(&program);
    succeed(rustc.args(options).arg(source));
    program
}

#[test]
fn a_program_with_tables_runs_and_shows_them() {
    let folder = folder("make_program");
    let program = &program(&folder, &["-g"]);
    let (once, twice) = (folder.join("once"), folder.join("twice"));
    let first = make(program, &once, &["--symbols=names"]);
    assert!(first.starts_with(".sframe: "), "{first}");
    assert!(
        first.contains("\n.symbols: level of detail names, "),
        "{first}"
    );
    assert_only_appended(program, &once);

    assert!(stdout(&sframe(&["stats"], &once)).contains(", flexible functions: "));
    // It runs.
    let found = stdout(&succeed(&mut Command::new(&once)));
    assert!(found.starts_with("0xdee2, "), "{found}");

    // Made again, the sections are replaced. What was made from the code is now in a table that is there.
    let second = make(&once, &twice, &["--symbols=names"]);
    let said = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("functions and unwind rows that are "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(said(&second), said(&first));
    let (once, twice) = (fs::read(once).unwrap(), fs::read(&twice).unwrap());
    let names = |data: &[u8]| -> Vec<String> {
        let file = object::File::parse(data).unwrap();
        let sections = file.sections();
        sections
            .map(|section| section.name().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&once), names(&twice));
}

/// A loader knows the table, and has loaded it, however the program is linked.
#[test]
#[cfg(target_os = "linux")]
fn a_program_finds_its_table() {
    let folder = folder("make_finds");
    for model in ["pie", "static"] {
        let program = program(&folder, &[&format!("-Crelocation-model={model}")]);
        let made = folder.join("made");
        assert_eq!(stdout(&succeed(&mut Command::new(&program))), "");
        let text = make(&program, &made, &["--symbols=none"]);
        let size = text.lines().next().unwrap().rsplit(", ").next().unwrap();
        let found = stdout(&succeed(&mut Command::new(&made)));
        assert_eq!(found, format!("0xdee2, {size}\n"));
    }
}

#[test]
fn the_new_segment_lies_behind_all_others() {
    let folder = folder("make_segments");
    let made = folder.join("made");
    make(&program(&folder, &[]), &made, &["--symbols=none"]);
    let data = fs::read(made).unwrap();
    let file = object::File::parse(data.as_slice()).unwrap();
    let section = file.section_by_name(".sframe").unwrap();
    let mut segments: Vec<_> = file.segments().collect();
    let last = segments.pop().unwrap();
    for segment in segments {
        assert!(segment.address() + segment.size() <= last.address());
    }
    let range = last.address()..last.address() + last.size();
    assert!(range.contains(&section.address()));
    assert!(section.address() + section.size() <= range.end);
    let object::File::Elf64(file) = &file else {
        panic!("not 64 bits");
    };
    let endian = file.endian();
    let headers = file.elf_program_headers();
    let of_kind = |kind| headers.iter().find(|one| one.p_type.get(endian) == kind);
    let covering = of_kind(elf::PT_GNU_SFRAME).unwrap();
    assert_eq!(covering.p_vaddr.get(endian), section.address());
    assert_eq!(covering.p_filesz.get(endian), section.size());
    let own = of_kind(elf::PT_PHDR).unwrap();
    assert_eq!(
        own.p_offset.get(endian),
        file.elf_header().e_phoff.get(endian)
    );
}

/// The machine's own C library, in the versions that a program with tables loads.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_c_library_with_tables_is_loaded() {
    let folder = folder("make_library");
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let library = maps
        .lines()
        .find_map(|line| {
            Some(PathBuf::from(&line[line.find('/')?..])).filter(|path| path.ends_with("libc.so.6"))
        })
        .unwrap();
    let made = folder.join("libc.so.6");
    make(&library, &made, &[]);
    assert_only_appended(&library, &made);
    // It is stripped, but for what it exports.
    let dump = stdout(&sframe(&["dump"], &made));
    // Without debug information nothing tells `malloc` and its alias apart.
    let is_malloc = |line: &str| line.ends_with("  malloc (or __libc_malloc)");
    assert!(dump.lines().any(is_malloc), "no malloc");
    // If the checker does not follow one function that many others call, it proves a tenth of the library.
    let check = Command::new(env!("CARGO_BIN_EXE_sframe"))
        .args(["check", "--coverage=0"])
        .arg(&made)
        .output()
        .unwrap();
    let report = stdout(&check);
    let proved = report
        .split_once("the checker proved the unwind rows for ")
        .and_then(|(_, rest)| rest.split_once(" %"));
    let proved: f64 = proved.expect("no share").0.parse().unwrap();
    assert!(proved >= 98.5, "{report}");
    let output = succeed(
        Command::new(env!("CARGO_BIN_EXE_sframe"))
            .arg("--version")
            .env("LD_LIBRARY_PATH", &folder),
    );
    assert!(stdout(&output).starts_with("sframe "));
}

/// The toolchain's own library, which another program made.
#[test]
fn a_rust_library_gets_tables() {
    let folder = folder("make_rust");
    let sysroot = stdout(&succeed(rustc().args(["--print", "sysroot"])));
    let library = fs::read_dir(Path::new(sysroot.trim()).join("lib/rustlib"))
        .unwrap()
        .filter_map(|target| fs::read_dir(target.unwrap().path().join("lib")).ok())
        .flatten()
        .map(|file| file.unwrap().path())
        .find(|path| path.extension().is_some_and(|kind| kind == "so"))
        .unwrap();
    for (version, switch) in [(2, "--sframe=v2"), (3, "--sframe=v3")] {
        let made = folder.join(version.to_string());
        make(&library, &made, &[switch, "--symbols=none"]);
        let dump = stdout(&crate::common::sframe(&["dump"], &made));
        assert!(dump.contains(&format!("    Version: {version}\n")));
    }
}

/// An image for bare metal, for another architecture, whose physical addresses are others.
#[test]
fn a_bare_metal_image_keeps_its_physical_addresses() {
    let folder = folder("make_bare_metal");
    let object = crate::common::assemble(
        &folder,
        "aarch64-unknown-none-softfloat",
        ".globl _start\n.type _start, %function\n_start:\n.cfi_startproc\n str x30, [sp, #-16]!\n\
         .cfi_def_cfa_offset 16\n .cfi_offset x30, -16\n ret\n.cfi_endproc\n.size _start, . - _start\n",
    );
    fs::write(
        folder.join("image.ld"),
        "ENTRY(_start) SECTIONS { . = 0xffff000040200000;\n\
         .text : AT(0x40200000) { *(.text .text.*) }\n.eh_frame : { *(.eh_frame) } }",
    )
    .unwrap();
    let image = folder.join("image");
    succeed(
        sframe_link()
            .current_dir(&folder)
            .args([
                "-T",
                "image.ld",
                "-L",
                &scripts(),
                "--sframe=none",
                "--symbols=none",
                "-o",
            ])
            .arg(&image)
            .arg(object),
    );
    let made = folder.join("made");
    let text = make(&image, &made, &[]);
    assert!(text.starts_with(".sframe: 1 functions, 2 rows"), "{text}");
    let data = fs::read(made).unwrap();
    let object::File::Elf64(file) = object::File::parse(data.as_slice()).unwrap() else {
        panic!("not 64 bits");
    };
    let endian = file.endian();
    for segment in file.elf_program_headers() {
        if [elf::PT_LOAD, elf::PT_GNU_SFRAME].contains(&segment.p_type.get(endian)) {
            let (address, physical) = (segment.p_vaddr.get(endian), segment.p_paddr.get(endian));
            assert_eq!(address - physical, 0xffff_0000_0000_0000);
        }
    }
}

#[test]
fn what_has_nothing_to_make_tables_from_is_refused() {
    let folder = folder("make_refused");
    fs::write(folder.join("empty.rs"), "").unwrap();
    succeed(rustc().current_dir(&folder).args([
        "--crate-type=lib",
        "--emit=obj",
        "empty.rs",
        "-o",
        "empty.o",
    ]));
    let output = folder.join("out");
    let made = sframe(
        &["make", "-o", output.to_str().unwrap()],
        &folder.join("empty.o"),
    );
    assert_eq!(made.status.code(), Some(1));
    assert!(
        stderr(&made).contains("the file is an object file"),
        "{}",
        stderr(&made)
    );
    assert!(!output.exists());
}

/// With a rule map loaded, `.sframe` is in no segment, and both say the same. Each can be made again as the other.
#[test]
fn a_rule_map_is_loaded_instead() {
    let folder = folder("make_map");
    let program = &program(&folder, &["-g"]);
    let [map, again, plain] = ["map", "again", "plain"].map(|name| folder.join(name));
    let switches = ["--symbols=names", "--sframe-load=map"];
    let text = make(program, &map, &switches);
    assert!(text.starts_with(".unwind_map: "), "{text}");
    assert_only_appended(program, &map);
    let check = stdout(&sframe(&["check"], &map));
    let compared = "addresses of .unwind_map with .sframe: 0 differences\n";
    assert!(check.contains(compared), "{check}");
    let stats = stdout(&sframe(&["stats"], &map));
    assert!(stats.contains("\n.unwind_map: "), "{stats}");
    // It runs. No program header leads to `.sframe`.
    assert_eq!(stdout(&succeed(&mut Command::new(&map))), "");

    make(&map, &again, &switches);
    make(&again, &plain, &["--symbols=names"]);
    for (file, has_map) in [(&map, true), (&again, true), (&plain, false)] {
        let data = fs::read(file).unwrap();
        let file = object::File::parse(data.as_slice()).unwrap();
        let is_loaded = |name| {
            let section = file.section_by_name(name)?;
            let (from, size) = section.file_range().unwrap();
            Some(file.segments().any(|segment| {
                let (start, length) = segment.file_range();
                start <= from && from + size <= start + length
            }))
        };
        assert_eq!(is_loaded(".unwind_map"), has_map.then_some(true));
        assert_eq!(is_loaded(".sframe"), Some(!has_map));
        let object::File::Elf64(file) = &file else {
            panic!("not 64 bits");
        };
        let endian = file.endian();
        let own = |one: &&elf::ProgramHeader64<_>| one.p_type.get(endian) == elf::PT_GNU_SFRAME;
        let count = file.elf_program_headers().iter().filter(own).count();
        assert_eq!(count, usize::from(!has_map));
    }
}
