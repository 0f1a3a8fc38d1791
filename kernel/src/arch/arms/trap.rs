//! Dispatches exceptions and interrupts to their handlers. Manuals: D1.3 "Exceptions" of AArch64's, B1.8 "Exception handling" of ARMv7-A's.

use postmortem::{TrapFrame, probe};

use super::interrupts;
use crate::arch::frame::move_to_task;
use crate::arch::{Kind, cpu, exit, handlers, user};
use crate::verdict::Verdict;

/// Called by the entries of `vectors.rs`. When it returns, the interrupted code goes on.
pub extern "C" fn exception(frame: &mut TrapFrame) {
    if exit::is_leaving() {
        // The fault is the `hlt` of `exit::leave`, without a semihosting host. The verdict is known already.
        exit::leave(Verdict::Panicked);
    }
    if probe::recover(frame) {
        return;
    }
    let handlers = handlers::get();
    if !frame.can_return() {
        (handlers.fault)(frame, None);
    }
    let kind = frame.kind();
    // On the overflow stack everything stays masked: an exception from there could not return.
    if kind != Kind::Fiq && !frame.is_on_overflow_stack() {
        // Where the interrupted code goes on, and in which state, is saved in the frame, so another exception may overwrite the registers.
        cpu::unmask_urgent();
    }
    match kind {
        _ if frame.is_breakpoint() => {
            (handlers.breakpoint)(frame);
            frame.skip_breakpoint();
        }
        _ if user::is_call(frame) => (handlers.system_call)(frame),
        Kind::Irq => {
            if interrupts::handle(frame) {
                // SAFETY: a handler returns true only if the interrupted stack has room for a trap frame.
                unsafe { move_to_task(frame) };
            }
        }
        Kind::Fiq => {
            interrupts::handle(frame);
        }
        _ => (handlers.fault)(frame, None),
    }
    // From here on an exception would overwrite the registers that the return needs.
    cpu::mask_all();
}

/// Called by preempted.s, on the stack of a task that was interrupted.
pub extern "C" fn preempted() {
    (handlers::get().preempt)();
}
