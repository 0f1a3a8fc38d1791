//! 32-bit ARM: names are made, and no rows, which is said. The compiler's exception tables stay in the image.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use common::{scripts, sframe, sframe_link, stderr};
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, elf};
use unwind::symbols::SymbolTable;

/// A function in ARM code, and one in Thumb code, which it calls.
const TEXT: &str = "
.syntax unified
.arm
.text
.global __aeabi_unwind_cpp_pr0
.type __aeabi_unwind_cpp_pr0, %function
__aeabi_unwind_cpp_pr0:
    bx lr
.size __aeabi_unwind_cpp_pr0, . - __aeabi_unwind_cpp_pr0
.global _start
.type _start, %function
_start:
    .fnstart
    .save {{r4, lr}}
    push {{r4, lr}}
    bl in_thumb
    pop {{r4, pc}}
    .fnend
.size _start, . - _start
.thumb
.global in_thumb
.thumb_func
.type in_thumb, %function
in_thumb:
    .fnstart
    nop
    bx lr
    .fnend
.size in_thumb, . - in_thumb
.arm
";

const SCRIPT: &str = "
ENTRY(_start)
SECTIONS {
    . = 0x40200000;
    .text : { *(.text .text.*) }
    .rodata : { *(.rodata .rodata.*) }
    .ARM.extab : { *(.ARM.extab .ARM.extab.*) }
    .ARM.exidx : { __exidx_start = .; *(.ARM.exidx .ARM.exidx.*) __exidx_end = .; }
    INCLUDE tables.ld
    .data : { *(.data .data.*) }
}
";

fn link(folder: &Path, options: &[&str]) -> (PathBuf, Output) {
    let object = setup::assemble(folder, "armv7a-none-eabi", TEXT).unwrap();
    let (script, image) = (folder.join("script.ld"), folder.join("image"));
    fs::write(&script, SCRIPT).unwrap();
    let mut command = sframe_link();
    command.args(["-flavor", "gnu", "--build-id=sha1"]);
    command.arg(format!("-T{}", script.display()));
    command.arg(format!("-L{}", scripts())).args(options);
    command.arg(object).arg("-o").arg(&image);
    (image, command.output().unwrap())
}

#[test]
fn an_image_has_names_and_its_exception_tables() {
    let folder = common::folder("arm");
    let (image, output) = link(&folder, &["--sframe=none"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(!said.contains("no .sframe"), "{said}");

    let data = fs::read(&image).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let names = file.section_by_name(".symbols").unwrap();
    let table = SymbolTable::parse(names.data().unwrap(), names.address()).unwrap();
    for name in ["_start", "in_thumb"] {
        // That of Thumb code has its lowest bit set.
        let symbol = file.symbols().find(|it| it.name() == Ok(name)).unwrap();
        let start = symbol.address() & !1;
        assert_eq!(start != symbol.address(), name == "in_thumb");
        for at in [start, start + symbol.size() - 1] {
            let range = table.function_range(at).unwrap();
            assert_eq!((range.start, range.end), (start, start + symbol.size()));
            let answer = table.resolve(at).unwrap();
            let frame = answer.frames().next_back().unwrap();
            assert_eq!(frame.name.to_string(), name);
        }
    }
    let index = file.section_by_name(".ARM.exidx").unwrap();
    let loaded = matches!(index.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_ALLOC));
    assert!(loaded && index.size() >= 16);
    let at = |name| file.symbol_by_name(name).unwrap().address();
    assert_eq!(at("__exidx_start"), index.address());
    assert_eq!(at("__exidx_end"), index.address() + index.size());
    // No rows, and nobody is told that there are.
    assert_eq!(at("__sframe_start"), at("__sframe_end"));
}

#[test]
fn rows_that_are_asked_for_are_missed_aloud() {
    let folder = common::folder("arm-rows");
    // The second link finds the image of the first one, and its room.
    for _ in 0..2 {
        let (image, output) = link(&folder, &[]);
        assert!(output.status.success(), "{}", stderr(&output));
        let said = stderr(&output);
        let expected = "sframe-link: warning: no .sframe: SFrame has no ABI for 32-bit ARM";
        assert!(said.contains(expected), "{said}");
        assert!(image.is_file());
    }
    let checked = sframe(&["check"], &folder.join("image"));
    assert!(!checked.status.success());
    let said = stderr(&checked);
    assert!(
        said.contains("32-bit ARM, which has no ABI in SFrame"),
        "{said}"
    );
}
