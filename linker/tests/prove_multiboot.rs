//! A Multiboot header between functions is data, which nothing runs from into the function behind it.

use crate::common::proven::{START, linked, prove};
use linker::cfi::Frames;
use linker::image::Image;
use linker::prove::Rows;
use linker::prove::text::Text;
use linker::settled::settle;
use linker::symbols::Symbols;
use object::{Object as _, ObjectSymbol as _};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Code around a header, as a kernel's linker script puts it together.
fn around(header: &str) -> String {
    format!(
        ".global _start\n _start:\n nop\n nop\n nop\n ret\n .balign 8\n header:\n {header}
         .type serve, @function\n serve:\n push %rbx\n pop %rbx\n ret\n .size serve, . - serve\n"
    )
}

/// How much behind the first function, which has 8 bytes, is no code.
fn data(name: &str, header: &str) -> u64 {
    let data = linked(name, TARGET, &around(header), &[]);
    let file = object::File::parse(&*data).unwrap();
    let text = Text::of(&file);
    let [(START, before), (behind, _)] = *text.code() else {
        assert_eq!(text.code().len(), 1, "{header}");
        return 0;
    };
    assert_eq!(before.len(), 8, "{header}");
    assert_eq!(
        text.code_at(behind).unwrap(),
        [0x53, 0x5b, 0xc3],
        "{header}"
    );
    assert_eq!(text.code_at(START + 4).unwrap().len(), 4, "{header}");
    assert_eq!(text.code_at(behind - 1), None, "{header}");
    behind - START - 8
}

/// A header of the first version, with these flags and so many words behind the checksum.
fn first(flags: u32, words: usize) -> String {
    let magic = 0x1bad_b002;
    let checksum = 0_u32.wrapping_sub(magic).wrapping_sub(flags);
    let rest = ".long 0x90909050\n".repeat(words);
    format!(".long {magic}, {flags}, {checksum}\n {rest}")
}

#[test]
fn of_the_first_version() {
    assert_eq!(data("multiboot_short", &first(0b11, 0)), 12);
    assert_eq!(data("multiboot_addresses", &first(1 << 16, 5)), 32);
    assert_eq!(data("multiboot_video", &first(1 << 2, 9)), 48);
    assert_eq!(data("multiboot_both", &first(1 << 16 | 1 << 2, 9)), 48);
}

#[test]
fn of_the_second_version() {
    let header = ".long 0xe85250d6, 0, 24, 0x17adaf12\n .word 0, 0\n .long 8\n";
    assert_eq!(data("multiboot_second", header), 24);
}

#[test]
fn what_only_looks_like_one_is_code() {
    let wrong = ".long 0x1badb002, 0, 0\n";
    assert_eq!(data("multiboot_wrong_sum", wrong), 0);
    // It would end behind the code.
    let long = ".long 0xe85250d6, 0, 4096, 0x17ad9f2a\n";
    assert_eq!(data("multiboot_too_long", long), 0);
    let far = ".fill 32768, 1, 0x90\n".to_owned() + &first(0, 0);
    assert_eq!(data("multiboot_too_far", &far), 0);
    let uneven = "nop\n nop\n".to_owned() + &first(0, 0);
    assert_eq!(data("multiboot_uneven", &uneven), 0);
}

/// The bytes of this header end in `push` and `nop`s, and would change what the function finds on its stack.
#[test]
fn the_function_behind_it_has_rows() {
    let proven = prove("multiboot_rows", TARGET, &around(&first(1 << 16, 5)));
    let of_function = "
40..41 made sp+8 u c-8
41..42 made sp+16 u c-8
42..43 made sp+8 u c-8
";
    assert!(proven.contains(of_function), "{proven}");
}

/// Code that a boot loader enters in 32-bit mode is no code of 64 bits: that of the entry and what it calls, not the other functions.
#[test]
fn code_of_32_bits_is_unproven() {
    let pvh = ".section .note.Xen, \"a\", @note\n .long 4, 8, 18\n .asciz \"Xen\"\n .quad _start\n .text\n";
    for (name, header, is_narrow) in [
        ("multiboot_32", first(0b11, 0).as_str(), true),
        ("multiboot_pvh", pvh, true),
        ("multiboot_pvh_other", &pvh.replace("18", "17"), false),
        ("multiboot_none", "", false),
    ] {
        let text = format!(
            ".global _start\n .type _start, @function\n _start:\n call check\n .byte 0xea\n .long 0x100000\n .word 8\n call serve\n 1: jmp 1b\n .size _start, . - _start\n
             .type check, @function\n check:\n push %rax\n pop %rax\n ret\n .size check, . - check\n .balign 8\n {header}
             .type serve, @function\n serve:\n push %rbx\n call other\n pop %rbx\n ret\n .size serve, . - serve\n
             .type other, @function\n other:\n ret\n .size other, . - other\n .data\n .quad serve\n"
        );
        let data = linked(name, TARGET, &text, &[]);
        let image = Image::parse(&data).unwrap();
        let symbols = Symbols::of(&image.file);
        let rows = Rows::of(&image, true, Frames::default(), &symbols).unwrap();
        let mut frames = rows.frames;
        let settled = settle(&image, &[], &mut frames, &symbols, true).unwrap();
        for (function, expected) in [("check", is_narrow), ("serve", false)] {
            let mut all = image.file.symbols();
            let symbol = all.find(|symbol| symbol.name() == Ok(function)).unwrap();
            assert_eq!(
                settled.unproven.contains(symbol.address()),
                expected,
                "{name}: {function}"
            );
        }
    }
}
