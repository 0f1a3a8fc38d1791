//! A name and a line of one frame are of the same function.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{
    SCRIPT, assemble, folder, scripts, sframe, sframe_link, stderr, stdout, succeed, tool,
};
use linker::image::Image;
use object::{Object, ObjectSymbol};

mod dropped;
mod named;
mod removed;
mod split;
mod witness;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The address, name and size of each function in these tests is that of the source, so that no compiler may join or reorder them.
const SWITCHES: [&str; 7] = [
    "-c",
    "-O2",
    "-ffreestanding",
    "-fno-pic",
    "-fno-toplevel-reorder",
    "-fno-asynchronous-unwind-tables",
    "-fcf-protection=none",
];

/// Compiles C in a folder.
fn compile(folder: &Path, text: &str, switches: &[&str]) -> PathBuf {
    fs::write(folder.join("source.c"), text).unwrap();
    let mut compiler = tool("gcc", "gcc");
    compiler.current_dir(folder).args(SWITCHES).args(switches);
    succeed(compiler.args(["source.c", "-o", "source.o"]));
    folder.join("source.o")
}

/// Links objects with a script, and returns the image and the output of the link.
fn link(folder: &Path, script: &str, arguments: &[&str]) -> (PathBuf, Output) {
    fs::write(folder.join("image.ld"), script).unwrap();
    let output = succeed(
        sframe_link()
            .current_dir(folder)
            .args(["-T", "image.ld", "-L", &scripts(), "--symbols=all"])
            .args(["-o", "image"])
            .args(arguments),
    );
    (folder.join("image"), output)
}

/// The answer of the tables for an address.
fn lookup(image: &Path, address: u64) -> String {
    let found = stdout(&sframe(&["lookup", &format!("{address:#x}")], image));
    let line = found.lines().next().unwrap_or_default();
    let (_, answer) = line.split_once(": ").unwrap();
    answer.split(", ").next().unwrap().to_owned()
}

/// The address of a symbol.
fn address_of(image: &Path, name: &str) -> u64 {
    let data = fs::read(image).unwrap();
    let image = Image::parse(&data).unwrap();
    image.file.symbol_by_name(name).unwrap().address()
}

const CALLED: &str = "
int called(int *p)
{
    return *p + 5;
}
";

/// A function of C whose symbol is gone, after one of assembly that has a size, which is too large by one function.
#[test]
fn function_in_the_size_of_another_has_no_line_of_it() {
    let folder = folder("lines_size_too_large");
    compile(&folder, CALLED, &["-g"]);
    let text = "
        .globl _start
        .type _start, %function
        _start: nop
         hlt
        .size _start, 4
    ";
    assemble(&folder, TARGET, text);
    let script = SCRIPT.replace("*(.text .text.*)", "input.o(.text) source.o(.text)");
    let script = script.replace(".text :", ".text : SUBALIGN(1)");
    let mut strip = tool("objcopy", "binutils");
    strip.current_dir(&folder);
    succeed(strip.args(["--strip-symbol", "called", "source.o"]));
    let (image, output) = link(&folder, &script, &["input.o", "source.o"]);
    let start = address_of(&image, "_start");
    assert_eq!(lookup(&image, start + 2), "_start+0x2/0x4");
    let warned = stderr(&output);
    assert!(
        warned.contains(
            "no line information for code in 1 function (first: _start at 0xffffffff80100002): "
        ),
        "{warned}"
    );
    assert_eq!(
        warned.matches("no line information for").count(),
        1,
        "{warned}"
    );
}

/// The debug information of gcc contains lines, and no function, for one of two identical functions.
#[test]
fn function_that_gcc_found_identical_has_no_line_and_the_warning_names_the_flag() {
    let folder = folder("lines_identical");
    let text = "
        int first(void) { return 1; }
        int second(void) { return 1; }
        int _start(int number) { return number * first() + second(); }
    ";
    let warned = |flags: &[&str]| {
        compile(&folder, text, &[&["-g"], flags].concat());
        let (_, output) = link(&folder, SCRIPT, &["source.o"]);
        stderr(&output)
    };
    let identical = warned(&[]);
    assert!(
        identical.contains("no line information for code in 1 function (first: "),
        "{identical}"
    );
    assert!(identical.contains("-fno-ipa-icf"), "{identical}");
    let described = warned(&["-fno-ipa-icf"]);
    assert!(
        !described.contains("no line information for"),
        "{described}"
    );
}

/// Parts and aliases of a function have its lines, and the answer contains all aliases.
#[test]
fn parts_and_aliases_of_a_function_have_its_lines() {
    let folder = folder("lines_parts");
    let text = "
        void warn(int) __attribute__((cold));
        __attribute__((noinline)) void warn(int number) { __asm__ volatile(\"\" :: \"r\"(number)); }
        int _start(int *p)
        {
            if (*p == 7) { warn(8); *p = 9; }
            return *p + 5;
        }
        int zlias(int *p) __attribute__((alias(\"_start\")));
        int alias_with_a_longer_name(int *p) __attribute__((alias(\"_start\")));
    ";
    compile(&folder, text, &["-g"]);
    let (image, output) = link(&folder, SCRIPT, &["source.o"]);
    let warned = stderr(&output);
    assert!(!warned.contains("no line information for"), "{warned}");
    let start = address_of(&image, "_start");
    let answer = lookup(&image, start);
    let names = "zlias (or _start or alias_with_a_longer_name)+0x0/";
    assert!(answer.starts_with(names), "{answer}");
    assert!(answer.ends_with("source.c:6"), "{answer}");
    let answer = lookup(&image, address_of(&image, "_start.cold"));
    assert!(
        answer.contains(" at ") && answer.contains("source.c:6"),
        "{answer}"
    );
}

/// Assemblers before DWARF 5 write lines and no functions. Nothing is inlined there.
#[test]
fn assembly_has_lines_without_functions() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let folder = folder(&format!("lines_assembly_{version}"));
        let text = ".globl _start\n.type _start, %function\n_start:\n nop\nlabel:\n hlt\n.size _start, . - _start\n                    .globl unsized\nunsized:\n nop\n";
        fs::write(folder.join("other.S"), text).unwrap();
        let mut compiler = tool("gcc", "gcc");
        succeed(
            compiler
                .current_dir(&folder)
                .args(["-c", version, "other.S"]),
        );
        let (image, output) = link(&folder, SCRIPT, &["other.o"]);
        let start = address_of(&image, "_start");
        for (address, line) in [(start, 4), (start + 1, 6), (start + 2, 10)] {
            let answer = lookup(&image, address);
            assert!(answer.ends_with(&format!("other.S:{line}")), "{answer}");
        }
        assert!(
            !stderr(&output).contains("no line information for"),
            "{}",
            stderr(&output)
        );
    }
}
