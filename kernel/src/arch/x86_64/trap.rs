//! Dispatches exceptions and interrupts to their handlers. Manual: volume 3, chapter 7 "Interrupt and Exception Handling".

use postmortem::{TrapFrame, probe};

use super::{interrupts, machine_check, user};
use crate::arch::handlers;

/// Called by the entries of `vectors.rs`. When it returns, the interrupted code goes on.
pub extern "C" fn exception(frame: &mut TrapFrame) {
    if probe::recover(frame) {
        return;
    }
    let handlers = handlers::get();
    match frame.vector {
        // The saved rip is that of the next instruction.
        _ if frame.is_breakpoint() => (handlers.breakpoint)(frame),
        _ if frame.is_nmi() => (handlers.nmi)(frame),
        _ if frame.is_machine_check() => (handlers.fault)(frame, machine_check::error()),
        user::SYSTEM_CALL => (handlers.system_call)(frame),
        interrupts::FIRST.. => interrupts::handle_on_stack(frame),
        _ => (handlers.fault)(frame, None),
    }
}
