//! A stack that is partly unmapped, so that the walk cannot read it.

use core::hint::black_box;

use postmortem::capture;

use crate::arch::mmu;
use crate::page_table::PAGE;

/// Unmaps the page of its own frame, from some pages below.
#[inline(never)]
pub fn run() {
    let page = capture().sp / PAGE * PAGE;
    black_box(descend(black_box(page)));
}

/// Recurses with a large frame, until the page is far enough above.
#[inline(never)]
fn descend(page: u64) -> u64 {
    let frame = black_box([0_u64; 64]);
    if capture().sp + 2 * PAGE < page {
        // SAFETY: the page has only frames of callers, to which nothing returns after the panic below.
        unsafe { mmu::unmap(page) };
        panic!("a page of the stack has gone");
    }
    black_box(descend(page)) + black_box(frame)[0]
}
