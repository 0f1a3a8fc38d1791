//! A fault in a function that saves its return address later than its `.eh_frame` says.
//!
//! On AArch64, LLVM merges the store of x30 in [`culprit`] into a later one, behind the read, and leaves the rule where
//! the store was. The word that the rule names still has the return address of an earlier call, into [`innocent`].

use core::hint::black_box;

/// An unmapped address; not zero, because a debug build checks for null pointers.
const NOTHING: *const u64 = core::ptr::without_provenance(0x1000);

/// Reads a valid address through one function, and then an unmapped one through another.
#[inline(never)]
pub fn run() {
    let good = 5;
    black_box(black_box(innocent as fn(*const u64) -> u64)(black_box(
        &raw const good,
    )));
    black_box(black_box(guilty as fn(*const u64) -> u64)(black_box(
        NOTHING,
    )));
}

#[inline(never)]
fn innocent(place: *const u64) -> u64 {
    black_box(culprit as fn(*const u64) -> u64)(place) + 1
}

#[inline(never)]
fn guilty(place: *const u64) -> u64 {
    black_box(culprit as fn(*const u64) -> u64)(place) + 2
}

#[inline(never)]
fn culprit(place: *const u64) -> u64 {
    // SAFETY: the address is that of a variable, or unmapped, which is the fault to report.
    let value = unsafe { *place };
    black_box(consume as fn(&u64) -> u64)(&value) + 1
}

#[inline(never)]
fn consume(value: &u64) -> u64 {
    black_box(*value)
}
