//! Which of an image's symbols are names of functions, and which of several names is taken.

use std::fs;

use crate::common::{folder, image};
use linker::image::Image;
use linker::symbols::Symbols;

/// Names, offsets from the start of the code, and sizes.
fn collected(name: &str, target: &str, text: &str) -> Vec<(String, u64, u64)> {
    let folder = folder(name);
    let (path, _) = image(&folder, target, text);
    let data = fs::read(path).unwrap();
    let image = Image::parse(&data).unwrap();
    let start = image.section(".text").unwrap().unwrap().address;
    let symbols = Symbols::of(&image.file);
    let symbols = symbols.0.into_iter();
    symbols
        .map(|symbol| (symbol.name, symbol.start - start, symbol.size))
        .collect()
}

fn expect(found: &[(String, u64, u64)], expected: &[(&str, u64, u64)]) {
    let found: Vec<(&str, u64, u64)> = found
        .iter()
        .map(|(name, start, size)| (name.as_str(), *start, *size))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn functions_aliases_and_labels() {
    let text = "
        .globl _start
        .type _start, %function
        _start: .cfi_startproc
         nop
        inside: nop
         nop
        .cfi_endproc
        .size _start, . - _start

        // One function under four names.
        .globl strong
        .weak weak
        .type local, %function
        .type strong, %function
        .type weak, %function
        .type strong_too, %function
        .globl strong_too
        local: weak: strong: strong_too: nop
         nop
        .size local, 2
        .size weak, 2
        .size strong, 2
        .size strong_too, 2

        // Assembly without sizes: to the next symbol, to the end of the section.
        .type unsized, %function
        unsized: nop
         nop
         nop
        label: nop
         nop

        // One inside of another, and a label behind it, which names nothing.
        .type outer, %function
        .type inner, %function
        outer: nop
        inner: nop
        .size inner, 1
        behind: nop
        .size outer, . - outer

        // More than there is.
        .type endless, %function
        endless: nop
        .size endless, -1
        .data
        .type data, %object
        data: .quad 0
        .size data, 8
    ";
    let found = collected("functions_aliases", "x86_64-unknown-linux-gnu", text);
    expect(
        &found,
        &[
            ("_start", 0, 3),
            ("strong", 3, 2),
            ("unsized", 5, 3),
            ("label", 8, 2),
            ("outer", 10, 3),
            ("inner", 11, 1),
            ("endless", 13, 1),
        ],
    );
}

#[test]
fn marks_of_code_and_data_are_no_names() {
    let text = "
        .globl _start
        .type _start, %function
        _start: .cfi_startproc
         ret
        .cfi_endproc
        .size _start, . - _start
        .quad 7
        after: ret
        .quad 8
    ";
    let found = collected("marks", "aarch64-unknown-none-softfloat", text);
    expect(&found, &[("_start", 0, 4), ("after", 12, 12)]);
}
