//! What to do when an exception comes. Manual: D1.3 "Exceptions".

use postmortem::aarch64::Kind;
use postmortem::{TrapFrame, probe};

use super::frame::move_to_task;
use super::{cpu, exit, interrupts};
use crate::arch::handlers;
use crate::verdict::Verdict;

/// Called by the entries of `vectors.rs`. When it returns, so does the interrupted code.
pub extern "C" fn exception(frame: &mut TrapFrame) {
    if exit::is_leaving() {
        // The verdict is already known; this is `hlt` where nobody listens for semihosting.
        exit::leave(Verdict::Panicked);
    }
    if frame.can_return() && probe::recover(frame) {
        return;
    }
    let handlers = handlers::get();
    let kind = frame.kind();
    // On the overflow stack nothing else may come: from there it could not return.
    if kind != Kind::Fiq && !frame.is_on_overflow_stack() {
        // What would have been overwritten is saved.
        cpu::unmask_urgent();
    }
    match kind {
        Kind::Synchronous if frame.is_breakpoint() => {
            (handlers.breakpoint)(frame);
            frame.skip_breakpoint();
        }
        Kind::Irq => {
            if interrupts::handle(frame) {
                // It goes on in `preempted`.
                // SAFETY: the handler has said that there is room.
                unsafe { move_to_task(frame) };
            }
        }
        Kind::Fiq => {
            interrupts::handle(frame);
        }
        _ => (handlers.fault)(frame, None),
    }
    // So that nothing overwrites the registers that the way back needs.
    cpu::mask_all();
}

/// Called by preempted.s, on the stack of a task that was interrupted.
pub extern "C" fn preempted() {
    (handlers::get().preempt)();
}
