//! Names with line feeds and escapes, which would forge lines of a report or move a terminal's cursor.

use std::fs;
use std::path::Path;

use crate::common::{
    SCRIPT, assemble, folder, scripts, sframe, sframe_link, stderr, stdout, succeed,
};
use linker::image::Image;
use linker::symbols::Texts;
use unwind::symbols::SymbolTable;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// An assembler takes no such name, so they get in here.
fn with_control_characters(object: &Path) {
    let mut bytes = fs::read(object).unwrap();
    for at in 0..bytes.len() {
        for (name, put) in [(&b"evilN"[..], b'\n'), (b"evilE", 0x1b), (b"evilR", b'\r')] {
            if bytes[at..].starts_with(name) {
                bytes[at + name.len() - 1] = put;
            }
        }
    }
    fs::write(object, bytes).unwrap();
}

fn assert_one_line_each(text: &str) {
    assert!(!text.contains(['\u{1b}', '\r']), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("end")), "{text}");
}

#[test]
fn a_name_stays_in_its_line() {
    let folder = folder("forged");
    // One of them with a frame that its rows deny, so that `check` and the link have something to say of it.
    let text = "
.globl _start
.type _start, %function
_start: .cfi_startproc
 call evilNend_of_backtrace
 call evilE31m
 hlt
.cfi_endproc
.size _start, . - _start
.type evilNend_of_backtrace, %function
evilNend_of_backtrace: .cfi_startproc
 push %rbx
 nop
 pop %rbx
 ret
.cfi_endproc
.size evilNend_of_backtrace, . - evilNend_of_backtrace
.type evilE31m, %function
evilE31m: .cfi_startproc
 .cfi_escape 0x0f, 0x03, 0x77, 0x08, 0x06
 ret
.cfi_endproc
.size evilE31m, . - evilE31m
";
    let object = assemble(&folder, TARGET, text);
    with_control_characters(&object);
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    let image = folder.join("image");
    for switch in ["--symbols=all", "--symbols=none", "--sframe-repair=no"] {
        let mut link = sframe_link();
        link.current_dir(&folder).args([
            "-T",
            "image.ld",
            "-L",
            &scripts(),
            "--sframe-stats",
            switch,
            "-o",
        ]);
        let output = succeed(link.arg(&image).arg(&object));
        assert_one_line_each(&stderr(&output));
        let data = fs::read(&image).unwrap();
        let start = Image::parse(&data)
            .unwrap()
            .section(".text")
            .unwrap()
            .unwrap()
            .address;
        let addresses: Vec<String> = (0..24).map(|at| format!("{:#x}", start + at)).collect();
        let lookup: Vec<&str> = ["lookup"]
            .into_iter()
            .chain(addresses.iter().map(|at| &**at))
            .collect();
        let mut said = String::new();
        for arguments in [
            &lookup[..],
            &["dump"],
            &["dump", "--json"],
            &["check"],
            &["stats"],
        ] {
            let output = sframe(arguments, &image);
            let text = stdout(&output) + &stderr(&output);
            assert_one_line_each(&text);
            said += &text;
        }
        assert!(said.contains("evil\\nend_of_backtrace"), "{said}");
        assert!(said.contains("evil\\u{1b}31m"), "{said}");
    }

    // What a report on the target prints comes from here: names, and files by the same way.
    let mut texts = Texts::default();
    let number = texts.number("kernel\nend of backtrace: complete, 1 frames/src/main.rs");
    let file = texts.text(number);
    assert_eq!(
        file,
        "kernel\\nend of backtrace: complete, 1 frames/src/main.rs"
    );
    let mut link = sframe_link();
    link.current_dir(&folder)
        .args(["-T", "image.ld", "-L", &scripts(), "-o"]);
    succeed(link.arg(&image).arg(&object));
    let data = fs::read(&image).unwrap();
    let parsed = Image::parse(&data).unwrap();
    let section = parsed.section(".symbols").unwrap().unwrap();
    let table = SymbolTable::parse(section.data, section.address).unwrap();
    let text = parsed.section(".text").unwrap().unwrap();
    let names: Vec<String> = (0..text.data.len() as u64)
        .filter_map(|at| table.resolve(text.address + at))
        .flat_map(|answer| {
            answer
                .frames()
                .map(|frame| frame.name.to_string())
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(
        names.iter().any(|name| name == "evil\\nend_of_backtrace"),
        "{names:?}"
    );
    assert!(!names.concat().contains(char::is_control), "{names:?}");
}
