//! Stored symbol tables, and what they must answer: the format does not change unnoticed.

mod golden;
mod say;

use say::say;
use unwind::symbols::{Precision, SymbolTable, SymbolsError, are_of_one_function, format};

/// An answer as it is stored: start and size of the function, how precise, and the frames, innermost first.
fn text(table: &SymbolTable<'_>, address: u64, base: u64) -> String {
    let Some(answer) = table.resolve(address) else {
        return "nothing".to_owned();
    };
    let frames: Vec<String> = answer
        .frames()
        .map(|frame| match frame.place() {
            Some((file, line)) => format!("{} at {file}:{line}", frame.name),
            None => frame.name.to_string(),
        })
        .collect();
    format!(
        "{:#x}/{:#x} {:?} {}",
        answer.start.wrapping_sub(base),
        answer.size,
        answer.precision,
        frames.join(" in ")
    )
}

#[test]
fn stored_tables_answer_what_is_stored_with_them() {
    let mut answers = 0;
    for stored in golden::tables() {
        // Wherever an image is moved as a whole, its table moves along.
        for base in [0, 0x40_0000, 0xffff_ffff_8000_0000] {
            let table = SymbolTable::parse(&stored.bytes, base).unwrap();
            assert_eq!(table.build_id(), b"a build id of twenty", "{}", stored.name);
            for (address, expected) in &stored.answers {
                let found = text(&table, address.wrapping_add(base), base);
                assert_eq!(found, *expected, "{} at {address:#x}", stored.name);
                answers += 1;
            }
        }
    }
    say(format_args!("{answers} answers compared"));
    assert!(answers > 1000);
}

#[test]
fn every_level_is_stored() {
    let mut levels: Vec<u8> = golden::tables()
        .iter()
        .map(|stored| SymbolTable::parse(&stored.bytes, 0).unwrap().level())
        .collect();
    levels.sort_unstable();
    levels.dedup();
    assert_eq!(levels, [0, 1, 2, 3, 4, 5]);
}

/// As `FORMAT.md` says: at call sites, at instructions that can fault, elsewhere.
#[test]
fn levels_promise_what_the_format_says() {
    use Precision::{Exact, NameOnly, OuterOnly};
    for (level, promised) in [
        (0, [NameOnly; 3]),
        (1, [OuterOnly; 3]),
        (2, [Exact, NameOnly, NameOnly]),
        (3, [Exact, OuterOnly, OuterOnly]),
        (4, [Exact; 3]),
        (5, [Exact, Exact, OuterOnly]),
    ] {
        let found = format::promise(level);
        let found = [found.calls, found.faults, found.elsewhere];
        assert_eq!(found, promised, "level {level}");
    }
}

/// The other flags are none that this reader knows.
#[test]
fn a_flag_tells_whether_names_are_full() {
    for (flags, full) in [(0, false), (1, true), (2, false), (0xff, true)] {
        let mut bytes = golden::tables()[0].bytes.clone();
        bytes[27] = flags;
        make_checksum_right(&mut bytes);
        let table = SymbolTable::parse(&bytes, 0).unwrap();
        assert_eq!(table.has_full_names(), full, "flags {flags:#x}");
    }
}

/// So that a change gets past it.
fn make_checksum_right(bytes: &mut [u8]) {
    let crc = crc32fast::hash(&bytes[format::CRC_FROM..]);
    bytes[16..20].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn what_is_no_table_is_refused() {
    let stored = &golden::tables()[0];
    let error = |bytes: &[u8]| SymbolTable::parse(bytes, 0).unwrap_err();
    assert_eq!(error(&[]), SymbolsError::Empty);
    assert_eq!(error(b"symbol"), SymbolsError::BadMagic);
    let mut bytes = stored.bytes.clone();
    bytes[8] = 9;
    assert_eq!(error(&bytes), SymbolsError::UnknownVersion(9));
    let mut bytes = stored.bytes.clone();
    bytes[24] = format::LEVEL_MAX + 1;
    make_checksum_right(&mut bytes);
    assert_eq!(error(&bytes), SymbolsError::UnknownLevel(6));
    let length = stored.bytes.len();
    for cut in [format::MAGIC.len(), 13, 20, length - 1] {
        let error = error(&stored.bytes[..cut]);
        assert!(
            matches!(error, SymbolsError::DoesNotFit(8 | 12 | 16)),
            "{cut}: {error}"
        );
    }
    for at in format::CRC_FROM..length {
        let mut bytes = stored.bytes.clone();
        bytes[at] ^= 0x10;
        assert!(
            matches!(error(&bytes), SymbolsError::BadChecksum { .. }),
            "{at}"
        );
    }
    // What lies behind it is not part of it.
    let longer = [&stored.bytes[..], &[0; 7]].concat();
    assert!(SymbolTable::parse(&longer, 0).is_ok());
}

#[test]
fn names_are_compared_and_shown() {
    let mut names = 0;
    for stored in golden::tables() {
        let table = SymbolTable::parse(&stored.bytes, 0).unwrap();
        for (address, _) in &stored.answers {
            let answer = table.resolve(*address);
            let frames = answer.iter().flat_map(|answer| answer.frames());
            for name in frames.map(|frame| frame.name) {
                names += 1;
                let text = name.to_string();
                assert!(name == *text.as_str() && name != *format!("{text}x").as_str());
                assert_eq!(format!("{name:?}"), format!("\"{text}\""));
            }
        }
    }
    assert!(names > 1000, "{names} names");
    assert_eq!(SymbolsError::Empty.to_string(), "empty");
}

#[test]
fn pieces_of_a_function_have_its_name_and_a_suffix() {
    for (one, other, same) in [
        ("run", "run", true),
        ("run", "run.cold", true),
        ("run", "runs", false),
        ("run", "fun", false),
        ("run.cold", "run.part", false),
        ("", "", true),
    ] {
        let found = are_of_one_function(one.bytes(), other.bytes());
        assert_eq!(found, same, "{one}, {other}");
        let found = are_of_one_function(other.bytes(), one.bytes());
        assert_eq!(found, same, "{other}, {one}");
    }
}
