//! Changes to what trap code has saved. Manual: B1.8 "Exception handling".

use core::arch::asm;

use postmortem::TrapFrame;

/// The mode in a state, and system mode, in which everything but exceptions runs.
const MODE: u32 = 0x1f;
const SYSTEM: u32 = 0x1f;
/// Bits of a state: IRQs are masked, and Thumb code.
const IRQ_MASKED: u32 = 1 << 7;
const THUMB: u32 = 1 << 5;
/// What a `if-then` instruction of Thumb code has left for the next ones.
const IF_THEN: u32 = 0x0600_fc00;

/// Copies the trap frame to the interrupted task's own stack, and makes the task go on in `trap_preempted` of `preempted.s`.
/// Does nothing if an exception handler was interrupted.
///
/// # Safety
/// The stack has room for a trap frame below the interrupted stack pointer.
pub unsafe fn move_to_task(frame: &mut TrapFrame) {
    unsafe extern "C" {
        /// The first instruction of `preempted.s`; has no value, only an address.
        static trap_preempted: u8;
    }
    let place = frame.sp.wrapping_sub(size_of::<TrapFrame>() as u32);
    if frame.spsr & MODE != SYSTEM || !place.is_multiple_of(8) {
        return;
    }
    let copy = TrapFrame {
        above: frame.sp,
        ..*frame
    };
    // SAFETY: the caller says that the stack has room here, below the interrupted stack pointer, where nothing is in use.
    unsafe { (place as *mut TrapFrame).write(copy) };
    frame.sp = place;
    frame.pc = &raw const trap_preempted as u32;
    frame.spsr = frame.spsr & !(THUMB | IF_THEN) | IRQ_MASKED;
    // SAFETY: orders memory accesses.
    unsafe { asm!("dmb", options(nostack, preserves_flags)) };
}
