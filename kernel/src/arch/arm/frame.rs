//! Changes to what trap code has saved. Manual: B1.8 "Exception handling".

use core::arch::asm;
use core::mem::offset_of;
use core::ptr::from_mut;

use postmortem::TrapFrame;

/// The mode in a state, and system mode, in which everything but exceptions runs.
const MODE: u32 = 0x1f;
const SYSTEM: u32 = 0x1f;
/// Bits of a state: IRQs are masked, and Thumb code.
const IRQ_MASKED: u32 = 1 << 7;
const THUMB: u32 = 1 << 5;
/// What a `if-then` instruction of Thumb code has left for the next ones.
const IF_THEN: u32 = 0x0600_fc00;

/// Notes which interrupt it is, once it was acknowledged.
pub const fn set_interrupt(frame: &mut TrapFrame, id: u32) {
    frame.interrupt = id;
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
    let pc = &raw const trap_preempted as u32;
    let spsr = frame.spsr & !(THUMB | IF_THEN) | IRQ_MASKED;
    go_on(frame, place, pc, spsr);
}

/// Where the interrupted code goes on, and with which stack pointer and state. In one instruction: a walk from between two would take one
/// task's code with the other's stack pointer, and compilers write the fields in any order.
fn go_on(frame: &mut TrapFrame, sp: u32, pc: u32, spsr: u32) {
    const FIRST: usize = offset_of!(TrapFrame, sp);
    const {
        assert!(offset_of!(TrapFrame, lr) == FIRST + 4);
        assert!(offset_of!(TrapFrame, pc) == FIRST + 8);
        assert!(offset_of!(TrapFrame, spsr) == FIRST + 12);
    }
    let lr = frame.lr;
    let first = from_mut(frame).wrapping_byte_add(FIRST);
    // SAFETY: the four fields lie one behind another, as is asserted above, in a frame that this function may change.
    unsafe {
        asm!(
            "stm {first}, {{r1, r2, r3, r4}}",
            first = in(reg) first, in("r1") sp, in("r2") lr, in("r3") pc, in("r4") spsr,
            options(nostack, preserves_flags),
        );
    }
}
