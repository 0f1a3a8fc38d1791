//! Hangs of CPUs that have lost their way: no caller, no stack, no memory.

use core::hint::black_box;
use core::sync::atomic::{AtomicU8, Ordering};

use super::announce;
use crate::arch::cpu;
use crate::bad;

/// A jump to itself, where no code of the image is, while the boot code's page tables let the CPU execute everything.
#[inline(never)]
pub fn outside() {
    const STAY: &[u8] = bad::STAY[0];
    #[repr(align(64))]
    struct Bytes([AtomicU8; STAY.len()]);
    static BYTES: Bytes = Bytes([const { AtomicU8::new(0) }; STAY.len()]);
    for (byte, stay) in BYTES.0.iter().zip(STAY) {
        byte.store(*stay, Ordering::Relaxed);
    }
    // SAFETY: the code there jumps to itself.
    unsafe { bad::call(black_box(&raw const BYTES as u64)) };
    black_box(());
}

/// A function returns elsewhere, because its return address was overwritten: to a loop.
#[inline(never)]
pub fn stray_return() {
    announce();
    cpu::mask_interrupts();
    // SAFETY: nothing of this program goes on.
    unsafe { bad::stray_return(black_box(bad::stay_first as *const () as u64)) };
    black_box(());
}

/// A loop with a stack pointer that is in no stack.
#[inline(never)]
pub fn stray_stack_pointer() {
    announce();
    cpu::mask_interrupts();
    // SAFETY: nothing of this program goes on.
    unsafe { bad::stay_stack_pointer(black_box(0x4343_4340)) };
    black_box(());
}

/// A loop on a stack whose return addresses were overwritten.
#[inline(never)]
pub fn overwritten_stack() {
    announce();
    cpu::mask_interrupts();
    // SAFETY: nothing of this program goes on.
    unsafe { bad::lie_overwritten() };
    black_box(());
}

/// Page tables that map nothing: a triple fault on x86-64, exceptions at the vector without end on AArch64.
#[inline(never)]
pub fn no_tables() {
    announce();
    cpu::mask_interrupts();
    // SAFETY: nothing of this program goes on.
    unsafe { bad::forget_tables() };
    black_box(());
}
