//! Whether an image lies where it was linked for: a loader may have moved it, by KASLR or because it is a PIE.

use std::collections::BTreeMap;

use anyhow::Result;

use super::image::Image;
use super::memory::Memory;
use crate::machine::{PAGE, Source};
use crate::stub::{Level, State};

/// Bytes of code that are compared on each side of a program counter, as far as its page goes.
const AROUND: u64 = 64;
/// The fewest bytes that tell one place from others.
const FEWEST: usize = 24;

/// How far the image lies above the addresses that it was linked for, modulo 2^64: as somebody has said, or as its code tells. 0 if that
/// is so, or is not known: none of the CPUs is in code of the image, the same code is in several places of it, or CPUs are at different ones.
pub(super) fn moved_by(image: &Image, source: &mut dyn Source, states: &[Result<State>]) -> u64 {
    if let Some(by) = source.moved_by() {
        return by;
    }
    let mut distances = Vec::new();
    for (cpu, state) in states.iter().enumerate() {
        if let Ok(State { pc, level, .. }) = state
            && *level == Level::Kernel
            && let Some(by) = lies(image, &Memory::new(source, cpu), *pc)
        {
            distances.push((by, cpu));
        }
    }
    match distances[..] {
        [] => 0,
        [(first, _), ref others @ ..] if others.iter().all(|(by, _)| *by == first) => first,
        _ => chosen(&distances, |by, cpu| {
            let cpu = &states[cpu..=cpu];
            image.moved(by).compared(source, cpu).fits()
        }),
    }
}

/// One of several distances, each of a CPU: one that starts up may be in a copy of some code, or where memory is mapped twice. All of the code
/// is at the right one, and perhaps at others. 0 if nothing shows which.
fn chosen(distances: &[(u64, usize)], mut has_all: impl FnMut(u64, usize) -> bool) -> u64 {
    let mut whole = BTreeMap::new();
    for (by, cpu) in distances {
        let (has_all, count) = whole
            .entry(*by)
            .or_insert_with(|| (has_all(*by, *cpu), 0_usize));
        *count += usize::from(*has_all);
    }
    whole.retain(|_, (has_all, _)| *has_all);
    if whole.contains_key(&0) {
        return 0;
    }
    let most = whole.iter().max_by_key(|(_, (_, count))| *count);
    most.map_or(0, |(by, _)| *by)
}

/// How far above the addresses that it was linked for the image's code lies that is at this program counter, if it is the image's.
pub(super) fn lies(image: &Image, memory: &Memory<'_>, pc: u64) -> Option<u64> {
    let (start, bytes) = around(memory, pc);
    found(image, start, &bytes)
}

/// The bytes around a program counter, and the address of the first.
fn around(memory: &Memory<'_>, pc: u64) -> (u64, Vec<u8>) {
    let page = pc & !(PAGE - 1);
    let start = pc.saturating_sub(AROUND).max(page) & !7;
    let words = (start..page.saturating_add(PAGE)).step_by(8);
    let words = words.take_while(|at| *at < pc.saturating_add(AROUND));
    let bytes = words
        .map_while(|at| memory.word(at))
        .flat_map(u64::to_le_bytes);
    (start, bytes.collect())
}

/// The one distance, in pages, at which the image has these bytes; 0 is preferred.
fn found(image: &Image, start: u64, bytes: &[u8]) -> Option<u64> {
    // What only fills room is everywhere.
    let is_filler = bytes.windows(2).all(|pair| pair[0] == pair[1]);
    if bytes.len() < FEWEST || is_filler {
        return None;
    }
    let mut distances = Vec::new();
    for (code, address) in &image.code {
        // The first place in the section that is as far into its page.
        let first = start.wrapping_sub(*address) % PAGE;
        let offsets = (first as usize..code.len()).step_by(PAGE as usize);
        let is_here = |offset: &usize| code[*offset..].starts_with(bytes);
        let places = offsets
            .filter(is_here)
            .map(|offset| address.wrapping_add(offset as u64));
        distances.extend(places.map(|place| start.wrapping_sub(place)));
    }
    match distances[..] {
        _ if distances.contains(&0) => Some(0),
        [only] => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first CPU that is elsewhere decides nothing for the others.
    #[test]
    fn the_distance_with_all_of_the_code_is_chosen() {
        let with = |distances: &[(u64, usize)], whole: &[u64]| {
            chosen(distances, |by, _| whole.contains(&by))
        };
        let copy_first = [(0x1000, 0), (0x20_0000, 1), (0x20_0000, 2)];
        assert_eq!(with(&copy_first, &[0x20_0000]), 0x20_0000);
        assert_eq!(with(&[(0, 0), (0x20_0000, 1)], &[0x20_0000]), 0x20_0000);
        // Mapped twice.
        assert_eq!(with(&copy_first, &[0x1000, 0x20_0000]), 0x20_0000);
        assert_eq!(with(&[(0x1000, 0), (0, 1)], &[0, 0x1000]), 0);
        // Nothing shows which.
        assert_eq!(with(&copy_first, &[]), 0);
    }
}
