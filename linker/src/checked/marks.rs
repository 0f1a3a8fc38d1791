//! What symbols mark in code: its instruction set, and data among instructions.

use object::{Architecture, Object, ObjectSection, ObjectSymbol};
use row_checker::program::Mode;

use crate::mapping::{Kind, Mapping, kind_of};

/// Which instructions code has, where symbols tell it (32-bit ARM).
pub(super) fn modes(file: &object::File<'_>) -> Vec<(u64, Mode)> {
    if file.architecture() != Architecture::Arm {
        return Vec::new();
    }
    let mapping = Mapping::of(file);
    let mode = |kind| match kind {
        Kind::A32 => Mode::Usual,
        Kind::T32 => Mode::Thumb,
        Kind::Data => Mode::Data,
    };
    mapping
        .changes()
        .iter()
        .map(|(at, kind)| (*at, mode(*kind)))
        .collect()
}

/// The ranges that symbols mark as data among instructions (AArch64).
pub(super) fn marked_data(file: &object::File<'_>) -> Vec<(u64, u64)> {
    if file.architecture() != Architecture::Aarch64 {
        return Vec::new();
    }
    let letter =
        |one: object::Symbol<'_, '_>| Some((one.address(), kind_of(one.name().ok()?)? == "d"));
    let ends = file.sections();
    let ends = ends.map(|one| (one.address().saturating_add(one.size()), false));
    let locals = file.symbols().filter(|symbol| symbol.is_local());
    let mut marks: Vec<(u64, bool)> = locals.filter_map(letter).chain(ends).collect();
    // Of several at one address that of code counts.
    marks.sort_unstable();
    marks.dedup_by_key(|(at, _)| *at);
    let pairs = marks.windows(2).filter(|pair| pair[0].1);
    pairs.map(|pair| (pair[0].0, pair[1].0)).collect()
}
