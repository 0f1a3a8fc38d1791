//! Links whose scripts have no place for the tables, or that have no script: `sframe-link` finds one, by lld and by GNU ld.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{folder, sframe, stderr, stdout, tool};
use linker::image::Image;
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags, elf};

pub const X86_64: &str = "x86_64-unknown-linux-gnu";
pub const AARCH64: &str = "aarch64-unknown-none-softfloat";

/// A program that knows where its tables are, with code in two sections.
pub const PROGRAM: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
 call other
 hlt
.cfi_endproc
.size _start, . - _start
.section .text.other, \"ax\", %progbits
.type other, %function
other:
.cfi_startproc
 push %rbx
.cfi_def_cfa_offset 16
 pop %rbx
.cfi_def_cfa_offset 8
 ret
.cfi_endproc
.size other, . - other
.section .rodata, \"a\", %progbits
.quad 7
.data
.globl found
found: .quad __sframe_start, __sframe_end, __symbols_start, __symbols_end
";

/// The same for AArch64.
pub fn aarch64() -> String {
    PROGRAM
        .replace("call", "bl")
        .replace("hlt", "wfi")
        .replace("push %rbx", "sub sp, sp, #16")
        .replace("pop %rbx", "add sp, sp, #16")
        .replace("offset 8", "offset 0")
}

/// What scripts of kernels look like: with segments of their own, without `.text`, with other code far behind it.
const SCRIPTS: [(&str, &str); 4] = [
    (
        "plain",
        "SECTIONS { . = 1M; text_start = .; .text : { *(.text .text.*) } text_end = .; . = ALIGN(4096);
         .rodata : { *(.rodata .rodata.*) } .eh_frame : { KEEP(*(.eh_frame)) } .data : { *(.data .data.*) } }",
    ),
    (
        "segments",
        "PHDRS { text PT_LOAD FLAGS(5); rodata PT_LOAD FLAGS(4); data PT_LOAD FLAGS(6); }
         SECTIONS { . = 0xffffffff80000000; .text : { *(.text .text.*) } :text . = ALIGN(4096);
         .rodata : { *(.rodata .rodata.*) } :rodata .data : { *(.data .data.*) } :data }",
    ),
    (
        "no_text",
        "SECTIONS { . = 1M; .boot : { *(.text) } .code : { *(.text.*) } .rodata : { *(.rodata .rodata.*) }
         .data : { *(.data .data.*) } }",
    ),
    // What no script names, as `.eh_frame` here, comes to another place when the tables have a size.
    (
        "code_behind",
        "SECTIONS { . = 1M; .text : { *(.text) } .rodata : { *(.rodata .rodata.*) } .more : { *(.text.*) }
         .data : { *(.data .data.*) } }",
    ),
];

/// Links, and returns what was said.
pub fn link(folder: &Path, linker: Option<&Path>, script: Option<&str>, more: &[&str]) -> Output {
    let mut command = crate::common::sframe_link();
    command
        .current_dir(folder)
        .args(["-o", "image", "-e", "_start", "input.o"]);
    if let Some(linker) = linker {
        command.arg(format!("--sframe-linker={}", linker.display()));
    }
    if let Some(script) = script {
        fs::write(folder.join("image.ld"), script).unwrap();
        command.args(["-T", "image.ld"]);
    }
    command.args(more).output().unwrap()
}

/// Checks an image: both tables are loaded where the program looks for them, and are right.
#[track_caller]
fn expect_tables(folder: &Path, is_pie: bool) {
    let path = folder.join("image");
    let check = sframe(&["check"], &path);
    let text = stdout(&check);
    assert!(check.status.success(), "{text}{}", stderr(&check));
    assert!(
        text.contains("compared 2 functions, 4 unwind rows and 8 addresses: 0 differences\n"),
        "{text}"
    );
    let data = fs::read(&path).unwrap();
    let image = Image::parse(&data).unwrap();
    let tables = [".sframe", ".symbols"].map(|name| image.section(name).unwrap().unwrap());
    for table in &tables {
        let mut segments = image.file.segments();
        let is_loaded = segments.any(|segment| {
            let flags = matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.contains(elf::PF_R));
            let end = segment.address() + segment.size();
            flags && segment.address() <= table.address && table.address + table.data.len() as u64 <= end
        });
        assert!(is_loaded, "{:#x}", table.address);
    }
    let [sframe, symbols] =
        tables.map(|table| [table.address, table.address + table.data.len() as u64]);
    let words = image.file.section_by_name(".data").unwrap();
    let words = words.data().unwrap().chunks_exact(8);
    let words: Vec<u64> = words
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    // The loader fills in those of a PIE.
    if !is_pie {
        assert_eq!(words, [sframe, symbols].concat());
    }
    let left: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    let is_left = |name: &&std::ffi::OsString| name.to_string_lossy().contains(".sframe-link.");
    assert_eq!(left.iter().find(is_left), None);
}

/// Links in each way, twice: the second time with the room of the first.
fn in_every_way(name: &str, target: &str, text: &str, linker: Option<&Path>) {
    let scripts = SCRIPTS.map(|(name, script)| (name, Some(script)));
    let ways = [("none", None)].into_iter().chain(scripts);
    for (way, script) in ways {
        for mode in ["-static", "-pie"] {
            let folder = folder(&format!("place_{name}_{way}{mode}"));
            crate::common::assemble(&folder, target, text);
            let mut last = None;
            for _ in 0..2 {
                let output = link(&folder, linker, script, &[mode]);
                let said = stderr(&output);
                assert!(output.status.success(), "{way}{mode}: {said}");
                expect_tables(&folder, mode == "-pie");
                let image = fs::read(folder.join("image")).unwrap();
                assert!(
                    last.is_none_or(|last| last == image),
                    "{way}{mode}: another image"
                );
                last = Some(image);
            }
        }
    }
}

/// A linker of Debian's.
pub fn installed(name: &str, package: &str) -> PathBuf {
    PathBuf::from(tool(name, package).get_program())
}

#[test]
fn rust_lld_gets_a_place() {
    in_every_way("lld", X86_64, PROGRAM, None);
}

#[test]
fn rust_lld_gets_a_place_aarch64() {
    in_every_way("lld_aarch64", AARCH64, &aarch64(), None);
}

#[test]
fn gnu_ld_gets_a_place() {
    let ld = installed("ld", "binutils");
    in_every_way("ld", X86_64, PROGRAM, Some(&ld));
}

#[test]
fn gnu_ld_gets_a_place_aarch64() {
    let ld = installed("aarch64-linux-gnu-ld", "binutils-aarch64-linux-gnu");
    in_every_way("ld_aarch64", AARCH64, &aarch64(), Some(&ld));
}

#[test]
fn the_linkers_own_words_are_about_the_program() {
    let folder = folder("place_undefined");
    let text = PROGRAM.replace("call other", "call nobody");
    crate::common::assemble(&folder, X86_64, &text);
    let output = link(&folder, None, None, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("undefined symbol: nobody"), "{said}");
    assert!(!said.contains("__sframe_start"), "{said}");
}

/// Regions without attributes do not tell which one is for tables, unless there is a section for constants alone.
#[test]
fn regions_have_to_be_named() {
    let regions = "MEMORY { FLASH : ORIGIN = 1M, LENGTH = 64K RAM : ORIGIN = 2M, LENGTH = 64K }
         SECTIONS { .text : { *(.text .text.*) CONSTANTS } > FLASH PLACE
         .eh_frame : { KEEP(*(.eh_frame)) } > FLASH .data : { *(.data .data.*) } > RAM }";
    let ld = installed("ld", "binutils");
    for (name, linker) in [("lld", None), ("ld", Some(&*ld))] {
        let folder = folder(&format!("place_regions_{name}"));
        crate::common::assemble(&folder, X86_64, PROGRAM);
        let constants = "*(.rodata .rodata.*)";
        let own = format!(".rodata : {{ {constants} }} > FLASH");
        let alone = regions.replace("CONSTANTS", "").replace("PLACE", &own);
        let output = link(&folder, linker, Some(&alone), &["--sframe-require"]);
        assert!(output.status.success(), "{}", stderr(&output));
        expect_tables(&folder, false);
        fs::remove_file(folder.join("image")).unwrap();
        let regions = regions.replace("CONSTANTS", constants);
        let output = link(&folder, linker, Some(&regions.replace("PLACE", "")), &[]);
        // An image is better than none, unless that is said.
        assert!(output.status.success(), "{}", stderr(&output));
        let warning = "sframe-link: warning: image is linked without unwind tables: the linker cannot place unwind tables after section .text: ";
        assert!(stderr(&output).contains(warning), "{}", stderr(&output));
        let data = fs::read(folder.join("image")).unwrap();
        assert!(
            Image::parse(&data)
                .unwrap()
                .section(".sframe")
                .unwrap()
                .is_none()
        );
        let required = link(
            &folder,
            linker,
            Some(&regions.replace("PLACE", "")),
            &["--sframe-require"],
        );
        assert_eq!(required.status.code(), Some(1));
        assert!(!folder.join("image").exists());
        let note = "sframe-link: note: copy the output of `sframe-link --sframe-script` into the linker script";
        assert!(stderr(&output).contains(note), "{}", stderr(&output));
        let region = "give each section a memory region, for example > FLASH\n";
        assert!(stderr(&output).contains(region), "{}", stderr(&output));
        let printed = crate::common::succeed(crate::common::sframe_link().arg("--sframe-script"));
        let sections = stdout(&printed);
        let (tables, discarded) = sections.split_once("/DISCARD/").unwrap();
        let place = format!(
            "{}/DISCARD/{discarded}",
            tables.replace("\n}", "\n} > FLASH")
        );
        let output = link(
            &folder,
            linker,
            Some(&regions.replace("PLACE", &place)),
            &[],
        );
        assert!(output.status.success(), "{}", stderr(&output));
        expect_tables(&folder, false);
    }
}

/// Scripts of kernels name sections that GNU ld makes itself, and puts into the first input: it must not be ours.
#[test]
fn sections_keep_their_types() {
    let with_relocations = (
        "relocations",
        "SECTIONS { . = 1M; .text : { *(.text .rela.text .text.*) } .rodata : { *(.rodata .rela.rodata) }
         .data : { *(.data .rela.data) } }",
    );
    let ld = installed("ld", "binutils");
    let lld = installed("ld.lld", "lld");
    for linker in [&ld, &lld] {
        for (name, script) in SCRIPTS.into_iter().chain([with_relocations]) {
            let kind = linker.file_name().unwrap().to_str().unwrap();
            let folder = folder(&format!("place_types_{name}_{kind}"));
            crate::common::assemble(&folder, X86_64, PROGRAM);
            let types = || {
                let data = fs::read(folder.join("image")).unwrap();
                let file = object::File::parse(&*data).unwrap();
                let sections = file.sections().filter(|section| {
                    let name = section.name().unwrap();
                    section.size() > 0
                        && !["", ".sframe", ".symbols"].contains(&name)
                        && !name.contains("strtab")
                        && name != ".symtab"
                });
                let types =
                    sections.map(|section| (section.name().unwrap().to_owned(), section.flags()));
                types.collect::<Vec<_>>()
            };
            fs::write(folder.join("image.ld"), script).unwrap();
            let mut alone = Command::new(linker);
            alone
                .current_dir(&folder)
                .args(["-o", "image", "-e", "_start", "input.o", "-T", "image.ld"]);
            let symbols = [
                "__sframe_start",
                "__sframe_end",
                "__symbols_start",
                "__symbols_end",
            ];
            alone.args(symbols.map(|symbol| format!("--defsym={symbol}=0")));
            crate::common::succeed(&mut alone);
            let expected = types();
            let output = link(&folder, Some(linker), Some(script), &[]);
            assert!(output.status.success(), "{name}: {}", stderr(&output));
            assert_eq!(types(), expected, "{name} by {kind}");
        }
    }
}

/// What follows `-b binary` is bytes to a linker; the tables' object must not be.
#[test]
fn bytes_may_come_last() {
    let ld = installed("ld", "binutils");
    for (name, linker) in [("lld", None), ("ld", Some(&*ld))] {
        let folder = folder(&format!("place_binary_{name}"));
        crate::common::assemble(&folder, X86_64, PROGRAM);
        fs::write(folder.join("disk.bin"), "bytes").unwrap();
        for _ in 0..2 {
            let output = link(
                &folder,
                linker,
                Some(SCRIPTS[0].1),
                &["--oformat", "elf64-x86-64", "-b", "binary", "disk.bin"],
            );
            assert!(output.status.success(), "{}", stderr(&output));
            let check = sframe(&["check"], &folder.join("image"));
            assert!(check.status.success(), "{}", stdout(&check));
            let data = fs::read(folder.join("image")).unwrap();
            let image = Image::parse(&data).unwrap();
            assert!(
                image
                    .file
                    .symbol_by_name("_binary_disk_bin_start")
                    .is_some()
            );
            assert!(image.section(".sframe").unwrap().is_some());
        }
    }
}

/// Symbols are stripped by the second link, so the tables are made from the first one.
#[test]
fn a_stripped_image_gets_a_place() {
    let folder = folder("place_stripped");
    crate::common::assemble(&folder, X86_64, PROGRAM);
    for (_, script) in SCRIPTS.iter().take(3) {
        let output = link(&folder, None, Some(script), &["-s"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let data = fs::read(folder.join("image")).unwrap();
        let image = Image::parse(&data).unwrap();
        assert!(image.file.symbols().next().is_none());
        assert!(image.section(".sframe").unwrap().unwrap().data.len() > 64);
    }
}

/// A Rust program with nothing but `linker = "sframe-link"`.
#[test]
fn rustc_needs_no_script() {
    let folder = folder("place_rustc");
    crate::common::sources(&folder);
    let mut rustc = Command::new(crate::common::rustc().get_program());
    let linker = format!("-Clinker={}", env!("CARGO_BIN_EXE_sframe-link"));
    rustc
        .current_dir(&folder)
        .args(["--edition=2024", "-Cpanic=abort", "-Clinker-flavor=ld.lld"]);
    rustc.args([
        "-Crelocation-model=static",
        "-Copt-level=1",
        "-Cdebuginfo=1",
    ]);
    rustc.args([&linker, "-o", "image", "program.rs"]);
    let output = rustc.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let check = sframe(&["check"], &folder.join("image"));
    let text = stdout(&check);
    assert!(check.status.success(), "{text}");
    assert!(
        text.contains("compared .symbols with debug information"),
        "{text}"
    );
}
