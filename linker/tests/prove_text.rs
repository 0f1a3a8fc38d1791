//! The bytes that a proof reads: code, and what nothing writes to.

use std::fs;

use crate::common::proven::{START, function, linked};
use crate::common::{assemble, folder};
use linker::prove::text::Text;
use object::{Object, ObjectSection};

const SECTIONS: &str = ".section .rodata\n .quad 0x1122334455667788\n .data\n .quad 0x99\n .section .init.text, \"ax\", %progbits\n nop\n .text\n";

fn address(file: &object::File<'_>, name: &str) -> u64 {
    file.section_by_name(name).unwrap().address()
}

#[test]
fn constants_and_code() {
    let text = function("_start", "nop\n nop\n ret") + SECTIONS;
    let data = linked("text", "x86_64-unknown-linux-gnu", &text, &[]);
    let file = object::File::parse(&*data).unwrap();
    let text = Text::of(&file);
    let (constants, variables) = (address(&file, ".rodata"), address(&file, ".data"));
    assert_eq!(text.read(constants, 8), Some(0x1122_3344_5566_7788));
    assert_eq!(text.read(constants, 2), Some(0x7788));
    assert_eq!(text.read(constants + 6, 2), Some(0x1122));
    assert_eq!(text.read(constants + 6, 4), None);
    assert_eq!(text.read(START, 1), Some(0x90));
    assert_eq!(text.read(variables, 8), None);
    // From an address to the end of its section; data is no code.
    assert_eq!(text.code_at(START).unwrap().len(), 3);
    assert_eq!(text.code_at(START + 2), Some(&[0xc3][..]));
    assert_eq!(text.code_at(START - 1), None);
    assert_eq!(text.code_at(constants), None);
    let init = address(&file, ".init.text");
    assert_eq!(text.code_at(init), Some(&[0x90][..]));
    assert_eq!(text.code_at(init + 1), None);
    let starts: Vec<u64> = text.code().iter().map(|(start, _)| *start).collect();
    assert_eq!(starts, [START, init]);
}

/// What no segment holds is not in memory: such sections have the address 0.
#[test]
fn sections_that_are_not_loaded_are_no_constants() {
    let notes = " .section .notes, \"\"\n .quad 0x1122334455667788\n .text\n";
    let text = function("_start", "ret") + notes;
    let data = linked("text_notes", "x86_64-unknown-linux-gnu", &text, &[]);
    let file = object::File::parse(&*data).unwrap();
    assert_eq!(address(&file, ".notes"), 0);
    assert_eq!(Text::of(&file).read(0, 8), None);
}

/// An object file, or an image that says nothing of segments: only the sections tell what is written to.
#[test]
fn files_without_segments() {
    let folder = folder("text_object");
    for (section, constant) in [(".data", None), (".rodata", Some(0x99))] {
        let text = format!(".section {section}\n .quad 0x99\n");
        let object = fs::read(assemble(&folder, "x86_64-unknown-none", &text)).unwrap();
        let file = object::File::parse(&*object).unwrap();
        assert_eq!(Text::of(&file).read(0, 8), constant, "{section}");
    }
}

#[test]
fn numbers_in_the_order_of_the_machine() {
    let text = function("_start", "ret") + &SECTIONS.replace(" nop\n", " ret\n");
    let data = linked(
        "text_be",
        "aarch64_be-unknown-none-softfloat",
        &text,
        &["-EB"],
    );
    let file = object::File::parse(&*data).unwrap();
    let text = Text::of(&file);
    let constants = address(&file, ".rodata");
    assert_eq!(text.read(constants, 8), Some(0x1122_3344_5566_7788));
    assert_eq!(text.read(constants, 2), Some(0x1122));
}

#[test]
fn constants_may_lie_in_a_segment_with_variables() {
    let text = function("_start", "ret") + SECTIONS;
    let target = "x86_64-unknown-linux-gnu";
    let data = linked("text_one_segment", target, &text, &["--omagic"]);
    let file = object::File::parse(&*data).unwrap();
    let text = Text::of(&file);
    let number = text.read(address(&file, ".rodata"), 8);
    assert_eq!(number, Some(0x1122_3344_5566_7788));
    assert_eq!(text.read(address(&file, ".data"), 8), None);
}
