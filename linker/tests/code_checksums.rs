//! The checksums of the code in tables: the code in memory is compared with the code that was linked.

use std::fs;
use std::path::Path;

use crate::common::{
    SCRIPT, assemble, folder, scripts, sframe, sframe_link, stderr, stdout, succeed,
};
use linker::image::Image;
use unwind::ImageTables;
use unwind::sframe::{Damage, Verified};

const X86_64: &str = "x86_64-unknown-none";

/// Two functions, and before them a word that belongs to no code.
const TEXT: &str = "
 .quad 0
.globl __text_start, __text_end
__text_start:
.globl _start
.type _start, %function
_start:
 call other
 hlt
.size _start, . - _start
.type other, %function
other:
 push %rbx
 nop
 pop %rbx
 ret
.size other, . - other
__text_end:
 .quad 0
";

/// An image, with its code and its tables as they are in memory.
struct Linked {
    data: Vec<u8>,
}

impl Linked {
    fn new(folder: &Path, text: &str, switches: &[&str]) -> Self {
        let object = assemble(folder, X86_64, text);
        // Linkers put these before the code if a script does not name them.
        let sections = [
            "dynamic", "dynsym", "dynstr", "hash", "gnu.hash", "rela.dyn",
        ];
        let dynamic = sections
            .map(|name| format!(".{name} : {{ *(.{name}) }}\n"))
            .concat();
        let tables = "INCLUDE tables.ld\n";
        let script = SCRIPT.replace(tables, &(tables.to_owned() + &dynamic));
        fs::write(folder.join("image.ld"), script).unwrap();
        let mut command = sframe_link();
        let command = command
            .current_dir(folder)
            .args(["-L", &scripts(), "-T", "image.ld", "-o", "image"])
            .args(switches)
            .arg(object);
        succeed(command);
        let data = fs::read(folder.join("image")).unwrap();
        Self { data }
    }

    fn image(&self) -> Image<'_> {
        Image::parse(&self.data).unwrap()
    }

    /// The address and the bytes of the code.
    fn text(&self) -> (u64, Vec<u8>) {
        let text = self.image().section(".text").unwrap().unwrap();
        (text.address, text.data.to_vec())
    }

    fn verify(&self, code: &[u8], address: u64) -> Result<Verified, Damage> {
        let image = self.image();
        let section = |name| image.section(name).unwrap();
        let section = section(".unwind_map")
            .or_else(|| section(".sframe"))
            .unwrap();
        ImageTables::new(section.data, section.address).verify_code(code, address)
    }
}

const SAME: Result<Verified, Damage> = Ok(Verified {
    checksum: true,
    code: true,
});
const NOT_COMPARED: Result<Verified, Damage> = Ok(Verified {
    checksum: true,
    code: false,
});

#[test]
fn each_wrong_bit_of_the_code_is_found_by_both_formats() {
    for (load, switch) in [
        ("sframe", "--sframe=v3"),
        ("map", "--sframe=v3"),
        ("sframe", "--sframe=v2"),
    ] {
        let load = format!("--sframe-load={load}");
        let linked = Linked::new(&folder("code_checksums"), TEXT, &[&load, switch]);
        let (address, code) = linked.text();
        assert_eq!(linked.verify(&code, address), SAME, "{load}");
        for bit in 0..8 * code.len() {
            let mut wrong = code.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let found = linked.verify(&wrong, address);
            let Err(Damage::Code { start }) = found else {
                panic!("{load}: bit {bit}: {found:?}");
            };
            // Three ranges: before, between and behind the borders.
            assert!(start <= address + bit as u64 / 8, "{start:#x}");
        }
    }
}

#[test]
fn only_whole_ranges_are_compared() {
    let linked = Linked::new(&folder("code_checksums_ranges"), TEXT, &[]);
    let (address, code) = linked.text();
    // What a kernel hands to a report: the code between the symbols, which divide the section.
    let end = code.len() - 8;
    assert_eq!(linked.verify(&code[8..end], address + 8), SAME);
    assert_eq!(linked.verify(&code[9..end], address + 9), NOT_COMPARED);
    assert_eq!(linked.verify(&code[8..end - 1], address + 8), NOT_COMPARED);
    assert_eq!(linked.verify(&code[8..end - 1], address + 9), NOT_COMPARED);
    assert_eq!(linked.verify(&[], address), NOT_COMPARED);
    assert_eq!(linked.verify(&code, address + 0x10_0000), NOT_COMPARED);
    assert_eq!(linked.verify(&code, u64::MAX - 3), NOT_COMPARED);
}

#[test]
fn code_that_the_kernel_changes_is_declared() {
    let folder = folder("code_checksums_patched");
    let linked = Linked::new(&folder, TEXT, &["--sframe-patched=other"]);
    let (address, code) = linked.text();
    let at = |of: u8| code.iter().position(|byte| *byte == of).unwrap();
    let with = |at: usize| {
        let mut wrong = code.clone();
        wrong[at] ^= 1;
        linked.verify(&wrong, address)
    };
    // `nop` in `other`, and `hlt` in `_start`.
    assert_eq!(with(at(0x90)), SAME);
    assert!(matches!(with(at(0xf4)), Err(Damage::Code { .. })));

    let object = folder.join("none");
    let mut command = sframe_link();
    let command = command
        .current_dir(&folder)
        .args(["-L", &scripts(), "-T", "image.ld", "-o", "none"])
        .arg("--sframe-patched=nothing")
        .arg(assemble(&folder, X86_64, TEXT));
    let output = command.output().unwrap();
    let said = stderr(&output);
    assert!(!output.status.success() && !object.exists());
    let expected = "--sframe-patched=nothing: the image contains no function with this name";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn fields_that_are_relocated_at_load_time_have_no_checksum() {
    let text = TEXT.replace(" hlt\n", " hlt\nfield: .quad other\n");
    let switches = ["-pie", "-z", "notext", "--no-dynamic-linker"];
    let linked = Linked::new(&folder("code_checksums_pie"), &text, &switches);
    let (address, code) = linked.text();
    let at = code.iter().position(|byte| *byte == 0xf4).unwrap() + 1;
    for number in 0..code.len() {
        let mut wrong = code.clone();
        wrong[number] ^= 0x80;
        let found = linked.verify(&wrong, address);
        let is_field = (at..at + 8).contains(&number);
        assert_eq!(found == SAME, is_field, "byte {number}: {found:?}");
    }
}

#[test]
fn code_in_writable_sections_is_not_compared() {
    let text = format!(".section .text.written, \"awx\"\n{TEXT}");
    let linked = Linked::new(&folder("code_checksums_written"), &text, &[]);
    let (address, code) = linked.text();
    assert_eq!(linked.verify(&code, address), NOT_COMPARED);
}

#[test]
fn sframe_check_finds_code_that_was_changed_after_the_link() {
    let folder = folder("code_checksums_check");
    let linked = Linked::new(&folder, TEXT, &[]);
    let path = folder.join("image");
    let (address, code) = linked.text();
    let output = sframe(&["check", "--coverage", "0"], &path);
    let said = stdout(&output) + &stderr(&output);
    assert!(output.status.success(), "{said}");
    let expected = format!(
        "{} bytes of code match the checksums in the unwind tables\n",
        code.len()
    );
    assert!(said.contains(&expected), "{said}");

    let mut data = linked.data.clone();
    let offset = linked.image().section(".text").unwrap().unwrap().offset as usize;
    data[offset] = 1;
    fs::write(&path, data).unwrap();
    let output = sframe(&["check", "--coverage", "0"], &path);
    assert!(!output.status.success());
    let expected =
        format!("error: the code at address {address:#018x} differs from the linked code\n");
    let said = stdout(&output);
    assert!(said.contains(&expected), "{said}");
}
