//! Before anything is measured: do all peers say the same?

use super::peers::{Registers, dwarf, frame_pointer, framehop, orc, sframe, simple_frame};
use super::program::Program;
use super::shape::Rules;
use super::stack::Stack;
use super::tables::Tables;

/// Asks every peer about the addresses, and compares with what the tables were made from.
pub fn look_ups(program: &Program, tables: &Tables, addresses: &[u64]) {
    let ours = sframe::Peer::new(&tables.sframe);
    let ours_map = sframe::Peer::by_map(&tables.map);
    let cached = sframe::Peer::cached(&tables.map);
    let mut gimli = dwarf::Peer::new(tables);
    let simple = simple_frame::Peer::new(tables);
    let orc = orc::Peer::new(program);
    let mut framehop = framehop::Peer::new(program, tables);
    for &pc in addresses {
        let function = program.function_at(pc).expect("an address of code");
        let rules = function.row_at((pc - function.start) as u32).rules;
        assert_eq!(ours.answer(pc), Some(rules), "unwind at {pc:#x}");
        assert_eq!(ours_map.answer(pc), Some(rules), "by map at {pc:#x}");
        for _ in 0..2 {
            assert_eq!(cached.answer(pc), Some(rules), "cached at {pc:#x}");
        }
        assert_eq!(gimli.answer(pc), Some(rules), "gimli at {pc:#x}");
        assert_eq!(simple.answer(pc), Some(rules), "simple-frame-rs at {pc:#x}");
        assert_eq!(orc.answer(pc), Some(rules), "ORC at {pc:#x}");
        let registers = (pc, 0x10_0000, 0x20_0000);
        let caller = framehop.step(registers, read);
        assert_eq!(caller, step(registers, rules), "framehop at {pc:#x}");
    }
    let hits = framehop.stats().hits();
    assert!(
        hits < addresses.len() as u64 / 100,
        "framehop's cache is to be of no help here, but had {hits} hits"
    );
}

/// A memory in which every word can be read and no two are equal.
pub fn read(address: u64) -> Result<u64, ()> {
    Ok(!address)
}

fn step((_, sp, fp): Registers, rules: Option<Rules>) -> Option<Registers> {
    let rules = rules?;
    let base = if rules.from_fp { fp } else { sp };
    let cfa = base.wrapping_add_signed(rules.cfa.into());
    let fp = match rules.fp {
        Some(offset) => !cfa.wrapping_add_signed(offset.into()),
        None => fp,
    };
    Some((!(cfa - 8), cfa, fp))
}

/// Walks a stack with every peer that can, and compares with what was pushed.
pub fn walks(program: &Program, tables: &Tables, stack: &Stack, frame_pointers: bool) {
    let registers = stack.registers;
    let mut pcs = Vec::new();
    let end = sframe::Peer::new(&tables.sframe).walk(stack, registers, |pc| pcs.push(pc));
    assert_eq!(end, Some(unwind::End::Complete), "unwind");
    assert_eq!(pcs, stack.pcs, "unwind");
    pcs.clear();
    let end = sframe::Peer::by_map(&tables.map).walk(stack, registers, |pc| pcs.push(pc));
    assert_eq!(end, Some(unwind::End::Complete), "unwind by map");
    assert_eq!(pcs, stack.pcs, "unwind by map");
    let cached = sframe::Peer::cached(&tables.map);
    for _ in 0..2 {
        pcs.clear();
        let end = cached.walk(stack, registers, |pc| pcs.push(pc));
        assert_eq!(end, Some(unwind::End::Complete), "unwind with a cache");
        assert_eq!(pcs, stack.pcs, "unwind with a cache");
    }
    pcs.clear();
    let orc = orc::Peer::new(program);
    assert!(orc.walk(stack, registers, |pc| pcs.push(pc)), "ORC");
    assert_eq!(pcs, stack.pcs, "ORC");
    let mut framehop = framehop::Peer::new(program, tables);
    for _ in 0..2 {
        pcs.clear();
        assert!(
            framehop.walk(stack, registers, |pc| pcs.push(pc)),
            "framehop"
        );
        assert_eq!(pcs, stack.pcs, "framehop");
    }
    let stats = framehop.stats();
    assert_eq!(
        stats.misses(),
        stack.pcs.len() as u64,
        "framehop's second walk is to be warm"
    );
    if frame_pointers {
        pcs.clear();
        frame_pointer::walk(stack, registers, |pc| pcs.push(pc));
        assert_eq!(pcs, stack.pcs, "by frame pointer");
        pcs.clear();
        let text = program.text();
        let ended = frame_pointer::walk_checked(stack, text, registers, |pc| pcs.push(pc));
        assert!(ended, "by frame pointer, with checks");
        assert_eq!(pcs, stack.pcs, "by frame pointer, with checks");
    }
}
