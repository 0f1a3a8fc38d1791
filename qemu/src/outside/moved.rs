//! Whether an image lies where it was linked for: a loader may have moved it, by KASLR or because it is a PIE.

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
/// is so, or is not known: none of the CPUs is in code of the image, or the same code is in several places of it.
pub(super) fn moved_by(image: &Image, source: &mut dyn Source, states: &[Result<State>]) -> u64 {
    if let Some(by) = source.moved_by() {
        return by;
    }
    let mut distances = Vec::new();
    for (cpu, state) in states.iter().enumerate() {
        if let Ok(State { pc, level, .. }) = state
            && *level == Level::Kernel
        {
            distances.extend(lies(image, &Memory::new(source, cpu), *pc));
        }
    }
    // A CPU that starts up may be in a copy, or where memory is mapped twice.
    match distances.contains(&0) {
        true => 0,
        false => distances.first().copied().unwrap_or(0),
    }
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
