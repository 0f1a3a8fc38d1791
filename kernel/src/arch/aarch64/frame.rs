//! Changes to what trap code has saved. Manual: D1.3 "Exceptions".

use aarch64_cpu::registers::{SP_EL0, Writeable};
use postmortem::TrapFrame;

/// In SPSR_EL1, the interrupted state: the stack pointer was SP_EL1, not SP_EL0.
const SP_ELX: u64 = 1;
/// There too: IRQs are masked.
const IRQ_MASKED: u64 = 1 << 7;

/// Makes the interrupted task go on in `trap_preempted` of `preempted.s`, on its own stack, with this frame there. Not
/// where an exception was interrupted.
///
/// # Safety
/// The stack has room for a trap frame below the interrupted stack pointer.
pub unsafe fn move_to_task(frame: &mut TrapFrame) {
    unsafe extern "C" {
        /// Only the address counts.
        static trap_preempted: u8;
    }
    let size = size_of::<TrapFrame>() as u64;
    let place = frame.sp.wrapping_sub(size);
    if frame.spsr & SP_ELX != 0 || !place.is_multiple_of(16) {
        return;
    }
    // SAFETY: aligned, and words of a stack, as the caller says, below the stack pointer of who runs there: nobody uses them.
    unsafe { (place as *mut TrapFrame).write(*frame) };
    SP_EL0.set(place);
    // What interrupts this before it is left goes by the rules of where it goes on, and they count from there. The way
    // back does not read it.
    frame.sp = place;
    frame.elr = &raw const trap_preempted as u64;
    frame.spsr |= IRQ_MASKED;
}
