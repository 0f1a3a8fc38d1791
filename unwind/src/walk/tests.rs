//! Walks over stacks of a few words, with tables whose rows are written out byte by byte (the bytes are those that
//! GNU as writes for the same rules).

extern crate std;

use std::collections::BTreeMap;
use std::vec::Vec;

use crate::sframe::{Abi, Tables, format};
use crate::{Code, Doubt, End, FrameKind, Range, RegisterSet, Stacks, Unwinder};

mod aligned;
mod analysis;
mod cached;
mod calls;
mod ends;
mod entered;
mod fallbacks;
mod interrupted_link;
mod lean;
mod lost;
mod machines;
mod other_stacks;
mod proof;
mod rows;
mod sources;
mod stack_pointer;
mod trap_code;
mod trap_frames;
mod undeclared;
mod user;

/// The code that the walks here go through: nothing but calls through a register, before these return addresses.
const X86_64: &[u8] = &code(
    [
        0x1005, 0x2050, 0x3010, 0x3020, 0x3100, 0x4010, 0x5008, 0x5108,
    ],
    [0xff, 0xd0],
);
const AARCH64: &[u8] = &code(
    [0x1008, 0x2010, 0x3010, 0x4010, 0x5008, 0, 0, 0],
    0xd63f_0000_u32.to_le_bytes(),
);
const TEXT: u64 = 0x1000;

/// Code that begins at [`TEXT`], with `call` before each of the addresses but 0.
const fn code<const N: usize>(returns: [u64; 8], call: [u8; N]) -> [u8; 0x8000] {
    let mut code = [0; 0x8000];
    let mut index = 0;
    while index < returns.len() {
        if returns[index] != 0 {
            let end = (returns[index] - TEXT) as usize;
            let (_, from) = code.split_at_mut(end - N);
            from.split_at_mut(N).0.copy_from_slice(&call);
        }
        index += 1;
    }
    code
}

/// A function for [`table`]: start, size, info, info2, and rows with their number.
type Function<'a> = (u64, u32, u8, u8, u16, &'a [u8]);

/// A version 3 section at address 0, little-endian, with 1-byte row starts, whose rows are proven.
fn table(abi: Abi, functions: &[Function<'_>]) -> Vec<u8> {
    table_with(abi, functions, Some(&[]))
}

/// As [`table`], with a list of unproven ranges (start, size), or without a proof.
fn table_with(abi: Abi, functions: &[Function<'_>], unproven: Option<&[(u64, u32)]>) -> Vec<u8> {
    let mut rows = Vec::new();
    let mut index = Vec::new();
    for (start, size, info, info2, count, bytes) in functions {
        let field = format::HEADER_SIZE + index.len();
        index.extend((*start as i64 - field as i64).to_le_bytes());
        index.extend(size.to_le_bytes());
        index.extend((rows.len() as u32).to_le_bytes());
        rows.extend(count.to_le_bytes());
        rows.extend([*info, *info2, 0]);
        rows.extend(*bytes);
    }
    if let Some(ranges) = unproven {
        // In ascending order modulo 2^32.
        for (start, size) in ranges {
            rows.extend((*start as u32).to_le_bytes());
            rows.extend((*size as u16).to_le_bytes());
        }
        rows.extend((ranges.len() as u32).to_le_bytes());
        rows.extend(format::PROOF_MAGIC.to_le_bytes());
        rows.extend(0_u64.to_le_bytes());
        rows.extend(format::LINKED_MAGIC.to_le_bytes());
        rows.extend(0_u32.to_le_bytes());
        rows.extend(format::CHECKSUM_MAGIC.to_le_bytes());
    }
    let fixed_ra = if abi == Abi::Amd64 { 0xf8 } else { 0 };
    let mut section = Vec::from([0xe2, 0xde, 3, 5, abi as u8, 0, fixed_ra, 0]);
    for word in [functions.len(), 0, rows.len(), 0, index.len()] {
        section.extend((word as u32).to_le_bytes());
    }
    section.extend(index);
    section.extend(rows);
    section
}

/// Row `sp+8` of x86-64 at offset 0, then `fp+16` with FP at c-16 at offset 1: a function that pushes its frame pointer.
const PUSHES_FP: &[u8] = &[0x00, 0x03, 0x08, 0x01, 0x04, 0x10, 0xf0];
/// A row of x86-64's trap code, whose frame pointer is behind what the CPU has pushed: CFA = *(sp+24), RA = *(sp+0), FP = *(sp+32);
/// 7 is rsp.
const TRAP_ENTRY: &[u8] = &[0x00, 0x0d, 0x3b, 24, 0x3b, 0, 0x3b, 32];
/// No caller.
const OUTERMOST: &[u8] = &[0x00, 0x00];

/// What the x86-64 tests share: an entry function, a function with a frame pointer, one of 24 bytes of locals, and
/// a hole from 0x4000 on.
/// Adds a list with this magic number to a table, before its empty list of unproven ranges. `bytes` returns the bytes of an entry.
fn with_list<T>(
    mut table: Vec<u8>,
    magic: u32,
    list: &[T],
    bytes: impl Fn(&T) -> Vec<u8>,
) -> Vec<u8> {
    if list.is_empty() {
        return table;
    }
    let proof = format::PROOF_SIZE + format::LINKED_SIZE + format::CHECKSUM_SIZE;
    let behind = table.split_off(table.len() - proof);
    let mut added: Vec<u8> = list.iter().flat_map(bytes).collect();
    added.extend((list.len() as u32).to_le_bytes());
    added.extend(magic.to_le_bytes());
    let rows: &mut [u8; 4] = table[16..].first_chunk_mut().unwrap();
    *rows = (u32::from_le_bytes(*rows) + added.len() as u32).to_le_bytes();
    table.extend(added);
    table.extend(behind);
    table
}

fn amd64() -> Vec<u8> {
    amd64_with(Some(&[]))
}

/// As [`amd64`], with the proof that [`table_with`] takes.
fn amd64_with(unproven: Option<&[(u64, u32)]>) -> Vec<u8> {
    table_with(
        Abi::Amd64,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
            // sp+8, then sp+32 from offset 4 on.
            (
                0x3000,
                0x100,
                0,
                0,
                2,
                &[0x00, 0x03, 0x08, 0x04, 0x03, 0x20],
            ),
            (0x5000, 0x10, 0x80, 1, 1, TRAP_ENTRY),
            // A trap entry that the table does not describe.
            (0x5100, 0x10, 0x80, 0, 0, &[]),
            // A DRAP prologue: sp+8, then r10+0, then CFA = *(fp-8) and FP = *(fp+0).
            (
                0x6000,
                0x100,
                0,
                1,
                3,
                &[
                    0x00, 0x04, 0x39, 0x08, 0x05, 0x04, 0x51, 0x00, 0x13, 0x0a, 0x33, 0xf8, 0x00,
                    0x33, 0x00,
                ],
            ),
        ],
        unproven,
    )
}

/// Words at addresses; everything else cannot be read.
#[derive(Clone)]
struct Words(BTreeMap<u64, u64>);

impl Words {
    fn new(words: &[(u64, u64)]) -> Self {
        Self(words.iter().copied().collect())
    }
}

type Found = (u64, FrameKind, crate::How);

fn walk<R: RegisterSet>(
    table: &[u8],
    registers: R,
    ranges: &[Range],
    words: &[(u64, u64)],
) -> (Vec<Found>, End, Option<Doubt>) {
    let words = Words::new(words);
    let read = |address| words.0.get(&address).copied();
    let code = match Tables::new(table, 0).first().map(|section| section.abi()) {
        Ok(Abi::AArch64Little) => [Code::new(AARCH64, TEXT)],
        _ => [Code::new(X86_64, TEXT)],
    };
    let stacks = Stacks::new(ranges, read);
    let unwinder = Unwinder::new(Tables::new(table, 0)).code(&code);
    let mut frames = unwinder.frames(registers, stacks);
    let found = frames
        .by_ref()
        .map(|frame| (frame.pc, frame.kind, frame.how))
        .collect();
    assert!(frames.next().is_none(), "an ended walk stays ended");
    (
        found,
        frames.end().expect("an ended walk has a reason"),
        frames.doubt(),
    )
}

const STACK: [Range; 1] = [Range::new(0x10000, 0x10100)];

/// AArch64: entry; leaf with everything in registers; frame of 96 bytes, signed, RA c-88, FP c-96; RA saved, FP not.
fn arm() -> Vec<u8> {
    table(
        Abi::AArch64Little,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (
                0x2000,
                0x100,
                0,
                0,
                2,
                &[0x00, 0x03, 0x00, 0x08, 0x87, 0x60, 0xa8, 0xa0],
            ),
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x00]),
            (0x4000, 0x100, 0, 0, 1, &[0x00, 0x05, 0x10, 0xf0]),
        ],
    )
}
