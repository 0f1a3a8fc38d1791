//! Tables that are not strict, made by hand from one that is: `sframe check` says what is wrong with them.

use std::fs;

use crate::common::{folder, sframe, stderr, stdout};
use linker::architecture::{AARCH64, Architecture, X86_64};
use linker::cfi::Frames;
use linker::function::Function;
use linker::image::Section;
use linker::inspect::Strict;
use linker::sframe::{Table, Version};
use object::{Object, ObjectSection};
use unwind::sframe::{Base, Row, Rule, StartRule, Tables, format};

const ADDRESS: u64 = 0x40_0000;

/// Two functions of 32 bytes, one behind the other, with two rows each, and without a checksum.
fn table(architecture: &'static Architecture, version: Version) -> Vec<u8> {
    let functions = [0x1000, 0x1020].map(|start| Function {
        start,
        size: 32,
        rows: [0, 4]
            .map(|offset| Row {
                offset,
                cfa: Rule::Value {
                    base: Base::StackPointer,
                    offset: (start + 16 * u64::from(offset)).cast_signed(),
                },
                return_address: Rule::Saved {
                    base: Base::Cfa,
                    offset: -8,
                },
                frame_pointer: Rule::Same,
                signed: false,
                kept: unwind::Kept::ALL,
            })
            .to_vec(),
        signal: false,
        key_b: false,
        continues: false,
        block: None,
    });
    let mut frames = Frames {
        functions: functions.to_vec(),
        left_out: Vec::new(),
    };
    let table = Table::of_version(version, architecture, &mut frames);
    assert_eq!((table.function_count(), table.stored_row_count()), (2, 4));
    let mut bytes = table.to_bytes(ADDRESS);
    let checksum = bytes.len() - format::CHECKSUM_SIZE;
    bytes[checksum..].fill(0);
    bytes
}

/// What is said of the bytes, in a file for an architecture, and whether it is an error.
fn say(bytes: &[u8], architecture: &Architecture) -> (String, bool) {
    let section = Section {
        data: bytes,
        address: ADDRESS,
        offset: 0,
        index: 0,
    };
    let tables = Tables::with(bytes, ADDRESS, StartRule::FromFlags);
    let strict = Strict::of(&tables, &section, architecture);
    let mut out = Vec::new();
    strict.write(&mut out).unwrap();
    (String::from_utf8(out).unwrap(), strict.has_error())
}

/// Changes bytes, and expects this to be said of it. Whether it is an error is up to what verification says, too.
#[track_caller]
fn expect(version: Version, changes: &[(usize, u8)], expected: &str) {
    let mut bytes = table(&X86_64, version);
    for (at, byte) in changes {
        bytes[*at] = *byte;
    }
    let (said, is_error) = say(&bytes, &X86_64);
    assert_eq!(said, expected);
    assert_eq!(is_error, expected.contains("error: "));
    let verified = Tables::new(&bytes, ADDRESS).verify();
    assert_eq!(verified.is_err(), is_error, "{verified:?}");
}

/// Offsets in version 3: entries of 16 bytes, then for each function 5 bytes of attributes and rows of 4 bytes: start,
/// info, a word of 2 bytes.
const ENTRY: usize = 28 + 16;
const ATTRIBUTES: usize = 28 + 32 + 5 + 8;
const ROWS: usize = ATTRIBUTES + 5;

#[test]
fn nothing_is_said_of_a_strict_table() {
    for version in [Version::V2, Version::V3] {
        expect(version, &[], "");
        assert_eq!(
            say(&table(&AARCH64, version), &AARCH64),
            (String::new(), false)
        );
    }
}

#[test]
fn functions() {
    // The first one's size.
    expect(
        Version::V3,
        &[(28 + 8, 33)],
        "error: .sframe: functions in the unwind table overlap each other (count: 1, first at 0x1020)\n",
    );
    // The second one's start, half a page lower.
    let start = table(&X86_64, Version::V3)[ENTRY + 1];
    expect(
        Version::V3,
        &[(ENTRY + 1, start - 8)],
        "error: .sframe: the unwind table is marked as sorted, but its functions are not in order (count: 1, first at 0x820)\n",
    );
    // Where nobody says so it is allowed, and only cannot be verified.
    let mut bytes = table(&X86_64, Version::V3);
    (bytes[3], bytes[ENTRY + 1]) = (4, start - 8);
    let said =
        "note: .sframe: the functions in the unwind table are not in order (count: 1, first at 0x820)\n".to_owned();
    assert_eq!(say(&bytes, &X86_64), (said, false));
    expect(
        Version::V3,
        &[(ENTRY + 15, 1)],
        "error: .sframe: the rows of function 1 are outside the unwind table\n\
         error: .sframe: the header of the unwind table has a row count of 4, but the functions have 2 rows\n",
    );
}

#[test]
fn the_number_of_rows() {
    for version in [Version::V2, Version::V3] {
        expect(
            version,
            &[(12, 5)],
            "error: .sframe: the header of the unwind table has a row count of 5, but the functions have 4 rows\n",
        );
    }
}

#[test]
fn rows() {
    for (row, start, expected) in [
        (
            0,
            2,
            "note: .sframe: functions have no unwind row for their start address (count: 1, first at 0x1020)\n",
        ),
        (
            0,
            5,
            "note: .sframe: functions have no unwind row for their start address (count: 1, first at 0x1020)\n\
                error: .sframe: the unwind rows of a function are not in order (count: 1, first at 0x1020)\n",
        ),
        (
            1,
            0,
            "note: .sframe: consecutive unwind rows start at the same address (count: 1, first at 0x1020)\n",
        ),
        (
            1,
            32,
            "note: .sframe: unwind rows start at the end of their function (count: 1, first at 0x1020)\n",
        ),
        (
            1,
            33,
            "error: .sframe: unwind rows start after the end of their function (count: 1, first at 0x1020)\n",
        ),
    ] {
        expect(Version::V3, &[(ROWS + 4 * row, start)], expected);
    }
    // Words of no width.
    expect(
        Version::V3,
        &[(ROWS + 4 + 1, 0x63)],
        "error: .sframe: rows cannot be read (count: 1, first at 0x1020)\n",
    );
}

#[test]
fn reserved_bits() {
    let said = "note: .sframe: functions in the unwind table have reserved bits set (count: 1, first at 0x1020)\n";
    // Info; key B, which only AArch64 has; the second info; what fills an entry of version 2 up.
    expect(Version::V3, &[(ATTRIBUTES + 2, 1 << 6)], said);
    expect(Version::V3, &[(ATTRIBUTES + 2, 1 << 5)], said);
    expect(Version::V3, &[(ATTRIBUTES + 3, 1 << 7)], said);
    expect(Version::V2, &[(28 + 20 + 16, 1 << 7)], said);
    expect(Version::V2, &[(28 + 20 + 19, 1)], said);
    let row = "note: .sframe: unwind rows have reserved bits set (count: 1, first at 0x1020)\n";
    expect(Version::V3, &[(ROWS + 1, 0xa3)], row);
    // A signed return address and key B are none on AArch64.
    let mut bytes = table(&AARCH64, Version::V3);
    let attributes =
        28 + 32 + u32::from_le_bytes(*bytes[ENTRY + 12..].first_chunk().unwrap()) as usize;
    bytes[attributes + 2] |= 1 << 5;
    bytes[attributes + 6] |= 1 << 7;
    assert_eq!(say(&bytes, &AARCH64), (String::new(), false));
}

#[test]
fn another_machine() {
    let bytes = table(&X86_64, Version::V3);
    let said = "error: .sframe: the unwind table is for Amd64, but the file is for AArch64Little\n"
        .to_owned();
    assert_eq!(say(&bytes, &AARCH64), (said, true));
    let mut bytes = table(&AARCH64, Version::V3);
    bytes[4] = 1;
    let said = "error: .sframe: the unwind table is for AArch64Big, but the file is for AArch64Little\n\
                error: .sframe: the unwind table for AArch64Big has the wrong byte order\n";
    assert_eq!(say(&bytes, &AARCH64), (said.to_owned(), true));
}

#[test]
fn a_wrong_checksum() {
    let mut bytes = table(&X86_64, Version::V3);
    let magic = bytes.len() - 4;
    bytes[magic..].copy_from_slice(&format::CHECKSUM_MAGIC.to_le_bytes());
    let said = "error: .sframe: wrong checksum\n".to_owned();
    assert_eq!(say(&bytes, &X86_64), (said, true));
}

/// The same by the program: the lines come with the comparison, and the status is 1 although no row differs.
#[test]
fn check_fails() {
    let folder = folder("strict_check_fails");
    let text = ".globl _start\n_start:\n.cfi_startproc\nret\n.cfi_endproc\n";
    let (path, _) = crate::common::image(&folder, "x86_64-unknown-linux-gnu", text);
    let check = sframe(&["check"], &path);
    assert!(
        check.status.success(),
        "{}{}",
        stdout(&check),
        stderr(&check)
    );
    assert!(!stdout(&check).contains(".sframe: "), "{}", stdout(&check));
    let mut data = fs::read(&path).unwrap();
    let file = object::File::parse(data.as_slice()).unwrap();
    let (offset, _) = file
        .section_by_name(".sframe")
        .unwrap()
        .file_range()
        .unwrap();
    // The number of rows in the header.
    data[offset as usize + 12] = 9;
    fs::write(&path, data).unwrap();
    let check = sframe(&["check"], &path);
    assert_eq!(check.status.code(), Some(1));
    let said = stdout(&check);
    assert!(said.contains(": 0 differences\n"), "{said}");
    assert!(
        said.contains(
            "error: .sframe: the header of the unwind table has a row count of 9, but the functions have 1 row\n"
        ),
        "{said}"
    );
}
