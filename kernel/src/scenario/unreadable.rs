//! Memory that a walk reads is unmapped: a part of the stack, or of the code.

use core::hint::black_box;

use postmortem::capture;

use crate::arch::mmu;
#[cfg(not(target_arch = "arm"))]
use crate::bad;
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
        panic!("a page of the stack was unmapped");
    }
    black_box(descend(page)) + black_box(frame)[0]
}

/// A debugger watches a return address to this function: each read of it raises an exception.
#[cfg(not(target_arch = "arm"))]
#[inline(never)]
pub fn watched() {
    watch(black_box(watched as *const () as u64), capture().sp);
    black_box(());
}

/// Watches the return address to the function `caller`, whose stack pointer is `top`, and panics.
#[cfg(not(target_arch = "arm"))]
#[inline(never)]
fn watch(caller: u64, top: u64) {
    let mut address = top - 8;
    // Below it there may be copies, which the report does not read.
    // SAFETY: words of this function's frame, down to its return address, which is less than 256 bytes after the start of its caller.
    while !(1..256).contains(&unsafe { *(address as *const u64) }.wrapping_sub(caller)) {
        address -= 8;
    }
    bad::watch(address);
    panic!("a watchpoint is set on a return address");
}

/// Unmaps the code of a caller, as a kernel may do with the code of its initialization.
#[inline(never)]
pub fn code() {
    freed(black_box(unmap));
}

/// Is alone in its page.
#[unsafe(link_section = ".text.freed")]
#[inline(never)]
fn freed(next: fn()) {
    next();
    black_box(());
}

#[inline(never)]
fn unmap() {
    let page = freed as *const () as u64 / PAGE * PAGE;
    // SAFETY: the page has only the code of a caller, to which nothing returns after the panic below.
    unsafe { mmu::unmap(page) };
    panic!("a page of the code was unmapped");
}
