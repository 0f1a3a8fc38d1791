//! The heap is exhausted. A report does not allocate, so it is written all the same.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hint::black_box;

/// Allocates until the heap is exhausted.
pub fn run() {
    black_box(hoard(black_box(usize::MAX)));
}

/// Allocates so many pages, and keeps them.
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
