//! `sframe` on images for 32-bit ARM: what it prints of their rule maps and exception tables, what it finds wrong, and what it adds.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::arm::{self, TEXT, linked};
use crate::common::{folder, sframe, stderr, stdout};
use linker::image::Image;
use object::{Object, ObjectSymbol};
use unwind::map::format;

/// A function whose stack pointer no row can name for a while, and one that nobody calls.
const MORE: &str = "
.global switches
.type switches, %function
switches:
    .fnstart
    .save {{r4, lr}}
    push {{r4, lr}}
    .setfp r4, sp
    mov r4, sp
    mov sp, r2
    blx r1
    mov sp, r4
    pop {{r4, pc}}
    .fnend
.size switches, . - switches
.global silent
.type silent, %function
silent:
    .fnstart
    .cantunwind
    b silent
    .fnend
.size silent, . - silent
";

fn text() -> String {
    format!("{TEXT}{MORE}")
}

/// The bytes of a section, and where they are in the file.
fn section(data: &[u8], name: &str) -> (usize, Vec<u8>) {
    let image = Image::parse(data).unwrap();
    let section = image.section(name).unwrap();
    let section = section.unwrap_or_else(|| panic!("no {name}"));
    (section.offset as usize, section.data.to_vec())
}

#[test]
fn a_look_up_tells_the_row_and_which_table_has_it() {
    let image = linked(&folder("arm_lookup"), &text(), &["--symbols=names"]);
    let data = fs::read(&image).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let at = |name: &str| file.symbol_by_name(name).unwrap().address() & !1;
    let (thumb, switches) = (at("in_thumb"), at("switches"));
    for (address, expected) in [
        (
            at("main"),
            "main+0x0/0x8, RA undefined, from the unwind rule map",
        ),
        (
            thumb,
            "in_thumb+0x0/0x10, cfa sp+0, ra u, fp u, from the unwind rule map",
        ),
        (
            thumb + 2,
            "in_thumb+0x2/0x10, cfa sp+16, ra c-4, fp u, r4 c-16, r6 c-12, r7 c-8, from the unwind rule map",
        ),
        (
            switches + 4,
            "switches+0x4/0x18, cfa sp+8, ra u, fp u, from the unwind rule map",
        ),
        (
            switches + 12,
            "switches+0xc/0x18, cfa r4+8, ra c-4, fp u, r4 c-8, from the exception table, whose rows are valid only at call instructions",
        ),
        (
            at("silent"),
            "silent+0x0/0x4, no row in the unwind rule map (no function in the unwind table contains the address), and no usable entry in the exception table (the .ARM.exidx entry states that the function cannot be unwound)",
        ),
    ] {
        let output = sframe(&["lookup", &format!("{address:x}")], &image);
        assert_eq!(stdout(&output), format!("{address:#x}: {expected}\n"));
        assert!(output.status.success());
    }
    let output = sframe(&["lookup", "10"], &image);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stdout(&output),
        "0x10: no name, no function in the unwind table contains the address\n"
    );
}

#[test]
fn a_dump_has_all_rows_and_all_entries() {
    let image = linked(&folder("arm_dump"), &text(), &["--symbols=names"]);
    let dump = stdout(&sframe(&["dump"], &image));
    for expected in [
        "Section .unwind_map at 0x",
        "    ABI: 32-bit ARM\n",
        "pc = 0x40200018, size = 16 bytes  in_thumb\n    STARTPC           CFA       FP        RA        others\n    \
         0000000040200018  sp+0      u         u\n    \
         000000004020001a  sp+16     u         c-4       r4 c-16, r6 c-12, r7 c-8\n    \
         000000004020001c  r7+8      u         c-4       r4 c-16, r6 c-12, r7 c-8\n",
        "  main\n    STARTPC           CFA       FP        RA        others\n    0000000040200010  RA undefined\n",
        "Section .ARM.exidx at 0x",
        "    0x40200004 to 0x40200018: pop {r4, r14}; finish; finish  _start\n",
        "    0x40200028 to 0x40200040: vsp = r4; pop {r4, r14}; finish  switches\n",
        "    0x40200040 to 0x40200044: the .ARM.exidx entry states that the function cannot be unwound  silent\n",
    ] {
        assert!(dump.contains(expected), "{expected}: {dump}");
    }
    let json = stdout(&sframe(&["dump", "--json"], &image));
    let lines: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let header = &lines[0];
    assert_eq!(
        (&header["section"], &header["abi"]),
        (&".unwind_map".into(), &"arm".into())
    );
    let thumb = lines.iter().find(|line| line["start"] == 0x4020_0018);
    let row = &thumb.expect("the function in Thumb code")["rows"][1];
    let expected = serde_json::json!({
        "offset": 2, "cfa": "sp+16", "ra": "c-4", "fp": "u",
        "others": { "r4": "c-16", "r6": "c-12", "r7": "c-8" },
    });
    assert_eq!(*row, expected);
    let entry = lines
        .iter()
        .find(|line| line["start"] == 0x4020_0040 && line["end"] != 0);
    let none = &entry.expect("the last entry")["none"];
    assert_eq!(
        *none,
        "the .ARM.exidx entry states that the function cannot be unwound"
    );
    let stats = stdout(&sframe(&["stats"], &image));
    for expected in [
        "code                              68",
        "\n.unwind_map: ",
        "\n.ARM.exidx: 5 entries\n",
        "\nsynthesized from the code ",
    ] {
        assert!(stats.contains(expected), "{expected}: {stats}");
    }
}

/// What a link says of its rows on standard error.
#[test]
fn a_link_has_statistics() {
    let folder = folder("arm_statistics");
    let (_, output) = arm::link(&folder, &text(), &["--symbols=names", "--sframe-stats"]);
    let said = stderr(&output);
    for expected in [
        ".unwind_map: 6 functions, 11 rows, ",
        "functions and unwind rows that are synthesized from the code: 4 functions, ",
        ".unwind_map has unwind rows for ",
        "no unwind rows in .unwind_map for silent at 0x40200040 (4 bytes): ",
        "functions without unwind information: 0\n",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let file = folder.join("stats.json");
    let option = format!("--sframe-stats={}", file.display());
    linked(&folder, &text(), &["--symbols=names", &option]);
    let value: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(value["rule_map"]["functions"], 6);
    assert_eq!(value["rule_map"]["from"]["made_from_code"]["functions"], 4);
    assert_eq!(value["covered"]["of"], 68);
}

/// The first rule with a return address from the stack takes it from another word; the checksum is that of the changed map.
fn with_a_wrong_rule(data: &[u8]) -> Vec<u8> {
    let (at, mut map) = section(data, ".unwind_map");
    let number = |at: usize| u32::from_le_bytes(map[at..at + 4].try_into().unwrap()) as usize;
    let (length, regions, rules) = (number(8), number(12), number(16));
    let first = format::HEADER_SIZE + regions * format::REGION_SIZE;
    let [_, shift, _] = format::SHIFTS;
    let all = map[first..].chunks_exact_mut(format::RULE_SIZE).take(rules);
    for rule in all {
        let flags = u16::from_le_bytes([rule[0], rule[1]]);
        if flags >> shift & 3 == u16::from(format::SAVED) {
            rule[4] = rule[4].wrapping_sub(1);
        }
    }
    let end = length - format::CHECKSUM_SIZE;
    let sum = crc32fast::hash(&map[..end]);
    map[end..length].copy_from_slice(&sum.to_le_bytes());
    let mut data = data.to_vec();
    data[at..at + map.len()].copy_from_slice(&map);
    data
}

#[test]
fn a_check_compares_the_map_with_the_code() {
    let folder = folder("arm_check");
    let image = linked(&folder, &text(), &["--symbols=names"]);
    let check = |path: &Path| sframe(&["check", "--coverage=80"], path);
    let output = check(&image);
    let said = stdout(&output);
    assert!(output.status.success(), "{said}");
    for expected in [
        "\nthe unwind table contradicts the code at 0 places\n",
        " addresses: 0 differences\n",
        "all 5 entries of .ARM.exidx can be read\n",
        "an unwind rule map cannot describe the function at 0x40200040 (4 bytes): there is no call frame information, and no row can be synthesized from the code: no call of the function was found, and no path through the function returns\n",
        ".unwind_map has unwind rows for ",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let data = fs::read(&image).unwrap();
    let changed = folder.join("changed");
    fs::write(&changed, with_a_wrong_rule(&data)).unwrap();
    let output = check(&changed);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let line =
        "0x4020001a, 2 bytes, in_thumb+0x2: the unwind table for these instructions is wrong\n";
    assert!(said.contains(line), "{said}");
    let line = "22 addresses: 2 differences\n";
    assert!(said.contains(line), "{said}");

    // One bit of the map; then of the exception tables, whose entry has a personality routine that does not exist.
    let (at, _) = section(&data, ".unwind_map");
    let mut damaged = data.clone();
    damaged[at + format::HEADER_SIZE] ^= 1;
    fs::write(&changed, damaged).unwrap();
    let output = check(&changed);
    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "sframe: error: {}: section .unwind_map at offset {at} is damaged: ",
        changed.display()
    );
    assert!(
        stderr(&output).starts_with(&expected),
        "{}",
        stderr(&output)
    );
    let (at, index) = section(&data, ".ARM.exidx");
    let inline = index.chunks_exact(8).position(|entry| entry[7] == 0x80);
    let mut damaged = data.clone();
    damaged[at + 8 * inline.expect("an entry in the index") + 7] = 0x84;
    fs::write(&changed, damaged).unwrap();
    let output = check(&changed);
    assert_eq!(output.status.code(), Some(1));
    let expected = "error: .ARM.exidx: entry 0: the unwind table entry names personality routine 4, which does not exist\n";
    assert!(stdout(&output).contains(expected), "{}", stdout(&output));
}

/// The map that `sframe make` adds to an image without one says what the one of a link says.
#[test]
fn a_map_is_made_for_an_image_without_one() {
    let folder = folder("arm_make");
    let options = ["--sframe=none", "--symbols=none"];
    let plain = linked(&folder, &text(), &options);
    let before = fs::read(&plain).unwrap();
    let [made, again] = ["made", "again"].map(|name| folder.join(name));
    let make = |from: &PathBuf, to: &PathBuf| {
        let out = to.to_str().unwrap();
        let output = sframe(&["make", "--symbols=names", "-o", out], from);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let said = make(&plain, &made);
    assert!(said.starts_with(".unwind_map: 6 functions, "), "{said}");
    assert_eq!(make(&made, &again), said);
    // Nothing moves: of the file's header the fields that tell where other headers are, and how many.
    let after = fs::read(&made).unwrap();
    assert_eq!(before[..28], after[..28]);
    assert_eq!(before[36..44], after[36..44]);
    assert!(before[52..] == after[52..before.len()]);

    let rows = |path: &Path| {
        let dump = stdout(&sframe(&["dump"], path));
        let (_, rows) = dump.split_once("    func idx [0]").unwrap();
        rows.to_owned()
    };
    let linked = linked(&folder, &text(), &["--symbols=names"]);
    assert_eq!(rows(&made), rows(&linked));
    assert_eq!(rows(&again), rows(&linked));
    for path in [&made, &again] {
        let output = sframe(&["check", "--coverage=80"], path);
        assert!(output.status.success(), "{}", stdout(&output));
    }
    // It is loaded, read-only, behind everything else.
    let data = fs::read(&made).unwrap();
    let object::File::Elf32(file) = object::File::parse(&*data).unwrap() else {
        panic!("not 32 bits");
    };
    let (offset, map) = section(&data, ".unwind_map");
    let mut loads = file.elf_program_headers().iter();
    let last = loads
        .rfind(|one| one.p_type.get(file.endian()) == object::elf::PT_LOAD)
        .expect("segments");
    let from = last.p_offset.get(file.endian()) as usize;
    let size = last.p_filesz.get(file.endian()) as usize;
    assert!(from < offset && offset + map.len() <= from + size);
    assert_eq!(last.p_flags.get(file.endian()), object::elf::PF_R);
}

/// What cannot be done is said in a line, and nothing is written.
#[test]
fn what_has_no_tables_is_said() {
    let folder = folder("arm_refused");
    let plain = linked(&folder, &text(), &["--sframe=none", "--symbols=none"]);
    let refused = |arguments: &[&str], path: &Path| {
        let output = sframe(arguments, path);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(stdout(&output), "");
        let said = stderr(&output);
        assert_eq!(said.lines().count(), 1, "{said}");
        let prefix = format!("sframe: error: {}: ", path.display());
        said.trim_end().strip_prefix(&prefix).unwrap().to_owned()
    };
    assert_eq!(refused(&["check"], &plain), "no section .unwind_map");
    // Its exception tables are there.
    let dump = stdout(&sframe(&["dump"], &plain));
    assert!(dump.starts_with("Section .ARM.exidx at "), "{dump}");
    let object = crate::common::assemble(&folder, "armv7a-none-eabi", TEXT);
    for command in ["dump", "check", "stats"] {
        let said = refused(&[command], &object);
        assert_eq!(
            said,
            "32-bit ARM object files are not supported: pass a linked image"
        );
    }
    // Debian's C library is stripped, also of the symbols that tell which code is Thumb code.
    let target = setup::workspace::target_folder().unwrap();
    let path = Path::new("/usr/arm-linux-gnueabihf/lib/libc.so.6");
    let library = setup::file(path, "libc6-armhf-cross", &target).unwrap();
    let out = folder.join("made");
    let said = refused(&["make", "-o", out.to_str().unwrap()], &library);
    assert!(
        said.starts_with(
            "the image has no .debug_frame (no unwind rows could be synthesized from the code)"
        ),
        "{said}"
    );
    assert!(!out.exists());
    let dump = stdout(&sframe(&["dump"], &library));
    assert!(
        dump.contains("pop {r4, r14}; finish; finish  raise\n"),
        "{dump}"
    );
    assert!(dump.contains("    Num entries: "), "{dump}");
    let address = dump.lines().find_map(|line| line.strip_suffix("  raise"));
    let (address, _) = address
        .and_then(|line| line.trim().split_once(' '))
        .expect("raise");
    let said = stdout(&sframe(&["lookup", address], &library));
    assert!(
        said.ends_with(
            ", cfa sp+8, ra c-4, fp u, r4 c-8, from the exception table, whose rows are valid only at call instructions\n"
        ),
        "{said}"
    );
}
