//! `sframe-link` in rustc's place of a linker: a small program without an operating system, from source to tables.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use common::{SCRIPT, folder, image, rustc, scripts, sframe, stderr, stdout, succeed};
use linker::image::Image;
use object::{Object, ObjectSection, ObjectSymbol};
use unwind::sframe::Tables;
use unwind::symbols::SymbolTable;

const PROGRAM: &str = r#"
#![no_std]
#![no_main]

use core::fmt::Debug;
use core::panic::PanicInfo;

trait Area {
    fn area(&self) -> u64;
}
struct Square(u64);
struct Circle(u64);
impl Area for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}
impl Area for Circle {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 * 3
    }
}
impl Square {
    #[inline(never)]
    fn grow<T: Into<u64>>(&mut self, by: T) {
        self.0 += by.into();
    }
}

#[inline(never)]
fn pick<T: Copy + Debug>(values: &[T], index: usize) -> T {
    values[index]
}

#[inline(never)]
fn call(function: &dyn Fn(usize) -> u64) -> u64 {
    function(7)
}

#[unsafe(no_mangle)]
extern "C" fn start(n: usize) -> u64 {
    let mut square = Square(n as u64);
    square.grow(3_u32);
    let shapes: [&dyn Area; 2] = [&square, &Circle(2)];
    let closure = |index: usize| shapes[index & 1].area() + n as u64;
    call(&closure) + u64::from(pick(&[1_u32, 2, 3], n)) + u64::from(pick(&[1_u8, 2], n))
}

#[unsafe(no_mangle)]
extern "C" fn dead() -> u64 {
    call(&|index: usize| index as u64)
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {}
}

// The host's own `core` wants it, though nothing here unwinds.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

core::arch::global_asm!(
    ".globl _start",
    ".type _start, @function",
    "_start: .cfi_startproc",
    ".cfi_undefined rip",
    "call start",
    "hlt",
    ".cfi_endproc",
    ".size _start, . - _start",
    // Without CFI, without a type and without a size.
    "stub: call start",
    "ret",
);
"#;

/// Compiles and links [`PROGRAM`] with some more arguments for rustc.
fn build(folder: &Path, arguments: &[&str]) -> Output {
    fs::write(folder.join("program.rs"), PROGRAM).unwrap();
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    let linker = format!("-Clinker={}", env!("CARGO_BIN_EXE_sframe-link"));
    let scripts = format!("-Clink-arg=-L{}", scripts());
    let mut command = rustc();
    command
        .current_dir(folder)
        .args([
            "--edition=2024",
            "-Cpanic=abort",
            "-Cforce-unwind-tables=yes",
        ])
        .args([
            "-Crelocation-model=static",
            "-Ccode-model=kernel",
            "-Clinker-flavor=ld.lld",
        ])
        .args([
            "-Csymbol-mangling-version=v0",
            "-Ccodegen-units=1",
            "-Copt-level=1",
            "-Cdebuginfo=1",
        ])
        .args([linker.as_str(), scripts.as_str()])
        .args(["-Clink-arg=-Timage.ld", "-Clink-arg=--build-id=sha1"])
        .args(arguments)
        .args(["-o", "image", "program.rs"]);
    succeed(&mut command)
}

/// The names that an image carries for its functions, in the order of addresses.
fn names(data: &[u8]) -> Vec<String> {
    let image = Image::parse(data).unwrap();
    let section = image.section(".symbols").unwrap().unwrap();
    let table = SymbolTable::parse(section.data, section.address).unwrap();
    let code = image.section(".text").unwrap().unwrap();
    let mut names: Vec<String> = Vec::new();
    for offset in 0..code.data.len() as u64 {
        if let Some(symbol) = table.function_at(code.address + offset)
            && names.last().is_none_or(|last| last != symbol.name)
        {
            names.push(symbol.name.to_owned());
        }
    }
    names
}

#[test]
fn a_rust_program_gets_both_tables() {
    let folder = folder("a_rust_program");
    build(&folder, &["-Clink-arg=--sframe-stats=stats.txt"]);
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
    assert!(stats.contains("left out: 0\n"), "{stats}");
    assert!(
        stats.contains("without unwind information: 1\n  stub at "),
        "{stats}"
    );
    let leftovers = fs::read_dir(&folder).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().contains("sframe-link")
    });
    assert_eq!(leftovers.count(), 0);
}

#[test]
fn the_same_input_makes_the_same_bytes() {
    let folder = folder("the_same_input");
    build(&folder, &[]);
    let first = fs::read(folder.join("image")).unwrap();
    build(&folder, &[]);
    assert!(first == fs::read(folder.join("image")).unwrap());
}

#[test]
fn names_can_be_full_and_tables_can_be_left_out() {
    let folder = folder("names_can_be_full");
    build(&folder, &["-Clink-arg=--symbol-names=full"]);
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
        build(&folder, &[switch]);
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

#[test]
fn a_stripped_image_keeps_its_tables() {
    let folder = folder("a_stripped_image");
    build(&folder, &["-Cstrip=symbols"]);
    let data = fs::read(folder.join("image")).unwrap();
    let image = Image::parse(&data).unwrap();
    assert_eq!(image.file.symbols().count(), 0);
    assert!(names(&data).iter().any(|name| name == "program::pick"));
    let section = image.section(".sframe").unwrap().unwrap();
    let tables = Tables::new(section.data, section.address);
    assert!(tables.first().unwrap().function_count() > 10);
}

/// Links an assembled program by hand.
fn link(folder: &Path, script: &str, arguments: &[&str]) -> Output {
    fs::write(folder.join("image.ld"), script).unwrap();
    common::sframe_link()
        .current_dir(folder)
        .args([
            "-flavor",
            "gnu",
            "-T",
            "image.ld",
            "-L",
            &scripts(),
            "-o",
            "image",
        ])
        .args(arguments)
        .output()
        .unwrap()
}

const CALLS: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
 call callee
 hlt
.cfi_endproc
.size _start, . - _start
.type callee, %function
callee:
.cfi_startproc
 ret
.cfi_endproc
.size callee, . - callee
";

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn assembled(name: &str, text: &str) -> (PathBuf, String) {
    let folder = folder(name);
    let object = common::assemble(&folder, TARGET, text);
    (folder, object.display().to_string())
}

/// A link that must fail with one line, and leave nothing behind that could be taken for an image.
fn refuses(folder: &Path, output: &Output, expected: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", stderr(output));
    let errors = stderr(output);
    let own: Vec<&str> = errors
        .lines()
        .filter(|line| line.contains("sframe-link: error"))
        .collect();
    assert_eq!(own, [format!("sframe-link: error: {expected}")], "{errors}");
    assert!(!folder.join("image").exists());
}

#[test]
fn a_script_without_the_fragment_is_refused() {
    let (folder, object) = assembled("without_the_fragment", CALLS);
    let output = link(
        &folder,
        &SCRIPT.replace("INCLUDE tables.ld", ""),
        &[&object],
    );
    refuses(
        &folder,
        &output,
        "image: __sframe_start is not defined, so there is no place for .sframe: write INCLUDE tables.ld into the linker \
         script, after every section that holds code (sframe-link --sframe-script prints tables.ld)",
    );
}

#[test]
fn a_fragment_before_code_is_refused() {
    let (folder, object) = assembled("a_fragment_before_code", CALLS);
    let script = SCRIPT
        .replace("INCLUDE tables.ld", "")
        .replace(".text :", "INCLUDE tables.ld .text :");
    let output = link(&folder, &script, &[&object]);
    assert!(
        stderr(&output).contains(
            "sframe-link: error: image: _start is at 0xffffffff80100000 without tables and at 0xffffffff801000"
        ),
        "{}",
        stderr(&output)
    );
    assert!(!folder.join("image").exists());
}

#[test]
fn an_image_without_eh_frame_is_refused() {
    let (folder, object) = assembled("without_eh_frame", ".globl _start\n_start: ret\n");
    let output = link(&folder, SCRIPT, &[&object]);
    refuses(
        &folder,
        &output,
        "image: no .eh_frame to make tables from: compile with -C force-unwind-tables=yes, and keep the section in the \
         linker script",
    );
    // Names need none.
    let output = link(&folder, SCRIPT, &[&object, "--sframe=none"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn what_the_linker_says_is_passed_on() {
    let (folder, object) = assembled("passed_on", CALLS);
    let output = link(&folder, SCRIPT, &[&object, "missing.o"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("missing.o"), "{}", stderr(&output));
    // A warning of both links is shown once.
    let output = link(&folder, SCRIPT, &[&object, "-e", "nowhere"]);
    assert!(output.status.success());
    assert_eq!(
        stderr(&output).matches("nowhere").count(),
        1,
        "{}",
        stderr(&output)
    );
    // No image, no tables.
    let output = link(&folder, "", &[&object, "-r"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // rust-lld's own answer.
    let version = succeed(common::sframe_link().arg("--version"));
    assert!(stdout(&version).starts_with("LLD "), "{}", stdout(&version));
}

#[test]
fn arguments_may_come_in_a_response_file() {
    let (folder, object) = assembled("response_file", CALLS);
    fs::write(folder.join("my script.ld"), SCRIPT).unwrap();
    fs::write(
        folder.join("arguments"),
        format!(
            "-T 'my script.ld'\n-L\"{}\"\n--sframe-stats\n-o my\\ image {object}\n",
            scripts()
        ),
    )
    .unwrap();
    let mut command = common::sframe_link();
    let output = succeed(
        command
            .current_dir(&folder)
            .args(["-flavor", "gnu", "@arguments"]),
    );
    assert!(
        stderr(&output).contains(".sframe: 2 functions, 2 rows (1 stored)"),
        "{}",
        stderr(&output)
    );
    assert!(
        sframe(&["check"], &folder.join("my image"))
            .status
            .success()
    );
}

#[test]
fn another_linker_can_be_named() {
    let (folder, object) = assembled("another_linker", CALLS);
    let mut command = common::sframe_link();
    let output = command
        .env("SFRAME_LINK_LD", "/nowhere/lld")
        .args([
            object,
            "-o".to_owned(),
            folder.join("image").display().to_string(),
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected = ": cannot run the linker /nowhere/lld: No such file or directory (os error 2)\n";
    assert!(stderr(&output).ends_with(expected), "{}", stderr(&output));
}

#[test]
fn a_damaged_section_is_noticed_by_check() {
    let folder = folder("a_damaged_section");
    let (path, _) = image(&folder, TARGET, CALLS);
    let data = fs::read(&path).unwrap();
    let section = Image::parse(&data)
        .unwrap()
        .section(".sframe")
        .unwrap()
        .unwrap();
    let at = section.offset as usize;
    let damaged = |offset: usize, value: u8| {
        let mut data = data.clone();
        data[at + offset] = value;
        let path = folder.join("damaged");
        fs::write(&path, data).unwrap();
        sframe(&["check"], &path)
    };
    // The CFA's offset of the only row: the last byte. Then the first function's size, and the magic number.
    let output = damaged(section.data.len() - 1, 16);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("4 addresses compared: 4 differences"),
        "{}",
        stdout(&output)
    );
    let output = damaged(28 + 8, 1);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("0xffffffff80100000: the function's size is another"),
        "{}",
        stdout(&output)
    );
    let output = damaged(0, 0);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("bad magic"), "{}", stderr(&output));
}
