//! Changes to what trap code has saved. Manual: D1.3 "Exceptions".

use core::arch::asm;
use core::mem::offset_of;

use aarch64_cpu::registers::{SP_EL0, Writeable};
use postmortem::TrapFrame;

/// Bit of SPSR_EL1: the interrupted code used SP_EL1, not SP_EL0.
const SP_ELX: u64 = 1;
/// Bit of SPSR_EL1: IRQs are masked.
const IRQ_MASKED: u64 = 1 << 7;

/// Notes which interrupt it is, once it was acknowledged.
pub const fn set_interrupt(frame: &mut TrapFrame, id: u32) {
    frame.interrupt = id as u64;
}

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
    let size = size_of::<TrapFrame>() as u64;
    let place = frame.sp.wrapping_sub(size);
    if frame.spsr & SP_ELX != 0 || !place.is_multiple_of(16) {
        return;
    }
    // SAFETY: the caller says that the stack has room here, below the interrupted stack pointer, where nothing is in use.
    unsafe { (place as *mut TrapFrame).write(*frame) };
    SP_EL0.set(place);
    frame.spsr |= IRQ_MASKED;
    go_on(frame, place, &raw const trap_preempted as u64);
}

/// Where the interrupted code goes on, and with which stack pointer: a walk from an exception that comes before the return uses the row of
/// `trap_preempted`, which expects the copy at the stack pointer. The return itself does not read that field. In one instruction: a walk
/// from between two would take one task's code with the other's stack pointer, and compilers write the fields in any order.
fn go_on(frame: &mut TrapFrame, sp: u64, pc: u64) {
    const FIRST: usize = offset_of!(TrapFrame, sp);
    const { assert!(offset_of!(TrapFrame, elr) == FIRST + 8) };
    // SAFETY: the two fields lie one behind another, as is asserted above, in a frame that this function may change.
    unsafe {
        asm!(
            "stp {sp}, {pc}, [{frame}, {first}]",
            sp = in(reg) sp, pc = in(reg) pc, frame = in(reg) frame, first = const FIRST,
            options(nostack, preserves_flags),
        );
    }
}
