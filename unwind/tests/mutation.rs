//! Damaged tables, made from real ones (`tests/data`), and damaged stacks.

mod damage;
mod exception_tables;
mod golden;

use std::path::Path;

use damage::exercise;
use damage::random::{Random, mutate, on_seeds};

/// The stored sections.
fn sections() -> Vec<(String, Vec<u8>)> {
    damage::stored(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"))
}

#[test]
fn damaged_sections() {
    damage::sections(&sections(), 200_000);
}

#[test]
fn sound_sections_over_damaged_stacks() {
    damage::stacks(&sections());
}

#[test]
fn sound_chains_are_complete() {
    damage::chains(&sections());
}

#[test]
fn damaged_exception_tables() {
    let address = 0x40_0000;
    on_seeds(20_000, |seed| {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (mut bytes, functions) = exception_tables::make(address, &mut random);
        if !seed.is_multiple_of(4) {
            mutate(&mut bytes, &mut random);
        }
        for pc in functions.iter().take(4) {
            exercise::exception_tables(&bytes, address, *pc);
        }
        exception_tables::walk(&bytes, address, &functions, &mut random);
    });
}

#[test]
fn damaged_symbol_tables() {
    let address = 0x40_0000;
    let tables = golden::tables();
    on_seeds(200_000, |seed| {
        let index = usize::try_from(seed).expect("64 bits") % tables.len();
        let table = &tables[index];
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut bytes = table.bytes.clone();
        mutate(&mut bytes, &mut random);
        // Most of them with a checksum that is right, so that the parts behind it see damage too.
        if !seed.is_multiple_of(8) {
            exercise::with_checksum(&mut bytes);
        }
        for _ in 0..4 {
            let (pc, _) = &table.answers[random.below(table.answers.len())];
            exercise::symbols(&bytes, address, pc.wrapping_add(address));
        }
    });
}
