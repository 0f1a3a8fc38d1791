//! What lies below stack pointers before a window: plausible return addresses everywhere, so that a walk that reads a word too
//! low does not find zeros there, but callers.

use anyhow::Result;

use super::image::Image;
use super::memory::Ram;
use super::state::{Flow, decode};
use crate::hardware::Arch;

/// Numbers that look random, and are the same for the same seed: Vigna's `splitmix64`.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Addresses behind calls, a few thousand of them.
#[must_use]
pub fn return_addresses(image: &Image, random: &mut Random) -> Vec<u64> {
    let text = image.text();
    let step = match image.arch {
        Arch::X86_64 => 1,
        Arch::Aarch64 => 4,
    };
    let mut found = Vec::new();
    for _ in 0..1 << 17 {
        let place = text.start + random.below((text.end - text.start) / step) * step;
        let call = decode(image.arch, image.instruction(place), place);
        if let Some(call) = call
            && let Flow::Call(Some(target)) = call.flow
            && image.is_code(target)
        {
            found.push(place + call.length);
        }
    }
    found
}

/// Fills the unused part of the stacks of tasks and of so many CPUs: that of the one in use ends at `sp`.
///
/// # Errors
/// When memory cannot be written.
pub fn fill(image: &Image, ram: &Ram, cpus: u32, sp: u64, random: &mut Random) -> Result<()> {
    let addresses = return_addresses(image, random);
    anyhow::ensure!(!addresses.is_empty(), "the image's code contains no calls");
    let used = |cpu: Option<u64>| cpu.is_none_or(|cpu| cpu < u64::from(cpus));
    for stack in image.stacks.iter().filter(|stack| used(stack.cpu)) {
        let end = match stack.range.start < sp && sp <= stack.range.end {
            true => sp / 8 * 8,
            false => stack.range.end,
        };
        let words: Vec<u64> = (stack.bottom..end)
            .step_by(8)
            .map(|_| match random.below(4) {
                // What looks like a saved frame pointer or an address of the stack.
                0 => stack.bottom + random.below(stack.range.end - stack.bottom) / 8 * 8,
                _ => addresses[random.below(addresses.len() as u64) as usize],
            })
            .collect();
        ram.write(stack.bottom, &words)?;
    }
    Ok(())
}
