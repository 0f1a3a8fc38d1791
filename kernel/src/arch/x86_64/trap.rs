//! Dispatches exceptions and interrupts to their handlers. Manual: volume 3, chapter 7 "Interrupt and Exception Handling".

use postmortem::{TrapFrame, probe};

use super::{interrupts, machine_check};
use crate::arch::handlers;

const NMI: u64 = 2;
const BREAKPOINT: u64 = 3;
const MACHINE_CHECK: u64 = 18;

/// Called by the entries of `vectors.rs`. When it returns, the interrupted code goes on.
pub extern "C" fn exception(frame: &mut TrapFrame) {
    if probe::recover(frame) {
        return;
    }
    let handlers = handlers::get();
    match frame.vector {
        // The saved rip is that of the next instruction.
        BREAKPOINT => (handlers.breakpoint)(frame),
        NMI => (handlers.nmi)(frame),
        MACHINE_CHECK => (handlers.fault)(frame, machine_check::error()),
        interrupts::FIRST.. => interrupts::handle_on_stack(frame),
        _ => (handlers.fault)(frame, None),
    }
}
