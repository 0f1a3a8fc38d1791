//! `sframe-link` as the linker of a C compiler: in front of GNU ld and of lld, for both architectures.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::common::{folder, scripts, sframe, stderr, stdout, succeed, tool};
use linker::image::Image;
use object::Object;
use unwind::symbols::SymbolTable;

/// Code that is run once, seldom and often has output sections of its own, beside `.text`.
const SCRIPT: &str = "
ENTRY(_start)
SECTIONS {
    . = 0x40100000;
    .init.text : { *(.init.text) }
    .cold.text : { *(.text.unlikely .text.unlikely.*) }
    .text : { *(.text.hot .text.hot.*) *(.text .text.*) }
    .rodata : ALIGN(CONSTANT(MAXPAGESIZE)) { *(.rodata .rodata.*) }
    .eh_frame : { KEEP(*(.eh_frame)) }
    INCLUDE tables.ld
    . = ALIGN(CONSTANT(MAXPAGESIZE));
    .data : { *(.data .data.*) }
    .bss : { *(.bss .bss.*) }
}
";

/// Builds the kernel with a compiler, looks at its tables, and gives back the file.
fn build(folder: &Path, mut compiler: Command, arguments: &[&str]) -> Vec<u8> {
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kernel.c");
    fs::copy(source, folder.join("kernel.c")).unwrap();
    let output = succeed(
        compiler
            .current_dir(folder)
            .args(["-ffreestanding", "-nostdlib", "-static", "-fno-pic"])
            .args(["-O2", "-g", "-fasynchronous-unwind-tables"])
            .args([
                "-Wl,-Timage.ld",
                "-Wl,--build-id=sha1",
                "-Wl,--sframe-stats=stats.txt",
            ])
            .arg(format!("-L{}", scripts()))
            .args(arguments)
            .args(["kernel.c", "-o", "kernel"]),
    );
    assert_eq!(stderr(&output), "");
    let stats = fs::read_to_string(folder.join("stats.txt")).unwrap();
    assert!(stats.contains(".sframe: 4 functions"), "{stats}");
    let path = folder.join("kernel");
    let check = sframe(&["check"], &path);
    assert!(
        check.status.success(),
        "{}{}",
        stdout(&check),
        stderr(&check)
    );
    let data = fs::read(&path).unwrap();
    let image = Image::parse(&data).unwrap();
    let section = image.section(".symbols").unwrap().unwrap();
    let table = SymbolTable::parse(section.data, section.address).unwrap();
    for section in [".init.text", ".text", ".cold.text"] {
        let code = image.section(section).unwrap();
        let code = code.unwrap_or_else(|| panic!("{section} is missing"));
        let answer = table.resolve(code.address).unwrap();
        let outermost = answer.frames().next_back().unwrap();
        let (file, line) = outermost.place().unwrap();
        assert!(file == *"kernel.c" && line > 0, "{section}: {file}:{line}");
    }
    assert!(
        image
            .file
            .build_id()
            .unwrap()
            .is_some_and(|id| id == table.build_id())
    );
    data
}

fn gcc() -> Command {
    tool("ld", "binutils");
    tool("gcc", "gcc")
}

fn cross_gcc() -> Command {
    tool("aarch64-linux-gnu-ld", "binutils-aarch64-linux-gnu");
    tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
}

fn clang() -> Command {
    tool("ld", "binutils");
    tool("ld.lld", "lld");
    tool("clang", "clang")
}

/// A folder in which `sframe-link` has the name of a linker.
fn called(folder: &Path, name: &str) -> String {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_sframe-link"), bin.join(name)).unwrap();
    bin.display().to_string()
}

#[test]
fn gcc_finds_it_as_ld() {
    let folder = folder("gcc_finds_it_as_ld");
    let bin = called(&folder, "ld");
    let first = build(&folder, gcc(), &["-B", &bin]);
    assert!(
        first == build(&folder, gcc(), &["-B", &bin]),
        "not the same bytes again"
    );
    // Link-time optimization: the linker's plugin runs in each link.
    build(&folder, gcc(), &["-B", &bin, "-flto"]);
}

#[test]
fn a_cross_compiler_names_its_linker() {
    let folder = folder("a_cross_compiler_names_its_linker");
    let bin = called(&folder, "ld");
    let linker = "-Wl,--sframe-linker=aarch64-linux-gnu-ld";
    build(&folder, cross_gcc(), &["-B", &bin, linker]);
}

#[test]
fn clang_takes_it_by_path() {
    let folder = folder("clang_takes_it_by_path");
    let bin = called(&folder, "ld.lld");
    let path = format!("--ld-path={bin}/ld.lld");
    build(&folder, clang(), &["--target=x86_64-linux-gnu", &path]);
    build(&folder, clang(), &["--target=aarch64-none-elf", &path]);
}

/// In front of GNU ld, by its own name.
#[test]
fn clang_takes_it_by_name() {
    let folder = folder("clang_takes_it_by_name");
    let bin = called(&folder, "ld.sframe");
    build(&folder, clang(), &["-fuse-ld=sframe", "-B", &bin]);
}

/// GNU ld keeps sections of different types apart, unless a linker script joins them: gcc's and clang's `.eh_frame` on x86-64.
#[test]
fn each_of_two_sections_of_call_frame_information_is_read() {
    let folder = folder("each_of_two_sections_of_call_frame_information_is_read");
    let script = SCRIPT.replace(".eh_frame : { KEEP(*(.eh_frame)) }", "");
    fs::write(folder.join("image.ld"), script).unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kernel.c");
    fs::copy(source, folder.join("kernel.c")).unwrap();
    fs::write(
        folder.join("other.c"),
        "int other(int x) { return x + 1; }\n",
    )
    .unwrap();
    for (mut compiler, file) in [(gcc(), "kernel.c"), (clang(), "other.c")] {
        compiler
            .current_dir(&folder)
            .args(["-c", "-O2", "-fno-pic"]);
        succeed(compiler.args(["-ffreestanding", "-fasynchronous-unwind-tables", file]));
    }
    let mut link = crate::common::sframe_link();
    link.current_dir(&folder)
        .args(["--sframe-linker=ld", "--sframe-stats=stats.txt"])
        .args(["-L", &scripts(), "-T", "image.ld", "-o", "kernel"])
        .args(["kernel.o", "other.o"]);
    succeed(&mut link);
    let data = fs::read(folder.join("kernel")).unwrap();
    let image = Image::parse(&data).unwrap();
    let both = image.sections(".eh_frame").unwrap();
    assert_eq!(both.len(), 2);
    let bytes: usize = both.iter().map(|section| section.data.len()).sum();
    let stats = fs::read_to_string(folder.join("stats.txt")).unwrap();
    assert!(stats.contains(".sframe: 5 functions"), "{stats}");
    assert!(!stats.contains("synthesized from the code"), "{stats}");
    let shown = crate::common::sframe(&["stats"], &folder.join("kernel"));
    let stats = crate::common::stdout(&shown);
    let line = stats.lines().find(|line| line.starts_with(".eh_frame "));
    let line = line.unwrap_or_else(|| panic!("no size: {stats}"));
    let size = line.split_whitespace().nth(1);
    assert_eq!(size, Some(&*bytes.to_string()), "of both: {stats}");
}
