//! Walks by a source in front of which a cache is.

extern crate std;

use std::cell::Cell;
use std::vec::Vec;

use super::{OUTERMOST, PUSHES_FP, TEXT, X86_64, table};
use crate::sframe::{Abi, Damage, Tables};
use crate::{
    Cached, Code, End, Found, LookupError, Machine, Range, RowSource, RuleCache, Stacks, Unwinder,
    x86_64,
};

/// Tables, and how often they were asked for a row.
struct Counted<'a>(Tables<'a>, Cell<u32>);

impl RowSource for Counted<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        self.0.describes(machine)
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        self.1.set(self.1.get() + 1);
        RowSource::look_up(&self.0, pc, found)
    }

    fn covers(&self, pc: u64) -> bool {
        self.0.covers(pc)
    }

    fn doubt(&self) -> Option<End> {
        self.0.doubt()
    }
}

#[test]
fn a_second_walk_looks_nothing_up() {
    let functions = [
        (0x1000, 0x100, 0, 0, 1, OUTERMOST),
        (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
    ];
    let bytes = table(Abi::Amd64, &functions);
    let sound = Tables::new(&bytes, 0);
    let cache = RuleCache::<1024>::new();
    let code = [Code::new(X86_64, TEXT)];
    let ranges = [Range::new(0x10000, 0x10100)];
    let read = |address| (address == 0x100f8).then_some(0x1005);
    let registers = x86_64::Registers::new(0x2000, 0x100f8, 0);
    let walk = |tables| {
        let counted = Counted(tables, Cell::new(0));
        let unwinder = Unwinder::new(Cached::new(&counted, &cache)).code(&code);
        let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
        let found: Vec<_> = frames.by_ref().map(|frame| frame.pc).collect();
        assert_eq!(found, [0x2000, 0x1005]);
        (frames.end(), counted.1.get())
    };
    let complete = Some(End::Complete);
    // The call of the second function's caller leads through a pointer, so that nothing else is looked up.
    assert_eq!(walk(sound), (complete, 2));
    assert_eq!(walk(sound), (complete, 0));
    cache.clear();
    assert_eq!(walk(sound), (complete, 2));
    // A cache does not heal tables that were found damaged.
    let damaged = sound.verified(Err(Damage::Checksum));
    assert_eq!(walk(damaged), (Some(End::Outermost), 0));
}
