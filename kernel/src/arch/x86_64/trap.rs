//! What to do when an exception comes. Manual: volume 3, chapter 7 "Interrupt and Exception Handling".

use postmortem::{TrapFrame, probe};

use super::{interrupts, machine_check};
use crate::platform::POSTMORTEM;
use crate::{breakpoint, nmi};

const NMI: u64 = 2;
const BREAKPOINT: u64 = 3;
const MACHINE_CHECK: u64 = 18;

/// Called by the entries of `vectors.rs`. When it returns, so does the interrupted code.
pub extern "C" fn exception(frame: &mut TrapFrame) {
    if probe::recover(frame) {
        return;
    }
    match frame.vector {
        // The saved rip is behind the instruction.
        BREAKPOINT => breakpoint::hit(frame),
        NMI => nmi::received(frame),
        MACHINE_CHECK => {
            machine_check::note();
            POSTMORTEM.fault(frame);
        }
        interrupts::FIRST.. => interrupts::handle_on_stack(frame),
        _ => POSTMORTEM.fault(frame),
    }
}
