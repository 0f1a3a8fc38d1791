//! Tables made by hand, with places that the stored ones do not have: gaps between functions, ranges side by side, an entry of
//! 128 bytes.

extern crate std;

use std::string::{String, ToString};
use std::vec::Vec;

use crate::crc32::crc32;
use crate::symbols::format;
use crate::symbols::list::List;
use crate::symbols::phrases::Phrases;
use crate::symbols::rows::{self, Place, Row};
use crate::symbols::{SymbolTable, Text};

/// A grammar without rules, with two bytes a code.
const PLAIN: [u8; 2] = [0, 0];

/// Phrases of one byte each, with two bytes a code.
fn plain() -> Vec<u8> {
    let mut part = Vec::from([0, 0, 0, 1]);
    part.extend((0..=0xff).flat_map(|byte| [byte, 0, 0]));
    part.extend(0..=0xff);
    part
}

/// The codes of bytes in [`PLAIN`] and in [`plain`].
fn coded(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| [0, *byte]).collect()
}

/// Numbers of four bytes.
fn words(numbers: &[u32]) -> Vec<u8> {
    let bytes = numbers.iter().map(|number| number.to_le_bytes());
    bytes.flatten().collect()
}

/// A table with names only, of these parts.
fn blob(parts: [&[u8]; format::TAGS]) -> Vec<u8> {
    let mut at = format::HEADER_SIZE + parts.len() * format::ENTRY_SIZE;
    let mut directory = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        directory.extend(words(&[index as u32 + 1, at as u32, part.len() as u32]));
        at += part.len();
    }
    let mut body = words(&[format::TAGS as u32]);
    // Level, unit, length of the build id, flags, build id.
    body.extend([format::LEVEL_NAMES, 0, 0, 0]);
    body.resize(format::HEADER_SIZE - format::CRC_FROM, 0);
    body.extend(directory);
    body.extend(parts.concat());
    let mut blob = Vec::from(format::MAGIC);
    blob.extend(words(&[u32::from(format::MAJOR), at as u32, crc32(&body)]));
    blob.extend(body);
    blob
}

/// Functions of 4 bytes in two ranges side by side: `one` at 0x1000, 4 bytes that belong to none, `two` at 0x1008 in a chunk of its
/// own, and `three` at 0x100c, where the other range begins.
fn functions() -> Vec<u8> {
    // Of a range: its address, 8 bytes, its length, its first chunk.
    let ranges = words(&[0x1000, 0, 12, 0, 0x100c, 0, 4, 2]);
    // Of a function: the distance of its record, that from the function before, its size.
    let chunk = |record: u8| coded(&[format::OP_FUNCTION, 2 * record, 0, 4]);
    let entry = |bytes: Vec<u8>| [&[bytes.len() as u8], &bytes[..]].concat();
    let rows = [chunk(0), chunk(1), chunk(2)].map(entry).concat();
    let chunks = words(&[0, 8, 0]);
    let record = |name: &str| {
        // No file, no edges.
        entry([&[0], &coded(name.as_bytes())[..]].concat())
    };
    let records = [record("one"), record("two"), record("three")].concat();
    let index = words(&[0]);
    blob([
        &ranges,
        &chunks,
        &index,
        &rows,
        &plain(),
        &index,
        &records,
        &[],
        &[],
        &PLAIN,
    ])
}

#[test]
fn each_byte_belongs_to_its_function_or_to_none() {
    let blob = functions();
    let table = SymbolTable::parse(&blob, 0).unwrap();
    for address in 0xff8..0x1018 {
        let expected = match address {
            0x1000..0x1004 => Some((0x1000, "one")),
            0x1008..0x100c => Some((0x1008, "two")),
            0x100c..0x1010 => Some((0x100c, "three")),
            _ => None,
        };
        let name = table.function(address).map(|name| name.to_string());
        let expected_name = expected.map(|(_, name)| String::from(name));
        assert_eq!(name, expected_name, "{address:#x}");
        let start = table.resolve(address).map(|answer| answer.start);
        assert_eq!(start, expected.map(|(start, _)| start), "{address:#x}");
    }
}

/// The result for the third byte of a function of 4 bytes, with a row for all of it that is in another file.
fn found_in_row(line: u8) -> Place {
    let edge = 1;
    let codes = coded(&[
        format::OP_FUNCTION,
        0,
        0,
        4,
        format::OP_OUTER_ELSEWHERE,
        4,
        edge,
        line,
    ]);
    let phrases = plain();
    let mut ops = Phrases::new(&phrases).expand(&codes);
    rows::find(&mut ops, 0, 2, &mut [0; format::MAX_EDGES]).unwrap()
}

/// Without a line, the edge to the other file is not followed either.
#[test]
fn a_row_without_a_line_tells_nothing() {
    let place = found_in_row(0);
    assert_eq!((place.row, place.edge_count), (Row::None, 0));
    let place = found_in_row(5);
    assert_eq!((place.row, place.edge_count), (Row::Outer, 1));
}

/// The low seven bits of its length are 0, so that its first byte is 0x80.
#[test]
fn an_entry_of_128_bytes_is_skipped_and_found() {
    let long = [0x55; 128];
    let entries = [&[0x80, 1], &long[..], &[1, 7]].concat();
    let list = List::new(&[0; 4], &entries);
    assert_eq!(list.get(0), Some(&long[..]));
    assert_eq!(list.get(1), Some(&[7][..]));
}

/// A report names a tail call only where the two are not of one function.
#[test]
fn pieces_of_a_function_are_known_by_their_stored_names() {
    let codes = ["run", "run.cold", "runs"].map(|name| coded(name.as_bytes()));
    let names = codes.each_ref().map(|codes| Text::new(&PLAIN, codes));
    let [run, cold, runs] = names;
    assert!(run.is_piece_of(&cold) && cold.is_piece_of(&run));
    assert!(!run.is_piece_of(&runs) && !cold.is_piece_of(&runs));
}
