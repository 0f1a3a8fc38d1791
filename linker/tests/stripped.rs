//! Links that strip what the tables are made from: they give the tables of the link that does not strip.

use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{folder, rustc, sframe, sframe_link, stderr, stdout, succeed, tool};
use linker::image::Image;
use object::{Object, ObjectSection};
use unwind::symbols::SymbolTable;

/// Scripts of kernels often discard `.eh_frame`.
const DISCARDING: &str = "
ENTRY(_start)
SECTIONS {
    . = 0xffffffff80100000;
    .text : { *(.text .text.* .init.text) }
    .rodata : { *(.rodata .rodata.*) }
    .data : { *(.data .data.*) *(.got .got.*) }
    .bss : { *(.bss .bss.*) *(COMMON) }
    /DISCARD/ : { *(.eh_frame*) }
}
";

/// A function that only `.eh_frame` describes, next to those of C, which only `.debug_frame` does.
const CALLS: &str = "
.globl other
.type other, %function
other:
.cfi_startproc
 push %rbx
.cfi_def_cfa_offset 16
.cfi_offset rbx, -16
 call interrupt
 pop %rbx
.cfi_def_cfa_offset 8
 ret
.cfi_endproc
.size other, . - other
";

/// The bytes of the checksum in `.symbols`, which covers the build id.
const CHECKSUM: Range<usize> = 16..20;

/// A table with its address.
type Table = (u64, Vec<u8>);

/// The tables of an image, and whether it has symbols and debug information.
#[derive(Debug, PartialEq, Eq)]
struct Linked {
    tables: [Table; 2],
    has_symbols: bool,
    has_debug: bool,
}

impl Linked {
    /// Reads an image. Its build id, if there is one, must be in the tables, and is replaced by zeros there, as is the checksum.
    fn of(path: &Path) -> Self {
        let data = fs::read(path).unwrap();
        let image = Image::parse(&data).unwrap();
        let rows = match image.architecture.abi {
            Some(_) => ".sframe",
            None => ".unwind_map",
        };
        let [rows, mut symbols] = [rows, ".symbols"].map(|name| {
            let section = image.section(name).unwrap().unwrap();
            (section.address, section.data.to_vec())
        });
        let table = SymbolTable::parse(&symbols.1, symbols.0).unwrap();
        let id = image.file.build_id().unwrap().unwrap_or_default();
        assert_eq!(table.build_id(), id);
        if !id.is_empty() {
            let at = symbols.1.windows(id.len()).position(|part| part == id);
            symbols.1[at.unwrap()..][..id.len()].fill(0);
            symbols.1[CHECKSUM].fill(0);
        }
        let mut sections = image.file.sections();
        Self {
            tables: [rows, symbols],
            has_symbols: image.file.symbol_by_name("other").is_some(),
            has_debug: sections
                .any(|section| section.name_bytes().unwrap().starts_with(b".debug_")),
        }
    }
}

/// Compiles the kernel in C, with debug information and without `.eh_frame`, and assembles [`CALLS`].
fn objects(folder: &Path, compiler: &mut Command) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kernel.c");
    succeed(
        compiler
            .current_dir(folder)
            .args(["-c", "-O2", "-g", "-ffreestanding", "-fno-pic"])
            .args(["-fno-asynchronous-unwind-tables", source, "-o", "kernel.o"]),
    );
    crate::common::assemble(folder, "x86_64-unknown-none", CALLS);
}

fn link(folder: &Path, linker: Option<&Path>, arguments: &[&str]) -> Output {
    let mut command = sframe_link();
    command.current_dir(folder);
    if let Some(linker) = linker {
        command.arg(format!("--sframe-linker={}", linker.display()));
    }
    command.args(["-o", "image", "--build-id=sha1", "kernel.o", "input.o"]);
    command.args(arguments).output().unwrap()
}

/// Each linker, and a name for it.
fn linkers() -> [(&'static str, Option<PathBuf>); 3] {
    let installed =
        |name: &str, package: &str| Some(PathBuf::from(tool(name, package).get_program()));
    [
        ("rust-lld", None),
        ("ld.lld", installed("ld.lld", "lld")),
        ("ld", installed("ld", "binutils")),
    ]
}

/// Links twice, the second time with the space of the first, and returns what the image has, which is the same both times.
fn linked_twice(folder: &Path, linker: Option<&Path>, arguments: &[&str]) -> Linked {
    let image = folder.join("image");
    let _ = fs::remove_file(&image);
    let [first, second] = [(); 2].map(|()| {
        let output = link(folder, linker, arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        // Each warning of the linker is shown once.
        let said = stderr(&output);
        let lines: HashSet<&str> = said.lines().collect();
        assert_eq!(lines.len(), said.lines().count(), "{said}");
        fs::read(&image).unwrap()
    });
    assert!(first == second, "{arguments:?}: the second image differs");
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name());
    let left: Vec<_> = names
        .filter(|name| name.to_string_lossy().contains(".sframe-link."))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    Linked::of(&image)
}

/// A folder in which `sframe-link` has the name of a linker.
fn called(folder: &Path, name: &str) -> String {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_sframe-link"), bin.join(name)).unwrap();
    bin.display().to_string()
}

/// Links with each switch, and expects the tables of the link without it. A switch leaves symbols, and debug information, or not.
#[track_caller]
fn expect_same_tables(
    folder: &Path,
    linker: Option<&Path>,
    others: &[&str],
    switches: &[(&str, bool, bool)],
) {
    let expected = linked_twice(folder, linker, others);
    assert!(expected.has_symbols && expected.has_debug);
    let dump = stdout(&sframe(&["dump"], &folder.join("image")));
    for function in ["set_up", "interrupt", "fail", "_start", "other"] {
        assert!(dump.contains(function), "{function}: {dump}");
    }
    for (switch, has_symbols, has_debug) in switches {
        let found = linked_twice(folder, linker, &[others, &[*switch]].concat());
        assert!(
            found.tables == expected.tables,
            "{switch} gives other tables"
        );
        assert_eq!(
            (found.has_symbols, found.has_debug),
            (*has_symbols, *has_debug),
            "{switch}"
        );
    }
}

#[test]
fn every_switch_that_strips_gives_the_tables_of_the_unstripped_link() {
    for (name, linker) in linkers() {
        let folder = folder(&format!("stripped_{name}"));
        objects(&folder, &mut tool("gcc", "gcc"));
        fs::write(folder.join("discarding.ld"), DISCARDING).unwrap();
        let keeping = DISCARDING.replace(
            "/DISCARD/ : { *(.eh_frame*)",
            ".eh_frame : { KEEP(*(.eh_frame))",
        );
        fs::write(folder.join("keeping.ld"), keeping).unwrap();
        fs::write(
            folder.join("retained"),
            "other\n__sframe_start\n__sframe_end\n",
        )
        .unwrap();
        let linker = linker.as_deref();
        let short = [("-s", false, false), ("-S", true, false)];
        expect_same_tables(&folder, linker, &["-Tdiscarding.ld"], &short);
        let long = [
            ("-strip-all", false, false),
            ("--strip-all", false, false),
            ("-strip-debug", true, false),
            ("--strip-debug", true, false),
            // `other` is global.
            ("-x", true, true),
            ("--retain-symbols-file=retained", true, true),
            ("--discard-all", true, true),
        ];
        expect_same_tables(&folder, linker, &["-Tkeeping.ld"], &long);
        let names = [short[0], short[1], long[4], long[5]];
        expect_same_tables(
            &folder,
            linker,
            &["-Tkeeping.ld", "--symbols=names"],
            &names,
        );
    }
}

/// lld refuses groups of short switches.
#[test]
fn a_group_with_a_switch_that_strips_gives_the_tables_of_the_unstripped_link() {
    for (name, linker) in linkers() {
        let folder = folder(&format!("stripped_in_group_{name}"));
        objects(&folder, &mut tool("gcc", "gcc"));
        fs::write(folder.join("discarding.ld"), DISCARDING).unwrap();
        let linker = linker.as_deref();
        if name == "ld" {
            let groups = [("-Es", false, false), ("-ES", true, false)];
            expect_same_tables(&folder, linker, &["-Tdiscarding.ld"], &groups);
            continue;
        }
        for group in ["-Es", "-ES"] {
            let output = link(&folder, linker, &["-Tdiscarding.ld", group]);
            assert_eq!(output.status.code(), Some(1), "{group}");
            let expected = format!("unknown argument '{group}'");
            assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
        }
    }
}

/// gcc passes the switches on to GNU ld, clang to lld.
#[test]
fn a_compiler_that_strips_gives_the_tables_of_the_unstripped_link() {
    for (name, package) in [("gcc", "gcc"), ("clang", "clang")] {
        let folder = folder(&format!("stripped_by_{name}"));
        objects(&folder, &mut tool(name, package));
        fs::write(folder.join("discarding.ld"), DISCARDING).unwrap();
        let switch = match name {
            "gcc" => format!("-B{}", called(&folder, "ld")),
            _ => format!("--ld-path={}/ld.lld", called(&folder, "ld.lld")),
        };
        let image = folder.join("image");
        let linked = |switches: &[&str]| {
            let _ = fs::remove_file(&image);
            let mut compiler = tool(name, package);
            compiler
                .current_dir(&folder)
                .args(["-nostdlib", "-static", "-Wl,-Tdiscarding.ld", &switch])
                .args(["kernel.o", "input.o", "-o", "image"])
                .args(switches);
            succeed(&mut compiler);
            Linked::of(&image)
        };
        let expected = linked(&[]);
        assert!(expected.has_debug);
        for switch in ["-s", "-Wl,-s", "-Wl,-S", "-Wl,--strip-debug"] {
            let found = linked(&[switch]);
            assert!(found.tables == expected.tables, "{name} {switch}");
            assert!(!found.has_debug, "{name} {switch}");
        }
    }
}

/// Compiles and links the program for a target.
fn rust(folder: &Path, target: &str, switches: &[&str]) -> Linked {
    let image = folder.join("image");
    let _ = fs::remove_file(&image);
    let mut rustc = rustc();
    let core = setup::core_library(target, &setup::workspace::target_folder().unwrap());
    core.unwrap().give_to(&mut rustc);
    rustc
        .current_dir(folder)
        .args(["--edition=2024", "--target", target, "-Cpanic=abort", "-g"])
        .args(["-Crelocation-model=static", "-Copt-level=3"])
        .arg(format!("-Clinker={}", env!("CARGO_BIN_EXE_sframe-link")))
        .args(["program.rs", "-o", "image"])
        .args(switches);
    succeed(&mut rustc);
    Linked::of(&image)
}

/// The assembly of the program, as x86-64, AArch64 and 32-bit ARM have it.
const ASSEMBLY: [[&str; 3]; 5] = [
    ["\"call start", "\"bl start", "\"bl start"],
    [": call start", ": bl start", ": bl start"],
    ["\"hlt\"", "\"wfi\"", "\"wfi\""],
    ["\"ret\"", "\"ret\"", "\"bx lr\""],
    ["undefined rip", "undefined lr", "undefined lr"],
];

/// `core` as rustup distributes it has only `.debug_frame` for x86-64 and 32-bit ARM. cargo strips release builds.
#[test]
fn a_rust_program_gets_the_same_tables_in_every_profile() {
    let targets = [
        "x86_64-unknown-none",
        "aarch64-unknown-none-softfloat",
        "armv7a-none-eabi",
    ];
    for (index, target) in targets.into_iter().enumerate() {
        let folder = folder(&format!("stripped_{target}"));
        crate::common::sources(&folder);
        let mut program = fs::read_to_string(folder.join("program.rs")).unwrap();
        for line in ASSEMBLY {
            program = program.replace(line[0], line[index]);
        }
        fs::write(folder.join("program.rs"), program.replace('@', "%")).unwrap();
        fs::write(
            folder.join("discarding.ld"),
            DISCARDING.replace("0xffffffff80", "0x"),
        )
        .unwrap();
        for switches in [
            &["-Cforce-unwind-tables=yes"][..],
            &["-Cforce-unwind-tables=yes", "-Clink-arg=-Tdiscarding.ld"],
            &["-Cforce-unwind-tables=no", "-Clink-arg=-Tdiscarding.ld"],
        ] {
            let expected = rust(&folder, target, switches);
            assert!(expected.has_debug);
            let dump = stdout(&sframe(&["dump"], &folder.join("image")));
            assert!(
                dump.contains("core::panicking::panic_bounds_check"),
                "{dump}"
            );
            for strip in ["-Cstrip=debuginfo", "-Cstrip=symbols"] {
                let found = rust(&folder, target, &[switches, &[strip]].concat());
                assert!(
                    found.tables == expected.tables,
                    "{target} {switches:?} {strip}"
                );
                assert!(!found.has_debug);
            }
        }
    }
}

/// A script can put into the image what stripping changes. The tables could not be checked then.
#[test]
fn a_link_whose_loaded_bytes_change_by_stripping_is_refused() {
    for (name, linker) in linkers() {
        let folder = folder(&format!("stripped_otherwise_{name}"));
        objects(&folder, &mut tool("gcc", "gcc"));
        let script = DISCARDING
            .replace("*(.rodata ", "QUAD(SIZEOF(.debug_line)) *(.rodata ")
            .replace("/DISCARD/", ".debug_line 0 : { *(.debug_line) } /DISCARD/");
        fs::write(folder.join("image.ld"), script).unwrap();
        let arguments = ["-Timage.ld", "--strip-debug"];
        for _ in 0..2 {
            let output = link(&folder, linker.as_deref(), &arguments);
            assert_eq!(output.status.code(), Some(1));
            let said = stderr(&output);
            let expected =
                "sframe-link: error: image: section .rodata has different bytes at 0xffffffff8010";
            assert!(said.contains(expected), "{name}: {said}");
            assert!(!folder.join("image").exists());
        }
        let output = link(&folder, linker.as_deref(), &arguments[..1]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
}
