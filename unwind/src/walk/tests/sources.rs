//! A table format and an architecture that the walk knows nothing of: a list of rows, and words of 4 bytes. And lists of sources.

extern crate std;

use std::vec::Vec;

use super::{OUTERMOST, PUSHES_FP, TEXT, Words, X86_64, amd64, table};
use crate::code::{Instructions, Jump};
use crate::registers::sealed::Sealed;
use crate::sframe::{Abi, Damage, ParseError, Tables};
use crate::verdict::How::{FramePointer, Given, LinkRegister, SFrame, Scan};
use crate::{
    Base, Code, End, Found, How, LookupError, Machine, Proof, Range, RegisterSet, Row, RowSource,
    Rule, Stacks, Unwinder, x86_64,
};

/// An architecture of 32 bits that pushes return addresses, as i386 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Small {
    pc: u32,
    sp: u32,
    fp: u32,
}

impl Instructions for Small {
    const ALIGNMENT: usize = 1;

    /// A byte 1, and the address in the next.
    fn direct_call(bytes: &[u8], _: u64) -> Option<u64> {
        match bytes {
            [.., 1, target] => Some((*target).into()),
            _ => None,
        }
    }

    fn is_indirect_call(_: &[u8], _: u64) -> bool {
        false
    }

    fn jump(_: &[u8], _: u64) -> Option<(Jump, usize)> {
        None
    }

    fn ends(_: &[u8]) -> bool {
        true
    }
}

impl Sealed for Small {
    fn set(&mut self, pc: u64, sp: u64, fp: u64) {
        *self = self.caller(pc, sp, fp);
    }
}

impl RegisterSet for Small {
    // Of those that there are, any: only a source asks.
    const MACHINE: Machine = Machine::X86_64;
    const WORD: u64 = 4;
    const CFA_ALIGNMENT: u64 = 4;
    const RECORD_IS_TOP_OF_FRAME: bool = true;
    const STACK_POINTER: u32 = 4;
    const PROGRAM_COUNTER: u32 = 8;

    fn pc(&self) -> u64 {
        self.pc.into()
    }

    fn sp(&self) -> u64 {
        self.sp.into()
    }

    fn fp(&self) -> u64 {
        self.fp.into()
    }

    fn other(&self, _: u32) -> Option<u64> {
        None
    }

    fn link(&self) -> Option<u64> {
        None
    }

    fn sp_at(cfa: u64) -> u64 {
        cfa
    }

    fn strip(&self, address: u64) -> u64 {
        address
    }

    fn learn(&mut self, _: u32, _: u64) {}

    fn is_user(&self) -> bool {
        false
    }

    fn caller(&self, pc: u64, sp: u64, fp: u64) -> Self {
        let word = |value| u32::try_from(value).expect("a word has 4 bytes");
        Self {
            pc: word(pc),
            sp: word(sp),
            fp: word(fp),
        }
    }
}

/// Rows one after another, each of a function.
#[derive(Clone, Copy)]
struct List<'a>(&'a [(Range, Row)]);

impl RowSource for List<'_> {
    fn describes(&self, _: Machine) -> Result<(), End> {
        Ok(())
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        let mut rows = self.0.iter();
        let (range, row) = rows
            .find(|(range, _)| range.holds(pc, 1))
            .ok_or(LookupError::NoFunction)?;
        *found = Found {
            range: *range,
            place: 0,
            is_trap: false,
            proof: Proof::Proven,
            rules: row.into(),
        };
        Ok(())
    }

    fn covers(&self, pc: u64) -> bool {
        self.0.iter().any(|(range, _)| range.holds(pc, 1))
    }

    fn doubt(&self) -> Option<End> {
        None
    }
}

const BEGINS: Row = Row {
    offset: 0,
    cfa: Rule::Undefined,
    return_address: Rule::Undefined,
    frame_pointer: Rule::Undefined,
    signed: false,
    kept: crate::Kept::ALL,
};

/// The row of a function whose frame has this size, return address included.
const fn frame(size: i64) -> Row {
    Row {
        cfa: Rule::Value {
            base: Base::StackPointer,
            offset: size,
        },
        return_address: Rule::Saved {
            base: Base::Cfa,
            offset: -4,
        },
        frame_pointer: Rule::Same,
        ..BEGINS
    }
}

/// A function without a caller at 0x10, one of 8 bytes at 0x20, one of 12 at 0x30.
const ROWS: [(Range, Row); 3] = [
    (Range::new(0x10, 0x20), BEGINS),
    (Range::new(0x20, 0x30), frame(8)),
    (Range::new(0x30, 0x40), frame(12)),
];

/// Calls of 0x20 from 0x12, and of 0x30 from 0x22.
const CODE: [u8; 0x50] = {
    let mut code = [0; 0x50];
    (code[0x12], code[0x13]) = (1, 0x20);
    (code[0x22], code[0x23]) = (1, 0x30);
    code
};

fn walk(registers: Small, words: &[(u64, u32)]) -> (Vec<(u64, How)>, Option<End>) {
    let ranges = [Range::new(0xffff_ff00, 0xffff_fff0)];
    let read = |address: u64| {
        assert!(address.is_multiple_of(4));
        let word = words.iter().find(|(at, _)| *at == address);
        word.map(|(_, word)| u64::from(*word))
    };
    let code = [Code::new(&CODE, 0)];
    let unwinder = Unwinder::new(List(&ROWS)).code(&code);
    let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
    let found = frames.by_ref().map(|frame| (frame.pc, frame.how)).collect();
    (found, frames.end())
}

#[test]
fn words_of_four_bytes_are_walked_by_rows_of_another_format() {
    let registers = Small {
        pc: 0x38,
        sp: 0xffff_ffdc,
        fp: 0,
    };
    let words = [(0xffff_ffe4, 0x24), (0xffff_ffec, 0x14)];
    let (found, end) = walk(registers, &words);
    assert_eq!(found, [(0x38, Given), (0x24, SFrame), (0x14, SFrame)]);
    assert_eq!(end, Some(End::Complete));
    // An address counts around the end of its words.
    let registers = Small {
        sp: 0xffff_fffc,
        ..registers
    };
    let (_, end) = walk(registers, &[]);
    assert_eq!(end, Some(End::NoStack(0xffff_fffc)));
    assert_eq!(crate::registers::offset_address::<Small>(0xffff_fffc, 8), 4);
}

/// A source may give a frame address for an outermost function, too: it has no caller all the same, and begins at a base or not.
#[test]
fn an_outermost_row_with_a_frame_address_has_no_caller() {
    let row = Row {
        return_address: Rule::Undefined,
        ..frame(8)
    };
    let rows = [(Range::new(0x10, 0x20), row)];
    let ranges = [Range::new(0xffff_ff00, 0xffff_fff0)];
    let unwinder = Unwinder::new(List(&rows));
    for (sp, expected) in [
        (0xffff_fff0, End::Complete),
        (0xffff_ffe8, End::NotAtBase(0xffff_ffe8)),
    ] {
        let registers = Small {
            pc: 0x18,
            sp,
            fp: 0,
        };
        let mut frames = unwinder.frames(registers, Stacks::new(&ranges, |_| None));
        assert_eq!(frames.by_ref().count(), 1);
        assert_eq!(frames.end(), Some(expected));
    }
}

#[test]
fn fallbacks_read_words_of_four_bytes() {
    let registers = |pc, sp, fp| Small { pc, sp, fp };
    let (found, end) = walk(registers(0x18, 0xffff_ff80, 0), &[]);
    assert_eq!(found, [(0x18, Given)]);
    assert_eq!(end, Some(End::NotAtBase(0xffff_ff80)));
    // A call through a null pointer has pushed 4 bytes.
    let words = [(0xffff_ff80, 0x24), (0xffff_ff88, 0x14)];
    let (found, _) = walk(registers(0, 0xffff_ff80, 3), &words);
    assert_eq!(found, [(0, Given), (0x24, LinkRegister), (0x14, SFrame)]);
    // A frame record has 8, and a scan goes on by 4.
    let words = [(0xffff_ff90, 0), (0xffff_ff94, 0x24), (0xffff_ff9c, 0x14)];
    let (found, _) = walk(registers(0x45, 0xffff_ff80, 0xffff_ff90), &words);
    assert_eq!(found, [(0x45, Given), (0x24, FramePointer), (0x14, SFrame)]);
    let words = [
        (0xffff_ff80, 0),
        (0xffff_ff84, 0x24),
        (0xffff_ff88, 0x24),
        (0xffff_ff8c, 3),
    ];
    let (found, _) = walk(registers(0x45, 0xffff_ff7f, 3), &words);
    assert_eq!(found, [(0x45, Given), (0x24, Scan), (0x24, Scan)]);
}

#[test]
fn sources_are_asked_in_their_order() {
    let image = table(Abi::Amd64, &[(0x1000, 0x100, 0, 0, 1, OUTERMOST)]);
    let module = table(Abi::Amd64, &[(0x2000, 0x100, 0, 0, 2, PUSHES_FP)]);
    let ranges = [Range::new(0x10000, 0x10100)];
    let code = [Code::new(X86_64, TEXT)];
    let read = |address| (address == 0x100f8).then_some(0x1005);
    let registers = x86_64::Registers::new(0x2000, 0x100f8, 0);
    let list = List(&[]);
    let (image, module) = (Tables::new(&image, 0), Tables::new(&module, 0));
    let walk = |sources: &[&dyn RowSource]| {
        let unwinder = Unwinder::new(sources).code(&code);
        let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
        let found: Vec<_> = frames.by_ref().map(|frame| frame.pc).collect();
        (found, frames.end())
    };
    let complete = (std::vec![0x2000, 0x1005], Some(End::Complete));
    assert_eq!(walk(&[&image, &module]), complete);
    assert_eq!(walk(&[&list, &module, &image]), complete);
    let none = Tables::none();
    assert_eq!(walk(&[&none, &module, &image]), complete);
    assert_eq!(walk(&[&image, &module, &none]), complete);
    // Damage of one is a doubt about all.
    let damaged = module.verified(Err(Damage::Checksum));
    let outermost = (complete.0.clone(), Some(End::Outermost));
    assert_eq!(walk(&[&image, &damaged]), outermost);
    let sources: &[&dyn RowSource] = &[&image, &module];
    let covered = [0xfff, 0x1000, 0x20ff, 0x2100].map(|pc| (&sources).covers(pc));
    assert_eq!(covered, [false, true, true, false]);
    // What is missing, or for another machine, is said.
    let reason = |sources: &[&dyn RowSource]| walk(sources).1;
    assert_eq!(reason(&[&none]), Some(End::NoTables(ParseError::Empty)));
    let nothing = "the list of sources of unwind rows is empty";
    assert_eq!(reason(&[]), Some(End::Unusable(nothing)));
    let other = table(Abi::AArch64Little, &[]);
    let other = Tables::new(&other, 0);
    let wrong = Some(End::WrongAbi(Abi::AArch64Little));
    assert_eq!(reason(&[&image, &other, &module]), wrong);
}

/// A module's code is in a list of its own.
#[test]
fn code_that_was_added_is_code() {
    let table = amd64();
    let words = Words::new(&[(0x10000, 0x2050), (0x10008, 0), (0x10010, 0x1005)]);
    let read = |address| words.0.get(&address).copied();
    let ranges = [Range::new(0x10000, 0x10018)];
    // The functions at 0x1000, and the others.
    let (image, module) = X86_64.split_at(0x800);
    let [image, module] = [[Code::new(image, TEXT)], [Code::new(module, TEXT + 0x800)]];
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&image);
    let end = |unwinder: &Unwinder<'_>| {
        let registers = x86_64::Registers::new(0x3000, 0x10000, 0x10008);
        let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
        (frames.by_ref().count(), frames.end())
    };
    let without = unwinder.fallbacks(crate::Fallbacks::empty());
    assert_eq!(end(&without), (1, Some(End::BadReturnAddress(0x2050))));
    assert_eq!(end(&unwinder.more_code(&module)), (3, Some(End::Complete)));
}
