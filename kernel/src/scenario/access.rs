//! Memory accesses that fault.

use core::hint::black_box;

use crate::bad;
use crate::image;

/// Reads through a null pointer.
#[inline(never)]
pub fn null_read() {
    // SAFETY: nothing is mapped at this address, so the access faults.
    black_box(unsafe { bad::read(black_box(0)) });
}

/// Calls a null pointer.
#[inline(never)]
pub fn null_call() {
    // SAFETY: nothing is mapped at this address, so the access faults.
    unsafe { bad::call(black_box(0)) };
}

/// Jumps to an address without code, by a function's last instruction.
#[inline(never)]
pub fn wild_jump() {
    // SAFETY: nothing is mapped at this address, so the access faults.
    unsafe { bad::bad_jump(black_box(0xdead_0000)) };
}

/// Writes to code.
#[inline(never)]
pub fn write_to_code() {
    // SAFETY: code is mapped read-only.
    unsafe { bad::write(black_box(image::code().address)) };
}

/// Calls data.
#[inline(never)]
pub fn call_data() {
    static DATA: u64 = 0;
    // SAFETY: constants are mapped without the right to execute.
    unsafe { bad::call(black_box(&raw const DATA as u64)) };
}

/// Makes an access that must be aligned, to an odd address.
#[inline(never)]
pub fn misaligned() {
    let words = black_box([0_u64; 4]);
    let address = (&raw const words as u64 | 15) + 2;
    // SAFETY: the address is odd, so the access faults.
    unsafe { bad::aligned(address) };
    black_box(words);
}

/// Reads from a non-canonical address.
#[cfg(not(target_arch = "arm"))]
#[inline(never)]
pub fn not_canonical() {
    // SAFETY: nothing can be mapped at a non-canonical address, so the read faults.
    black_box(unsafe { bad::read(black_box(bad::NOT_CANONICAL)) });
}
