//! `sframe-link` as the linker of a C compiler: in front of GNU ld and of lld, for both architectures.
//!
//! These compilers are not needed for anything else, so not every machine has them: see `common/tools.rs`.

mod common;
#[path = "common/tools.rs"]
mod tools;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, ExitCode};

use common::{folder, scripts, sframe, stderr, stdout, succeed};
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
fn build(folder: &Path, compiler: &str, arguments: &[&str]) -> Vec<u8> {
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kernel.c");
    fs::copy(source, folder.join("kernel.c")).unwrap();
    let output = succeed(
        Command::new(compiler)
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

/// A folder in which `sframe-link` has the name of a linker.
fn called(folder: &Path, name: &str) -> String {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_sframe-link"), bin.join(name)).unwrap();
    bin.display().to_string()
}

const GCC: (&str, &str) = ("gcc", "gcc");
const LD: (&str, &str) = ("ld", "binutils");
const CROSS_GCC: (&str, &str) = ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu");
const CROSS_LD: (&str, &str) = ("aarch64-linux-gnu-ld", "binutils-aarch64-linux-gnu");
const CLANG: (&str, &str) = ("clang", "clang");
const LLD: (&str, &str) = ("ld.lld", "lld");

fn main() -> ExitCode {
    let test = |name, programs: &'static [(&str, &str)], test: fn()| {
        tools::test(name, || tools::programs(programs), test)
    };
    tools::run(vec![
        test("gcc_finds_it_as_ld", &[GCC, LD], gcc_finds_it_as_ld),
        test(
            "a_cross_compiler_names_its_linker",
            &[CROSS_GCC, CROSS_LD],
            a_cross_compiler_names_its_linker,
        ),
        test(
            "clang_takes_it_by_path",
            &[CLANG, LLD],
            clang_takes_it_by_path,
        ),
        test(
            "clang_takes_it_by_name",
            &[CLANG, LD],
            clang_takes_it_by_name,
        ),
    ])
}

fn gcc_finds_it_as_ld() {
    let folder = folder("gcc_finds_it_as_ld");
    let bin = called(&folder, "ld");
    let first = build(&folder, "gcc", &["-B", &bin]);
    assert!(
        first == build(&folder, "gcc", &["-B", &bin]),
        "not the same bytes again"
    );
    // Link-time optimization: the linker's plugin runs in each link.
    build(&folder, "gcc", &["-B", &bin, "-flto"]);
}

fn a_cross_compiler_names_its_linker() {
    let folder = folder("a_cross_compiler_names_its_linker");
    let bin = called(&folder, "ld");
    let linker = "-Wl,--sframe-linker=aarch64-linux-gnu-ld";
    build(&folder, "aarch64-linux-gnu-gcc", &["-B", &bin, linker]);
}

fn clang_takes_it_by_path() {
    let folder = folder("clang_takes_it_by_path");
    let bin = called(&folder, "ld.lld");
    let path = format!("--ld-path={bin}/ld.lld");
    build(&folder, "clang", &["--target=x86_64-linux-gnu", &path]);
    build(&folder, "clang", &["--target=aarch64-none-elf", &path]);
}

/// In front of GNU ld, by its own name.
fn clang_takes_it_by_name() {
    let folder = folder("clang_takes_it_by_name");
    let bin = called(&folder, "ld.sframe");
    build(&folder, "clang", &["-fuse-ld=sframe", "-B", &bin]);
}
