//! Walks to leaves that were interrupted, by tables with the place of the interrupted link register.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::trap_frames::{LEAF_STACKS, interrupted_leaf};
use super::{AARCH64, TEXT, Words, with_list};
use crate::sframe::{Tables, format};
use crate::{Code, End, Stacks, Unwinder, aarch64};

/// A table with a list of interrupted link registers: start, size, and distance from the stack pointer.
fn with_links(table: Vec<u8>, links: &[(u64, u32, u32)]) -> Vec<u8> {
    let entry = |(start, size, place): &(u64, u32, u32)| {
        let start = start.to_le_bytes();
        [start.as_slice(), &size.to_le_bytes(), &place.to_le_bytes()].concat()
    };
    with_list(table, format::LINK_MAGIC, links, entry)
}

/// What the trap code has saved of the interrupted leaf.
fn saved_of_leaf(link: u64) -> Words {
    Words::new(&[
        (0x20000 + 232, 0x77),
        (0x20000 + 240, link),
        (0x20000 + 248, 0x10100),
        (0x20000 + 256, 0x3010),
    ])
}

/// The tables contain where the trap code has the link register.
#[test]
fn a_leaf_that_was_interrupted_has_its_caller_where_the_tables_say() {
    let code = [Code::new(AARCH64, TEXT)];
    let words = saved_of_leaf(0x1008);
    let read = |address| words.0.get(&address).copied();
    let walk = |links: &[(u64, u32, u32)], pc| {
        let table = with_links(interrupted_leaf(), links);
        let tables = Tables::new(&table, 0);
        let unwinder = Unwinder::new(tables).code(&code);
        let registers = aarch64::Registers::new(pc, 0x20000, 0, 0x1008);
        let mut frames = unwinder.frames(registers, Stacks::new(&LEAF_STACKS, read));
        let pcs: Vec<u64> = frames.by_ref().map(|frame| frame.pc).collect();
        (pcs, frames.end())
    };
    let in_word = [(0x5000, 4, 232), (0x5004, 8, 240), (0x5100, 8, 232)];
    let whole = (vec![0x5008, 0x3010, 0x1008], Some(End::Complete));
    assert_eq!(walk(&in_word, 0x5008), whole);
    // The link register still has it.
    assert_eq!(
        walk(&[(0x5008, 4, format::LINK_IN_REGISTER)], 0x5008),
        whole
    );
    // The list has other places only, or a word that cannot be read.
    let lost = (vec![0x5008, 0x3010], Some(End::LinkRegisterLost));
    let others: [&[_]; 4] = [
        &[],
        &[(0x5000, 8, 240), (0x5009, 8, 240)],
        &[(0x5008_u64.wrapping_sub(1 << 32), 4, 240)],
        &[(0x5008, 4, 4096)],
    ];
    for links in others {
        assert_eq!(walk(links, 0x5008), lost, "{links:x?}");
    }
    // A number of ranges that is too large for the table.
    let mut table = with_links(interrupted_leaf(), &in_word);
    let count = table.len() - 28 - 8;
    table[count..][..4].copy_from_slice(&[0xff; 4]);
    let tables = Tables::new(&table, 0);
    assert_eq!(tables.first().unwrap().interrupted_link(0x5008), None);
    assert_eq!(tables.first().unwrap().interrupted_links_size(), 0);
}
