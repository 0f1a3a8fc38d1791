//! Links that load a rule map instead of `.sframe` (`--sframe-load=map`): by lld and by GNU ld, on both architectures.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{
    SCRIPT, assemble, folder, scripts, sframe, sframe_link, stderr, stdout, succeed, tool,
};
use linker::image::Image;
use object::{Object, ObjectSection, ObjectSegment, SectionFlags, elf};
use unwind::ImageTables;
use unwind::sframe::Verified;
use unwind::sframe::format::{CODE_CHECKSUM_SIZE, CODE_CHECKSUMS_SIZE};

const X86_64: &str = "x86_64-unknown-none";
const AARCH64: &str = "aarch64-unknown-none-softfloat";

/// Two functions, one of which calls the other.
const X86_TEXT: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
 call other
 hlt
.cfi_endproc
.size _start, . - _start
.type other, %function
other:
.cfi_startproc
 push %rbx
.cfi_def_cfa_offset 16
 pop %rbx
.cfi_def_cfa_offset 8
 ret
.cfi_endproc
.size other, . - other
.data
found: .quad __sframe_start, __sframe_end
";

/// The same, with a signed return address in the second function.
fn aarch64() -> String {
    X86_TEXT
        .replace("call", "bl")
        .replace("hlt", "wfi")
        .replace(
            "push %rbx",
            "paciasp\n.cfi_negate_ra_state\n sub sp, sp, #16",
        )
        .replace("pop %rbx", "add sp, sp, #16")
        .replace("offset 8", "offset 0\n autiasp\n.cfi_negate_ra_state")
}

/// Links; what was said.
fn link(folder: &Path, object: &Path, switches: &[&str]) -> String {
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    let mut command = sframe_link();
    let command = command
        .current_dir(folder)
        .args(["-L", &scripts(), "-T", "image.ld", "-o", "image"])
        .args(switches)
        .arg(object);
    stderr(&succeed(command))
}

/// The map is where the program looks for the tables; `.sframe` is in the file, not in a segment, and right.
fn expect_map(folder: &Path) {
    let path = folder.join("image");
    let check = sframe(&["check"], &path);
    let text = stdout(&check) + &stderr(&check);
    assert!(check.status.success(), "{text}");
    let compared = "addresses of .unwind_map with .sframe: 0 differences\n";
    assert!(text.contains(compared), "{text}");
    for (command, words) in [
        ("stats", "\n.unwind_map: "),
        ("dump", "Section .unwind_map at 0x"),
    ] {
        let text = stdout(&sframe(&[command], &path));
        assert!(text.contains(words), "{text}");
    }

    let data = fs::read(&path).unwrap();
    let image = Image::parse(&data).unwrap();
    let map = image.section(".unwind_map").unwrap().unwrap();
    let words = image.file.section_by_name(".data").unwrap();
    let (words, _) = words.data().unwrap().as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    assert_eq!(words, [map.address, map.address + map.data.len() as u64]);
    let mut segments = image.file.segments();
    let loaded = segments.find_map(|segment| {
        let at = map.address.checked_sub(segment.address())? as usize;
        segment.data().ok()?.get(at..at + map.data.len())
    });
    let tables = ImageTables::new(loaded.expect("the map is loaded"), map.address);
    assert!(matches!(tables, ImageTables::Map(_)));
    assert_eq!(
        tables.verify(),
        Ok(Verified {
            checksum: true,
            code: false
        })
    );
    assert_eq!(tables.moved_by(), Some(0));

    let table = image.file.section_by_name(".sframe").unwrap();
    let flags = table.flags();
    assert!(
        matches!(flags, SectionFlags::Elf { sh_flags, .. } if !sh_flags.contains(elf::SHF_ALLOC))
    );
    let (at, _) = table.file_range().unwrap();
    let in_segment = image.file.segments().any(|segment| {
        let (start, size) = segment.file_range();
        (start..start + size).contains(&at)
    });
    assert!(!in_segment);
}

fn check(name: &str, target: &str, text: &str, linker: Option<PathBuf>) {
    let folder = folder(name);
    let object = assemble(&folder, target, text);
    let linker = linker.map(|path| format!("--sframe-linker={}", path.display()));
    let mut switches = vec!["--sframe-load=map", "--symbols=names"];
    switches.extend(linker.as_deref());
    let mut images = Vec::new();
    // The second link uses the space of the first.
    for _ in 0..2 {
        let said = link(&folder, &object, &switches);
        assert!(!said.contains("no unwind rule map"), "{said}");
        expect_map(&folder);
        let dump = stdout(&sframe(&["dump"], &folder.join("image")));
        // In `.sframe`, from which the map does not differ.
        assert_eq!(dump.contains(" u[s]\n"), target == AARCH64, "{dump}");
        images.push(fs::read(folder.join("image")).unwrap());
    }
    assert!(
        images[0] == images[1],
        "the second link makes another image"
    );

    // The program itself is the same with either.
    switches[0] = "--sframe-load=sframe";
    link(&folder, &object, &switches);
    let with_sframe = fs::read(folder.join("image")).unwrap();
    let code = |data: &[u8]| {
        let image = Image::parse(data).unwrap();
        image.section(".text").unwrap().unwrap().data.to_vec()
    };
    assert_eq!(code(&images[0]), code(&with_sframe));
    let image = Image::parse(&with_sframe).unwrap();
    assert!(image.section(".unwind_map").unwrap().is_none());
}

#[test]
fn by_lld() {
    check("map_lld", X86_64, X86_TEXT, None);
    check("map_lld_aarch64", AARCH64, &aarch64(), None);
}

#[test]
fn by_gnu_ld() {
    let ld = |name, package| PathBuf::from(tool(name, package).get_program());
    check("map_ld", X86_64, X86_TEXT, Some(ld("ld", "binutils")));
    let ld = ld("aarch64-linux-gnu-ld", "binutils-aarch64-linux-gnu");
    check("map_ld_aarch64", AARCH64, &aarch64(), Some(ld));
}

#[test]
fn a_damaged_map_fails_the_check() {
    let folder = folder("map_damaged");
    let object = assemble(&folder, X86_64, X86_TEXT);
    link(&folder, &object, &["--sframe-load=map"]);
    let path = folder.join("image");
    let mut data = fs::read(&path).unwrap();
    let map = Image::parse(&data).unwrap();
    let map = map.section(".unwind_map").unwrap().unwrap();
    let offset = map.offset;
    // Before its checksum and those of the code.
    let code = CODE_CHECKSUM_SIZE + CODE_CHECKSUMS_SIZE;
    let last = offset as usize + map.data.len() - 6 - code;
    data[last] ^= 1;
    fs::write(&path, data).unwrap();
    let check = sframe(&["check"], &path);
    assert!(!check.status.success());
    let said = stderr(&check);
    let expected = format!("section .unwind_map at offset {offset} is damaged: wrong checksum");
    assert!(said.contains(&expected), "{said}");
}

/// What a map cannot say is said by `.sframe`, which is loaded then.
#[test]
fn without_a_map_the_table_is_loaded() {
    let folder = folder("map_unfit");
    // A function that begins between two instructions.
    let odd =
        ".byte 0\nother:\n.cfi_startproc\n.byte 1, 2, 3, 4\n.cfi_endproc\n.size other, . - other\n";
    let text = aarch64();
    let (before, _) = text.split_once("other:").unwrap();
    let (_, data) = text.split_once(".data").unwrap();
    let text = format!("{before}{odd}.data{data}").replace("bl other", "nop");
    let object = assemble(&folder, AARCH64, &text);
    let said = link(
        &folder,
        &object,
        &["--sframe-load=map", "--sframe-repair=no"],
    );
    let warning = "sframe-link: warning: the image uses .sframe, because the link created no unwind rule map: ";
    assert!(said.contains(warning), "{said}");
    let data = fs::read(folder.join("image")).unwrap();
    let image = Image::parse(&data).unwrap();
    assert!(image.section(".unwind_map").unwrap().is_none());
    let table = image.section(".sframe").unwrap().unwrap();
    let tables = ImageTables::new(table.data, table.address);
    assert_eq!(
        tables.verify(),
        Ok(Verified {
            checksum: true,
            code: false
        })
    );
    assert!(matches!(tables, ImageTables::SFrame(_)));
}
