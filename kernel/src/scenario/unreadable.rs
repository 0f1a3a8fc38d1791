//! A stack that cannot be read any more: memory has gone that the walk counts on.

use core::hint::black_box;

use postmortem::capture;

use crate::arch::mmu;
use crate::page_table::PAGE;

/// Takes away the page that its own frame is in, from some pages below.
#[inline(never)]
pub fn run() {
    let page = capture().sp / PAGE * PAGE;
    black_box(descend(black_box(page)));
}

/// Goes down by its big frame, until the page is far enough above.
#[inline(never)]
fn descend(page: u64) -> u64 {
    let frame = black_box([0_u64; 64]);
    if capture().sp + 2 * PAGE < page {
        // SAFETY: nothing in this page is used any more, for nobody returns to it.
        unsafe { mmu::unmap(page) };
        panic!("a page of the stack has gone");
    }
    black_box(descend(page)) + black_box(frame)[0]
}
