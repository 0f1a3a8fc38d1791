//! The checksum that `linker` writes: whatever bit is wrong, it is noticed.

use linker::architecture::{AARCH64, Architecture, S390X, X86_64};
use linker::cfi::Frames;
use linker::function::Function;
use linker::sframe::{Table, Version};
use unwind::sframe::{Base, Damage, Row, Rule, Tables, Verified};

/// Where the table lies.
const ADDRESS: u64 = 0xffff_ffff_8020_0000;

/// Functions as a compiler makes them: each pushes something and pops it, some of them in the same way.
fn functions(architecture: &Architecture) -> Frames {
    let row = |offset, cfa| Row {
        offset,
        cfa: Rule::Value {
            base: Base::StackPointer,
            offset: cfa,
        },
        return_address: match architecture.fixed_return_address {
            Some(offset) => Rule::Saved {
                base: Base::Cfa,
                offset: offset.into(),
            },
            None => Rule::Same,
        },
        frame_pointer: Rule::Same,
        signed: false,
        kept: unwind::Kept::ALL,
    };
    let functions = (0..6).map(|index: u32| Function {
        start: 0xffff_ffff_8010_0000 + u64::from(index) * 0x40,
        size: 0x38,
        rows: vec![
            row(0, 160),
            row(4, 176 + 16 * i64::from(index / 2)),
            row(0x30, 160),
        ],
        signal: false,
        key_b: false,
        continues: false,
        block: None,
    });
    Frames {
        functions: functions.collect(),
        left_out: Vec::new(),
    }
}

fn verify(bytes: &[u8]) -> Result<Verified, Damage> {
    Tables::new(bytes, ADDRESS).verify()
}

fn table(architecture: &'static Architecture, version: Version) -> Table {
    let table = Table::of_version(version, architecture, &mut functions(architecture));
    assert_eq!(
        (table.function_count(), table.stored_row_count() % 3),
        (6, 0)
    );
    table
}

/// Every kind of table that has a checksum.
fn tables() -> Vec<Vec<u8>> {
    let mut tables = Vec::new();
    for architecture in [&X86_64, &AARCH64] {
        for table in [
            table(architecture, Version::V2),
            table(architecture, Version::V3),
        ] {
            let size = table.size();
            for size in [size, size + 1, size + 64] {
                let bytes = table.to_bytes_of(ADDRESS, size);
                assert_eq!(bytes.len(), size);
                tables.push(bytes);
            }
        }
    }
    tables
}

#[test]
fn every_wrong_bit_and_byte_is_noticed() {
    let mut wrong = 0;
    for bytes in tables() {
        assert_eq!(
            verify(&bytes),
            Ok(Verified {
                checksum: true,
                code: false
            })
        );
        for at in 0..bytes.len() {
            for mask in (0..8).map(|bit| 1 << bit).chain([0xff, bytes[at].max(1)]) {
                let mut bytes = bytes.clone();
                bytes[at] ^= mask;
                let outcome = verify(&bytes);
                // Which bytes are looked at is up to the header.
                assert!(
                    outcome == Err(Damage::Checksum) || (at < 28 && outcome.is_err()),
                    "byte {at} with {mask:#x}: {outcome:?}"
                );
                wrong += 1;
            }
        }
    }
    assert!(wrong > 10_000, "{wrong}");
}

/// Bytes that were cut off, or lost: never a table with a right checksum.
#[test]
fn every_cut_and_every_lost_page_is_noticed() {
    for bytes in tables() {
        for length in 0..bytes.len() {
            let outcome = verify(&bytes[..length]);
            assert!(
                matches!(outcome, Err(Damage::Section(_))),
                "{length}: {outcome:?}"
            );
        }
        for at in (0..bytes.len()).step_by(16) {
            let mut lost = bytes.clone();
            let end = bytes.len().min(at + 16);
            lost[at..end].fill(0);
            let is_the_same = lost == bytes;
            let is_right = verify(&lost)
                == Ok(Verified {
                    checksum: true,
                    code: false,
                });
            assert_eq!(is_right, is_the_same, "{at}");
        }
    }
}

/// A big-endian table has none, and its room lies behind it: otherwise objdump refuses it.
#[test]
fn a_big_endian_table_has_no_checksum() {
    let table = table(&S390X, Version::V3);
    let (size, bytes) = (table.size(), table.to_bytes_of(ADDRESS, table.size() + 64));
    assert_eq!(
        verify(&bytes),
        Ok(Verified {
            checksum: false,
            code: false
        })
    );
    assert_eq!(bytes.len(), size + 64);
    assert_eq!(Tables::new(&bytes, ADDRESS).first().unwrap().length(), size);
}
