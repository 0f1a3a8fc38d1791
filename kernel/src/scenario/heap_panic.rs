//! The heap is exhausted. The report must come all the same: it cannot allocate.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hint::black_box;

/// Takes memory until there is none.
pub fn run() {
    black_box(hoard(black_box(usize::MAX)));
}

/// Keeps as many pages as are asked for.
#[inline(never)]
fn hoard(pages: usize) -> Vec<Box<[u8; 4096]>> {
    let mut hoard = Vec::new();
    while hoard.len() < pages {
        hoard.push(one_more());
    }
    hoard
}

#[inline(never)]
fn one_more() -> Box<[u8; 4096]> {
    black_box(Box::new([0xaa; 4096]))
}
