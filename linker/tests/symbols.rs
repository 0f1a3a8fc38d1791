//! Which of an image's symbols are names of functions, and which of several names is taken.

use std::fs;

use crate::common::{SCRIPT, assemble, folder, image, scripts, sframe_link, succeed};
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

/// Another section has code whose symbols are gone; call frame information and a symbol of data show where it begins.
#[test]
fn code_without_a_size_ends_where_other_code_or_data_begins() {
    let text = "
        .globl _start
        _start: nop
         nop
        .Lnameless: .cfi_startproc
         ret
        .cfi_endproc
        .globl before_data
        before_data: ret
        .type table, %object
        table: .quad 7
        .size table, 8
        .type last, %function
        last: ret
        .size last, 1
    ";
    let found = collected("code_without_a_size", "x86_64-unknown-linux-gnu", text);
    expect(
        &found,
        &[("_start", 0, 2), ("before_data", 3, 1), ("last", 12, 1)],
    );
}

#[test]
fn a_size_that_is_too_large_hides_no_function() {
    let text = "
        .globl _start
        .type _start, %function
        _start: .cfi_startproc
         nop
         ret
        .cfi_endproc
        .type hidden, %function
        hidden: .cfi_startproc
         nop
         nop
        .cfi_endproc
        label: .cfi_startproc
         ret
        .cfi_endproc
        .type last, %function
        last: ret
        .size last, 1
        .size _start, 6
    ";
    let found = collected("a_size_too_large", "x86_64-unknown-linux-gnu", text);
    let found: Vec<_> = found
        .iter()
        .map(|(name, start, _)| (name.as_str(), *start))
        .collect();
    assert_eq!(found, [("_start", 0), ("hidden", 2), ("last", 5)]);
}

/// Linker scripts give names to places, at which functions of assembly start, too.
#[test]
fn a_mark_of_a_linker_script_is_no_name_of_a_function() {
    let folder = folder("marks_of_scripts");
    let object = assemble(
        &folder,
        "x86_64-unknown-linux-gnu",
        "first_instructions: nop\n.globl _start\n_start: hlt\n",
    );
    let marks = [
        "_stext",
        "__text_start",
        "_text",
        "__start_code",
        "_kernel.begin",
        "__e_end",
    ];
    let marked = marks.map(|mark| format!("{mark} = .; ")).concat();
    let script = SCRIPT.replace(".text : {", &format!(".text : {{ {marked}"));
    fs::write(folder.join("image.ld"), script).unwrap();
    let image = folder.join("image");
    let mut link = sframe_link();
    link.current_dir(&folder)
        .args(["-T", "image.ld", "-L", &scripts(), "-o"]);
    succeed(link.arg(&image).arg(object));
    let data = fs::read(image).unwrap();
    let symbols = Symbols::of(&Image::parse(&data).unwrap().file);
    let names: Vec<_> = symbols
        .0
        .iter()
        .map(|symbol| symbol.name.as_str())
        .collect();
    assert_eq!(names, ["first_instructions", "_start"]);
}

/// Arm's marks for code and data are no names, also with a prefix, as `objcopy --prefix-symbols` gives them one.
#[test]
fn marks_with_a_prefix_name_nothing() {
    let text = "
.globl _start
_start:
\"init_$x\":
 bl pool_user
 b .
pool_user:
 b 1f
\"init_$d.1\": .quad 7
\"init_$x.2\":
1: ret
.globl \"global_$d\"
\"global_$d\": ret
";
    let folder = crate::common::folder("prefixed_marks");
    let (path, output) = crate::common::image(&folder, "aarch64-unknown-none-softfloat", text);
    assert!(
        !crate::common::stderr(&output).contains("init_$"),
        "{}",
        crate::common::stderr(&output)
    );
    let base = 0xffff_ffff_8010_0000_u64;
    for (offset, expected) in [
        (0, "_start+0x0/0x8"),
        (8, "pool_user+0x0/0x10"),
        (0xc, "pool_user+0x4/"),
        (0x14, "pool_user+0xc/"),
        (0x18, "global_$d+0x0/0x4"),
    ] {
        let said = crate::common::sframe(&["lookup", &format!("{:x}", base + offset)], &path);
        let said = crate::common::stdout(&said);
        assert!(said.contains(expected), "{offset:#x}: {said}");
    }
}
