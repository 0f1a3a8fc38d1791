//! Which row holds at an address, in functions of kinds that the stored files do not have.

use unwind::sframe::format::Flags;
use unwind::sframe::{Base, LookupError, Row, Rule, Section, Tables};
use unwind::x86_64::Registers;
use unwind::{Code, How, Range, Stacks, Unwinder};

use crate::hand::{
    ADDRESS, FLAGS, INFO_V1, INFO_V2, INFO_V3, PUSHED, SAYS, V1, V2, V3, row, row_at, with,
};

/// Versions 1 and 2 can say that every function keeps a frame pointer: that changes no row, and a walk by rows is the same. Where
/// a row is missing, the frame pointer leads on, marked as such.
#[test]
fn that_functions_keep_a_frame_pointer_changes_no_row() {
    for bytes in [&V1[..], &V2] {
        let flagged = with(bytes, FLAGS, bytes[FLAGS] | Flags::FRAME_POINTER.bits());
        let section = Section::parse(&flagged, ADDRESS).expect("a table");
        assert!(section.flags().contains(Flags::FRAME_POINTER));
        for pc in 0xff8..0x1038 {
            assert_eq!(row_at(&flagged, pc), row_at(bytes, pc), "{pc:#x}");
        }
        // In the second function, below its frame; then where no function is, with a frame record at the frame pointer.
        for (pc, how, words) in [
            (0x1018, How::SFrame, [0, 0x1005, 0]),
            (0x1040, How::FramePointer, [0, 0x8018, 0x1005]),
        ] {
            // `call *%rax` before 0x1005.
            let code = [Code::new(&[0xff, 0xd0], 0x1003)];
            let ranges = [Range::new(0x8000, 0x8018)];
            let read = |address: u64| words.get((address as usize - 0x8000) / 8).copied();
            let unwinder = Unwinder::new(Tables::new(&flagged, ADDRESS)).code(&code);
            let registers = Registers::new(pc, 0x8000, 0x8008);
            let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
            let caller = frames.nth(1).map(|frame| (frame.pc, frame.how));
            assert_eq!(caller, Some((0x1005, how)), "{pc:#x}");
        }
    }
}

#[test]
fn what_a_function_says_of_itself() {
    let section = Section::parse(&V1, ADDRESS).unwrap();
    let function = section.function(1).unwrap();
    assert_eq!((function.block_size(), function.uses_key_b()), (0, false));
    for (pc, expected) in SAYS {
        let inside = expected.filter(|(start, _)| *start == 0x1010);
        assert_eq!(function.contains(pc), inside.is_some(), "pc {pc:#x}");
        assert_eq!(function.row_at(pc), inside.map(|(_, row)| row));
    }
    let bytes = with(&V1, INFO_V1, 1 << 5);
    let section = Section::parse(&bytes, ADDRESS).unwrap();
    assert!(section.function(1).unwrap().uses_key_b());
    assert!(!section.function(0).unwrap().uses_key_b());
}

#[test]
fn a_frame_may_be_counted_from_the_frame_pointer() {
    for section in [&V1[..], &V2, &V3] {
        let cfa = Rule::Value {
            base: Base::FramePointer,
            offset: 16,
        };
        let bytes = with(section, section.len() - 3, 4);
        assert_eq!(row_at(&bytes, 0x1011), Ok(Row { cfa, ..PUSHED }));
    }
}

/// Rows at or behind the end never hold; those before them do.
#[test]
fn rows_behind_the_end_do_not_matter() {
    for start in [32, 33, 255] {
        let bytes = with(&V2, 68 + 6, start);
        for pc in [0x1010, 0x1011, 0x102f] {
            assert_eq!(row_at(&bytes, pc), Ok(row(0, 8)), "row from {start}");
        }
        assert_eq!(row_at(&bytes, 0x1030), Err(LookupError::NoFunction));
    }
}

/// LLVM writes two rows for one address when directives stand in two places: the last holds.
#[test]
fn the_last_of_two_rows_holds() {
    let bytes = with(&V2, 68 + 6, 0);
    assert_eq!(
        row_at(&bytes, 0x1010),
        Ok(Row {
            offset: 0,
            ..PUSHED
        })
    );
}

#[test]
fn before_the_first_row_is_none() {
    let bytes = with(&V2, 68 + 3, 1);
    assert_eq!(row_at(&bytes, 0x1010), Err(LookupError::NoRow));
    assert_eq!(row_at(&bytes, 0x1011), Ok(PUSHED));
}

#[test]
fn functions_without_rows() {
    let none = with(&V3, 60 + 8, 0);
    assert_eq!(
        row_at(&none, 0x1010),
        Err(LookupError::NoRows { signal: false })
    );
    let signal = with(&none, INFO_V3, 0x80);
    assert_eq!(
        row_at(&signal, 0x1010),
        Err(LookupError::NoRows { signal: true })
    );
    // The bit meant nothing before version 3.
    let section = with(&V2, INFO_V2, 0x80);
    assert!(
        !Section::parse(&section, ADDRESS)
            .unwrap()
            .function(1)
            .unwrap()
            .is_signal_frame()
    );
    assert_eq!(row_at(&section, 0x1011), Ok(PUSHED));
}

/// No words at all: the function has no caller.
#[test]
fn the_outermost_row() {
    for section in [&V1[..], &V2, &V3] {
        let bytes = with(section, section.len() - 3, 0);
        let found = row_at(&bytes, 0x1011).unwrap();
        assert!(found.is_outermost());
        assert_eq!(found.cfa, Rule::Undefined);
        assert!(!row_at(&bytes, 0x1010).unwrap().is_outermost());
        // The bit for the CFA's base means nothing then.
        let bytes = with(section, section.len() - 3, 1);
        assert!(row_at(&bytes, 0x1011).unwrap().is_outermost());
    }
}
