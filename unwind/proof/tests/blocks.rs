//! Damaged tables with a block index, which only `linker` writes: it is added to the sections that `unwind` stores.

#[path = "../../tests/damage/mod.rs"]
mod damage;

use std::path::Path;

use linker::architecture;
use linker::cfi::Frames;
use linker::function::Function;
use linker::sframe::Table;
use unwind::sframe::{Abi, Section};

/// The stored sections that can have a block index, with it.
fn sections() -> Vec<(String, Vec<u8>)> {
    let stored = damage::stored(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data"));
    let with_blocks = stored
        .into_iter()
        .filter_map(|(name, bytes)| Some((name, with_blocks(&bytes)?)));
    let found: Vec<_> = with_blocks.collect();
    assert!(!found.is_empty(), "no section can have a block index");
    found
}

/// A little-endian section's functions and rows with a block index.
fn with_blocks(bytes: &[u8]) -> Option<Vec<u8>> {
    let section = Section::parse(bytes, damage::ADDRESS).ok()?;
    let architecture = match section.abi() {
        Abi::Amd64 => &architecture::X86_64,
        Abi::AArch64Little => &architecture::AARCH64,
        _ => return None,
    };
    let functions = section.functions().map(|function| Function {
        start: function.start(),
        size: function.size(),
        rows: function.rows().collect(),
        signal: function.is_signal_frame(),
        key_b: function.uses_key_b(),
        block: None,
    });
    let mut frames = Frames {
        functions: functions.filter(|function| function.size > 0).collect(),
        left_out: Vec::new(),
    };
    frames.functions.sort_by_key(|function| function.start);
    let table = Table::new(architecture, &mut frames);
    let plain = table.size();
    let table = table.with_blocks();
    (table.size() > plain).then(|| table.to_bytes(damage::ADDRESS))
}

#[test]
fn damaged_sections() {
    damage::sections(&sections(), 400_000);
}

#[test]
fn sound_sections_over_damaged_stacks() {
    damage::stacks(&sections());
}

#[test]
fn sound_chains_are_complete() {
    damage::chains(&sections());
}
