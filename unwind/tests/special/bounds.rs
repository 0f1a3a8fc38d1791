//! How much a look-up, a step and a text may take at most, with tables that were made to take long.

use std::cell::Cell;

use unwind::sframe::{LookupError, Section, StartRule, Tables};
use unwind::symbols::{SymbolTable, format};
use unwind::x86_64::Registers;
use unwind::{Code, End, Found, Machine, Range, RowSource, Stacks, Unwinder};

use crate::hand::{ADDRESS, FLAGS, V2, look_up, with};

/// The greatest number of functions, or rows, that a look-up reads one after another.
const MOST: u32 = 1 << 16;

/// A section of version 2 with these functions: start from the section's, size, number of rows. They share one row.
fn section(flags: u8, functions: impl ExactSizeIterator<Item = (i32, u32, u32)>) -> Vec<u8> {
    let count = functions.len() as u32;
    let mut bytes = with(&V2, FLAGS, flags)[..28].to_vec();
    bytes[8..12].copy_from_slice(&count.to_le_bytes());
    bytes[24..28].copy_from_slice(&(count * 20).to_le_bytes());
    let mut most = 0;
    for (start, size, rows) in functions {
        bytes.extend(start.to_le_bytes());
        for field in [size, 0, rows, 0] {
            bytes.extend(field.to_le_bytes());
        }
        most = most.max(rows);
    }
    let rows = [0, 3, 8].repeat(most as usize);
    bytes[16..20].copy_from_slice(&(rows.len() as u32).to_le_bytes());
    bytes.extend(rows);
    bytes
}

/// So many functions of a byte each, in descending order.
fn descending(count: u32) -> impl ExactSizeIterator<Item = (i32, u32, u32)> {
    (0..count as i32).map(|index| (-index - 1, 1, 1))
}

#[test]
fn an_unsorted_section_is_read_up_to_a_limit() {
    for (count, expected) in [(MOST, Ok(())), (MOST + 1, Err(LookupError::TooLarge))] {
        let bytes = section(0, descending(count));
        let section = Section::parse_with(&bytes, ADDRESS, StartRule::Section).unwrap();
        let found = section.lookup(ADDRESS - 5).map(|_| ());
        assert_eq!(found, expected, "{count} functions");
    }
}

#[test]
fn sections_one_behind_another_are_read_up_to_the_same_limit() {
    let unsorted = |count| section(0, descending(count));
    let sorted = section(1, [(-1, 1, 1)].into_iter());
    // The first one is not counted, and each of the others as 64 functions at least.
    for (one, most) in [
        (unsorted(1), 1025),
        (unsorted(63), 1025),
        (unsorted(64), 1025),
        (unsorted(65), 1009),
        (unsorted(1 << 10), 65),
        (sorted, 1025),
    ] {
        for (count, expected) in [
            (most, LookupError::NoFunction),
            (most + 1, LookupError::TooLarge),
        ] {
            let bytes = one.repeat(count);
            let tables = Tables::with(&bytes, ADDRESS, StartRule::Section);
            assert_eq!(tables.sections().count(), count);
            let found = look_up(&tables, ADDRESS + 0x10_0000).map(|_| ());
            assert_eq!(found, Err(expected), "{count} sections");
        }
    }
}

#[test]
fn a_first_section_that_is_too_large_hides_no_other() {
    let first = section(0, descending(MOST + 1));
    let bytes = [&first[..], &section(1, [(-1, 1, 1)].into_iter())].concat();
    let tables = Tables::with(&bytes, ADDRESS, StartRule::Section);
    let second = ADDRESS + first.len() as u64;
    let found = |pc| look_up(&tables, pc).map(|(function, _)| function.start());
    assert_eq!(found(second - 1), Ok(second - 1));
    assert_eq!(found(second + 0x10_0000), Err(LookupError::TooLarge));
}

/// The second section has the function, too, with one row.
#[test]
fn a_function_with_too_many_rows_is_found_nowhere_else() {
    let first = section(1, [(-0x100, 16, MOST + 1)].into_iter());
    let start = -0x100 - first.len() as i32;
    let bytes = [&first[..], &section(1, [(start, 16, 1)].into_iter())].concat();
    let tables = Tables::with(&bytes, ADDRESS, StartRule::Section);
    let found = look_up(&tables, ADDRESS - 0x100).map(|_| ());
    assert_eq!(found, Err(LookupError::TooLarge));
    // Nor if the first one just may be searched.
    let first =
        (0..MOST as i32).map(|index| (-index - 1, 1, if index == 0 { MOST + 1 } else { 1 }));
    let first = section(0, first);
    let start = -1 - first.len() as i32;
    let bytes = [&first[..], &section(1, [(start, 1, 1)].into_iter())].concat();
    let tables = Tables::with(&bytes, ADDRESS, StartRule::Section);
    let found = look_up(&tables, ADDRESS - 1).map(|_| ());
    assert_eq!(found, Err(LookupError::TooLarge));
}

#[test]
fn zeros_behind_a_section_are_read_up_to_a_page() {
    for (zeros, expected) in [((1 << 12) - 1, 2), (1 << 12, 1)] {
        let bytes = [&V2[..], &vec![0; zeros], &V2].concat();
        assert_eq!(Tables::new(&bytes, ADDRESS).sections().count(), expected);
    }
}

#[test]
fn empty_functions_before_one_are_passed_up_to_a_limit() {
    for (empty, expected) in [(15, true), (16, false)] {
        let functions = (0..empty + 1).map(|index| (-0x100, u32::from(index == 0) * 16, 1));
        let bytes = section(1, functions);
        let section = Section::parse(&bytes, ADDRESS).unwrap();
        assert_eq!(section.function_at(ADDRESS - 0x100).is_some(), expected);
    }
}

#[test]
fn rows_are_read_up_to_a_limit() {
    for (rows, expected) in [(MOST, Ok(())), (MOST + 1, Err(LookupError::TooLarge))] {
        let bytes = section(1, [(-0x100, 16, rows)].into_iter());
        let section = Section::parse(&bytes, ADDRESS).unwrap();
        let found = section.lookup(ADDRESS - 0x100).map(|_| ());
        assert_eq!(found, expected, "{rows} rows");
    }
}

/// How many rows a step looks up at most, as [`unwind::Frames`] promises; and for how many functions it asks.
const MOST_LOOK_UPS: u32 = 10;

/// Tables that count what they are asked.
struct Counting<'a> {
    tables: Tables<'a>,
    asked: Cell<u32>,
    /// For all of a function, or whether it has an address.
    asked_more: Cell<u32>,
}

impl RowSource for Counting<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        self.tables.describes(machine)
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        self.asked.set(self.asked.get() + 1);
        self.tables.look_up(pc, found)
    }

    fn function(&self, pc: u64) -> Option<Range> {
        self.asked_more.set(self.asked_more.get() + 1);
        RowSource::function(&self.tables, pc)
    }

    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        self.asked_more.set(self.asked_more.get() + 1);
        self.tables.is_one_function(found, other)
    }

    fn covers(&self, pc: u64) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.tables.covers(pc)
    }

    fn doubt(&self) -> Option<End> {
        self.tables.doubt()
    }
}

/// The look-ups of the step that takes most of them, whether a call that leads elsewhere was seen, and why the walk ended.
fn look_ups(pc: u64, text: &[u8], words: &[u64]) -> (u32, bool, End) {
    let source = Counting {
        tables: Tables::new(&V2, ADDRESS),
        asked: Cell::new(0),
        asked_more: Cell::new(0),
    };
    let code = [Code::new(text, 0x1000)];
    let code = if text.is_empty() { &[][..] } else { &code };
    let unwinder = Unwinder::new(&source).code(code);
    let ranges = [Range::new(0x8000, 0x8000 + 8 * words.len() as u64)];
    let read = |address: u64| words.get((address as usize - 0x8000) / 8).copied();
    let mut frames = unwinder.frames(Registers::new(pc, 0x8000, 0), Stacks::new(&ranges, read));
    let mut most = 0;
    loop {
        source.asked.set(0);
        source.asked_more.set(0);
        let frame = frames.next();
        most = most.max(source.asked.get());
        // Once for whether it has an address.
        let more = source.asked_more.get();
        assert!(more <= MOST_LOOK_UPS + 1, "{more}");
        if frame.is_none() {
            break;
        }
    }
    let elsewhere = frames.doubt().map(|doubt| doubt.reason);
    let end = frames.end().expect("an ended walk has a reason");
    let elsewhere = matches!(elsewhere, Some(End::CalledElsewhere(..)));
    (most, elsewhere, end)
}

/// A call leads to code that is nothing but jumps, each to another place.
#[test]
fn a_step_through_code_of_jumps_takes_few_look_ups() {
    let mut text = vec![0x90; 0x4_0000];
    for (index, jump) in text[0x100..0x3_0000].chunks_exact_mut(5).enumerate() {
        jump[0] = 0xe9;
        let distance = (index as i32 * 0x1357) % 0x8000;
        jump[1..].copy_from_slice(&distance.to_le_bytes());
    }
    // `call 0x2000` in the function at 0x1000; and a call whose last bytes are `call [rax + rax]`, so that it may be that.
    for (distance, is_elsewhere) in [(0x2000 - 0x100a, true), (0x54ff_i32, false)] {
        text[5] = 0xe8;
        text[6..10].copy_from_slice(&distance.to_le_bytes());
        let (most, elsewhere, _) = look_ups(0x1014, &text, &[0, 0x100a, 0, 0]);
        assert_eq!(elsewhere, is_elsewhere, "the jumps were not followed");
        let bound = MOST_LOOK_UPS - u32::from(is_elsewhere);
        assert!((5..=bound).contains(&most), "{most} look-ups");
    }
}

/// The walk begins where no function is. Without the code, each word of the stack would have to be looked up to be a candidate.
#[test]
fn a_step_without_code_takes_few_look_ups() {
    for (word, ended) in [
        (0x1018, End::Unreadable(0x1_0000)),
        (0x5000, End::BadPc(0x3014)),
    ] {
        let (most, _, end) = look_ups(0x3014, &[], &[word; 4096]);
        assert_eq!(end, ended);
        assert!((2..MOST_LOOK_UPS).contains(&most), "{most} look-ups");
    }
}

/// A blob with one function at 0, whose name is one code for a rule that doubles, sixteen deep.
fn doubling() -> Vec<u8> {
    let rules: Vec<u8> = (0..16_u16)
        .flat_map(|rule| {
            let inner = if rule == 0 {
                u16::from(b'a')
            } else {
                255 + rule
            };
            [inner.to_le_bytes(), inner.to_le_bytes()].concat()
        })
        .collect();
    let grammar = |rules: &[u8]| [&0_u16.to_le_bytes()[..], rules].concat();
    // Codes without short ones: the high byte first.
    let name = [(255 + 16_u16).to_be_bytes(), (255 + 16_u16).to_be_bytes()].concat();
    let record = [&[0_u8][..], &name].concat();
    let records = [&[record.len() as u8][..], &record].concat();
    // Record +0, distance 0, size 16.
    let ops = [format::OP_FUNCTION, 0, 0, 16];
    // One phrase, with a short code.
    let phrase = ((ops.len() as u32 - 1) << format::LENGTH_SHIFT).to_le_bytes();
    let phrases = [&[1, 0, 1, 0], &phrase[..format::PHRASE_SIZE], &ops].concat();
    let ranges = [
        &0_u64.to_le_bytes()[..],
        &16_u32.to_le_bytes(),
        &0_u32.to_le_bytes(),
    ]
    .concat();
    let parts: [(u32, Vec<u8>); 8] = [
        (format::TAG_RANGES, ranges),
        (format::TAG_CHUNKS, vec![0; 4]),
        (format::TAG_ROW_INDEX, vec![0; 4]),
        (format::TAG_ROWS, vec![1, 0]),
        (format::TAG_ROW_PHRASES, phrases),
        (format::TAG_RECORD_INDEX, vec![0; 4]),
        (format::TAG_RECORDS, records),
        (format::TAG_TEXT_GRAMMAR, grammar(&rules)),
    ];
    let mut blob = vec![0; format::HEADER_SIZE];
    blob[..8].copy_from_slice(&format::MAGIC);
    blob[8..10].copy_from_slice(&format::MAJOR.to_le_bytes());
    blob[20..24].copy_from_slice(&(parts.len() as u32).to_le_bytes());
    let mut at = (blob.len() + parts.len() * format::ENTRY_SIZE) as u32;
    for (tag, part) in &parts {
        for field in [*tag, at, part.len() as u32] {
            blob.extend(field.to_le_bytes());
        }
        at += part.len() as u32;
    }
    blob.extend(parts.iter().flat_map(|(_, part)| part));
    blob[12..16].copy_from_slice(&at.to_le_bytes());
    let checksum = crc32fast::hash(&blob[format::CRC_FROM..]);
    blob[16..20].copy_from_slice(&checksum.to_le_bytes());
    blob
}

#[test]
fn a_name_is_written_up_to_a_limit() {
    let blob = doubling();
    let table = SymbolTable::parse(&blob, 0).unwrap();
    let answer = table.resolve(4).expect("the function");
    let name = answer.frames().next().unwrap().name;
    let text = name.to_string();
    assert_eq!(text.len(), format::TEXT_MAX);
    assert!(text.bytes().all(|byte| byte == b'a'));
    assert_eq!(name, *text);
}
