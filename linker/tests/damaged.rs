//! Files that are not what they should be: one line that says so, and status 1.

use std::fs;
use std::path::Path;

use crate::common::{folder, image, sframe, stderr};
use object::{Object, ObjectSection};

const PROGRAM: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
 ret
.cfi_endproc
.size _start, . - _start
";

/// The line that a command writes about a file.
fn complaint(command: &str, path: &Path) -> String {
    let output = sframe(&[command], path);
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{command}: {errors}");
    assert_eq!(errors.lines().count(), 1, "{command}: {errors}");
    let prefix = format!("sframe: error: {}: ", path.display());
    errors
        .trim_end()
        .strip_prefix(&prefix)
        .unwrap_or_else(|| panic!("{command}: {errors}"))
        .to_owned()
}

#[gate]
fn no_image() {
    let folder = folder("no_image");
    let file = folder.join("file");
    for (content, expected) in [
        (&b""[..], "not an ELF file"),
        (b"#!/bin/sh", "not an ELF file"),
        (b"\x7fELF", "damaged ELF file"),
        (
            &[b"\x7fELF\x02\x01\x01".as_slice(), &[0; 57]].concat(),
            "the ELF file has type Unknown",
        ),
    ] {
        fs::write(&file, content).unwrap();
        for command in ["dump", "check", "stats"] {
            let complaint = complaint(command, &file);
            assert!(complaint.starts_with(expected), "{command}: {complaint}");
        }
    }
}

#[gate]
fn an_object_file() {
    let folder = folder("an_object_file");
    let object = crate::common::assemble(&folder, "x86_64-unknown-linux-gnu", PROGRAM);
    assert_eq!(
        complaint("check", &object),
        "the file has no section .sframe: link with sframe-link, or run `sframe make` to add the section"
    );
}

/// A damaged section is named with its offset in the file, and the place in it with its offset in the section.
#[gate]
fn damage_is_named_with_its_offset() {
    let folder = folder("damage_is_named");
    let (path, _) = image(&folder, "x86_64-unknown-linux-gnu", PROGRAM);
    let data = fs::read(&path).unwrap();
    let file = object::File::parse(data.as_slice()).unwrap();
    let offset = |name: &str| {
        let section = file.section_by_name(name).unwrap();
        section.file_range().unwrap().0
    };
    let (eh_frame, sframe) = (offset(".eh_frame"), offset(".sframe"));
    let change = |offset: u64, bytes: &[u8]| {
        let mut changed = data.clone();
        changed[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        fs::write(&path, changed).unwrap();
    };
    // The CIE's id: then it is an FDE whose CIE lies before the section.
    change(eh_frame + 4, &[0xff, 0, 0, 0]);
    let expected = format!(
        "cannot read section .eh_frame at offset {eh_frame}: the call frame section is damaged at its first entry: "
    );
    let complaint = |command| complaint(command, &path);
    assert!(
        complaint("check").starts_with(&expected),
        "{}",
        complaint("check")
    );
    // The FDE's length.
    let cie = u64::from(u32::from_le_bytes(
        data[eh_frame as usize..][..4].try_into().unwrap(),
    ));
    change(eh_frame + 4 + cie, &[0xff, 0xff, 0, 0]);
    let expected = format!(
        "cannot read section .eh_frame at offset {eh_frame}: the call frame section is damaged after the entry at offset 0x0: "
    );
    assert!(
        complaint("check").starts_with(&expected),
        "{}",
        complaint("check")
    );
    for (at, byte, expected) in [
        (
            0,
            1,
            "the .sframe section has bad magic number 0xde01 at offset 0, expected 0xdee2",
        ),
        (2, 9, "unknown SFrame version 9 at offset 2"),
        (4, 77, "unknown SFrame ABI number 77 at offset 4"),
        (
            11,
            1,
            "the function entries of the .sframe section end at offset 268435500, after the end of the section",
        ),
    ] {
        change(sframe + at, &[byte]);
        for command in ["dump", "check", "stats"] {
            assert_eq!(
                complaint(command),
                format!("cannot read section .sframe at offset {sframe}: {expected}")
            );
        }
    }
    // The section headers lie behind the end of the file, or the section does.
    fs::write(&path, &data[..data.len() - 10]).unwrap();
    assert_eq!(
        complaint("dump"),
        format!(
            "damaged ELF file: the section headers at offset {} end at offset {}, but the file has only {} bytes",
            u64::from_le_bytes(data[40..48].try_into().unwrap()),
            data.len(),
            data.len() - 10
        )
    );
}

#[gate]
fn an_image_without_tables() {
    let executable = std::env::current_exe().unwrap();
    assert_eq!(
        complaint("dump", &executable),
        "the file has no section .sframe: link with sframe-link, or run `sframe make` to add the section"
    );
}

/// All commands, of a file with any content.
fn try_commands(data: &[u8], address: u64) {
    if let Ok(image) = linker::image::Image::parse(data) {
        let _ = linker::cfi::Frames::of(&image);
        let _ = linker::symbols::Symbols::of(&image.file);
    }
    let _ = linker::make::make(data, &linker::link::Options::default());
    let _ = linker::inspect::check(data, unwind::sframe::StartRule::FromFlags, None);
    if let Ok(subject) = linker::inspect::Subject::parse(data) {
        let mut out = Vec::new();
        linker::inspect::dump(&subject, &mut out).unwrap();
        linker::inspect::json(&subject, &mut out).unwrap();
        linker::inspect::lookup(&subject, address, &mut out).unwrap();
        let _ = linker::inspect::stats(data, &subject, &mut out);
    }
}

/// Wherever a file is cut off, or whatever byte of its headers is changed, a command ends with 0 or 1.
#[gate]
fn a_cut_or_changed_image_never_panics() {
    let folder = folder("a_cut_image");
    let (path, _) = image(&folder, "x86_64-unknown-linux-gnu", PROGRAM);
    let data = fs::read(&path).unwrap();
    for_each_damage(&data, 2, |data| try_commands(data, 0xffff_ffff_8010_0000));
}

/// The same of an image for 32-bit ARM, with a rule map and exception tables: every fifth damage.
#[gate]
fn a_cut_or_changed_image_for_arm_never_panics() {
    damage_an_image_for_arm(10);
}

/// Every damage.
#[long]
fn an_image_for_arm_with_any_damage_never_panics() {
    damage_an_image_for_arm(2);
}

/// Tries two of so many parts of all damages.
fn damage_an_image_for_arm(parts: usize) {
    let options = ["--symbols=names", "-zmax-page-size=4096"];
    let path = crate::common::arm::linked(
        &folder("a_cut_arm_image"),
        crate::common::arm::TEXT,
        &options,
    );
    let data = fs::read(&path).unwrap();
    let check = sframe(&["check"], &path);
    assert!(check.status.success(), "{}", stderr(&check));
    for_each_damage(&data, parts, |data| try_commands(data, 0x4020_0018));
}

/// The same of an object file, which is laid out first.
#[gate]
fn a_cut_or_changed_object_file_never_panics() {
    let folder = folder("a_cut_object_file");
    let text = PROGRAM.replace(
        ".cfi_startproc",
        ".cfi_sections .eh_frame, .debug_frame, .sframe\n.cfi_startproc",
    );
    let path = crate::common::assemble(&folder, "x86_64-unknown-linux-gnu", &text);
    let data = fs::read(&path).unwrap();
    let check = sframe(&["check"], &path);
    assert!(check.status.success(), "{}", stderr(&check));
    for_each_damage(&data, 2, |data| {
        if let Ok(laid_out) = linker::relocatable::lay_out(data) {
            let _ = linker::inspect::check(&laid_out.data, laid_out.starts, None);
        }
    });
}

/// Tries two of so many parts of all damages, in two threads, because there is more to try than in all other tests here.
fn for_each_damage(data: &[u8], parts: usize, each: impl Fn(&[u8]) + Sync) {
    std::thread::scope(|scope| {
        for part in 0..2 {
            let each = &each;
            scope.spawn(move || damage_part(data, part, parts, each));
        }
    });
}

/// Every damage whose number in the list of all damages leaves the remainder `part` when divided by `parts`.
fn damage_part(data: &[u8], part: usize, parts: usize, each: impl Fn(&[u8])) {
    for length in (0..data.len()).step_by(7).skip(part).step_by(parts) {
        each(&data[..length]);
    }
    let mut changed = data.to_vec();
    // Long runs of zeros are padding; what is behind a word is perhaps its upper half.
    let is_used = |at: usize| {
        data[at.saturating_sub(8)..=at]
            .iter()
            .any(|byte| *byte != 0)
    };
    let used = (0..data.len()).filter(|at| is_used(*at));
    for at in used.skip(part).step_by(parts) {
        for value in [0, 1, 0x7f, 0xff] {
            changed[at] = value;
            each(&changed);
        }
        changed[at] = data[at];
    }
    // A whole word, which is a size or an address somewhere.
    let words = (0..data.len().saturating_sub(8)).step_by(8);
    for at in words.skip(part).step_by(parts) {
        for value in [u64::MAX, i64::MAX as u64, 1 << 32] {
            changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
            each(&changed);
        }
        changed[at..at + 8].copy_from_slice(&data[at..at + 8]);
    }
}

/// What a section says of its uncompressed size takes memory only if it may be true.
#[gate]
fn a_claim_of_a_compressed_section_takes_no_memory() {
    let folder = folder("compressed_claim");
    let text = format!("{PROGRAM}\n.section .debug_str, \"MS\", %progbits, 1\n.zero 4194304\n");
    let path = crate::common::assemble(&folder, "x86_64-unknown-linux-gnu", &text);
    for kind in ["zlib", "zstd"] {
        let compressed = folder.join(kind);
        let mut objcopy = crate::common::tool("objcopy", "binutils");
        objcopy.arg(format!("--compress-debug-sections={kind}"));
        crate::common::succeed(objcopy.args([&path, &compressed]));
        let mut data = fs::read(&compressed).unwrap();
        let uncompressed = |data: &[u8]| {
            let file = object::File::parse(data).unwrap();
            let section = file.section_by_name(".debug_str").unwrap();
            let size = linker::compressed::uncompressed(&section).map(|data| data.len());
            (section.file_range().unwrap().0 as usize, size)
        };
        // As small as zeros become.
        let (at, size) = uncompressed(&data);
        assert_eq!(size.unwrap(), 4 << 20, "{kind}");
        // `ch_size` is the second word.
        data[at + 8..at + 16].copy_from_slice(&(1_u64 << 40).to_le_bytes());
        let error = uncompressed(&data).1.unwrap_err().to_string();
        assert!(
            error.contains("bytes cannot expand to 1099511627776"),
            "{kind}: {error}"
        );
    }
}
