//! Files as somebody else may write them.

use std::io::{Seek, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::*;

const SIZE: u64 = 4096;
const WIDE: Processor = Processor::X86_64;
const BLOCK: usize = numbers(WIDE)[0];
const SECOND: usize = numbers(WIDE)[1];
const BITS: usize = numbers(WIDE)[2];
/// Where the bits of the pages that are here begin, and what is known of each.
const HERE: u64 = 3 * SIZE;
const LIST: u64 = 4 * SIZE;
/// Where the bytes of the one page are, and which page it is.
const DATA: u64 = 5 * SIZE;
const PAGE_THERE: u64 = 9;

type Record = (u64, Vec<u8>);

/// The records of a file with one page.
fn records(kind: u32, data: &[u8]) -> Vec<Record> {
    records_of(WIDE, kind, data)
}

/// The same of a machine with this processor.
fn records_of(processor: Processor, kind: u32, data: &[u8]) -> Vec<Record> {
    let [block, second, bits] = numbers(processor);
    let mut header = vec![0; HEADER];
    header[..SIGNATURE.len()].copy_from_slice(SIGNATURE);
    for (at, word) in [(block, SIZE as u32), (second, 1), (bits, 2)] {
        header[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    let mut bits = vec![0; 2 * SIZE as usize];
    bits[(SIZE + PAGE_THERE / 8) as usize] = 1 << (PAGE_THERE % 8);
    let mut known = DATA.to_le_bytes().to_vec();
    known.extend((data.len() as u32).to_le_bytes());
    known.extend(kind.to_le_bytes());
    known.extend([0; 8]);
    vec![
        (0, header),
        (HERE - SIZE, bits),
        (LIST, known),
        (DATA, data.to_vec()),
    ]
}

/// The file of these records, as QEMU writes it to a pipe.
fn file(records: &[Record]) -> File {
    let mut bytes = b"makedumpfile\0\0\0\0".to_vec();
    bytes.resize(4096, 0);
    for (place, record) in records {
        bytes.extend(place.to_be_bytes());
        bytes.extend((record.len() as u64).to_be_bytes());
        bytes.extend(record);
    }
    bytes.extend([0xff; 16]);
    written(&bytes)
}

fn written(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file can be made");
    file.write_all(bytes).expect("it can be written");
    file.rewind().expect("it can be read again");
    file
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// A page whose bytes are different.
fn page() -> Vec<u8> {
    (0..SIZE).map(|at| (at ^ at >> 8) as u8).collect()
}

/// Why the file is refused, or its page.
#[track_caller]
fn refused(records: &[Record], says: &str) {
    let read =
        Pages::open(file(records), WIDE).and_then(|mut pages| pages.bytes::<8>(PAGE_THERE * SIZE));
    let error = read.expect_err("it is refused");
    let error = format!("{error:#}");
    assert!(error.contains(says), "{error}");
}

#[test]
fn a_page_is_read_plain_and_compressed() {
    let plain = page();
    for (processor, records) in [
        (WIDE, records(PLAIN, &plain)),
        (WIDE, records(ZLIB, &packed(&plain))),
        (
            Processor::Armv7a,
            records_of(Processor::Armv7a, PLAIN, &plain),
        ),
    ] {
        let mut pages = Pages::open(file(&records), processor).expect("a dump");
        let found = pages.bytes(PAGE_THERE * SIZE + 0x123).expect("whole");
        assert_eq!(found, plain[0x123..].first_chunk::<8>().copied());
        // Over the end of the page, in others, and behind all bits.
        for other in [
            PAGE_THERE * SIZE + SIZE - 7,
            0,
            10 * SIZE,
            8 * SIZE * SIZE,
            u64::MAX,
        ] {
            assert_eq!(pages.bytes::<8>(other).expect("whole"), None, "{other:#x}");
        }
    }
}

#[test]
fn a_page_that_cannot_be_is_refused() {
    let plain = page();
    refused(&records(2, &plain), "page 0x9000: unknown compression");
    refused(
        &records(PLAIN, &plain[1..]),
        "the page in the dump has 4095 bytes, expected 4096",
    );
    let larger = [&plain[..], &[0]].concat();
    refused(
        &records(PLAIN, &larger),
        "the data of this page in the dump is larger than the page size",
    );
    refused(&records(ZLIB, &plain), "cannot be decompressed");
    // A megabyte in a few bytes is not unpacked.
    let bomb = packed(&vec![0; 1 << 20]);
    assert!(bomb.len() < SIZE as usize);
    refused(
        &records(ZLIB, &bomb),
        "the page in the dump has 4097 bytes, expected 4096",
    );
}

#[test]
fn a_header_that_cannot_be_is_refused() {
    let with = |at: usize, word: u32| {
        let mut records = records(PLAIN, &page());
        records[0].1[at..at + 4].copy_from_slice(&word.to_le_bytes());
        records
    };
    for size in [0, 2048, 4097, 1 << 17, 1 << 31] {
        refused(&with(BLOCK, size), "the memory dump has an invalid header");
    }
    refused(
        &with(SECOND, u32::MAX),
        "the memory dump has an invalid header",
    );
    refused(
        &with(BITS, u32::MAX),
        "the memory dump has an invalid header",
    );
    // More bits than the file can have are not made room for.
    refused(
        &with(BITS, 1 << 26),
        "the memory dump ends inside its page bitmap",
    );
    refused(&with(0, 0), "the file is not a makedumpfile dump");
}

#[test]
fn bytes_that_are_not_there_are_an_error() {
    let known = |at: u64| {
        let mut records = records(PLAIN, &page());
        records[2].1[..8].copy_from_slice(&at.to_le_bytes());
        records
    };
    refused(&known(1 << 40), "byte 0x10000000000 is missing");
    let mut records = known(u64::MAX - 3);
    records.push((u64::MAX - 3, vec![0; 4]));
    refused(&records, "an offset in the memory dump is too large");
    let mut records = self::records(PLAIN, &page());
    records.remove(1);
    refused(&records, "the memory dump ends inside its page bitmap");
}

#[test]
fn records_that_do_not_end_are_refused() {
    for count in [100, u64::MAX] {
        let mut bytes = b"makedumpfile\0\0\0\0".to_vec();
        bytes.resize(4096, 0);
        bytes.extend(0_u64.to_be_bytes());
        bytes.extend(count.to_be_bytes());
        let error = Pages::open(written(&bytes), WIDE).expect_err("it is refused");
        let error = format!("{error:#}");
        let says = [
            "the memory dump has no end marker",
            "a record of the memory dump has an invalid size",
        ];
        assert_eq!(
            error.split(':').next(),
            Some(says[usize::from(count != 100)])
        );
    }
    let error = Pages::open(written(b"makedumpfile"), WIDE).expect_err("it is refused");
    assert_eq!(
        error.to_string(),
        "the file is not a memory dump in QEMU's format"
    );
}
