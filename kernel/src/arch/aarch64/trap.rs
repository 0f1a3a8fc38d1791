//! What happened when an exception came. Manual: D1.3 "Exceptions".

use core::fmt;

pub use super::frame::TrapFrame;
use super::syndrome::Syndrome;
use super::{cpu, exit, interrupts, probe};
use crate::verdict::Verdict;
use crate::{breakpoint, interrupt, panic, task};

/// Bytes of an instruction.
const INSTRUCTION: u64 = 4;

/// Called by vectors.s. When it returns, so does the interrupted code.
pub extern "C" fn exception(frame: &mut TrapFrame) {
    if exit::is_leaving() {
        // The verdict is already known; this is `hlt` where nobody listens for semihosting.
        exit::leave(Verdict::Panicked);
    }
    if frame.can_return() && probe::recover(frame) {
        return;
    }
    let kind = frame.kind();
    // On the overflow stack nothing else may come: from there it could not return.
    if kind != Kind::Fiq && !frame.is_on_overflow_stack() {
        // What would have been overwritten is saved.
        cpu::unmask_urgent();
    }
    match kind {
        Kind::Synchronous if frame.syndrome().is_breakpoint() => {
            breakpoint::hit(frame);
            frame.elr += INSTRUCTION;
        }
        Kind::Irq => {
            interrupts::handle(frame);
            if task::is_slice_over() {
                // It goes on in `preempted`.
                frame.move_to_task();
            }
        }
        Kind::Fiq => interrupts::handle(frame),
        _ => panic::fault(frame),
    }
    // So that nothing overwrites the registers that the way back needs.
    cpu::mask_all();
}

/// Called by vectors.s, on the stack of a task that was interrupted.
pub extern "C" fn preempted() {
    task::preempt();
}

/// The four vectors of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Synchronous,
    Irq,
    Fiq,
    SError,
}

impl TrapFrame {
    fn kind(&self) -> Kind {
        match self.vector & 3 {
            0 => Kind::Synchronous,
            1 => Kind::Irq,
            2 => Kind::Fiq,
            _ => Kind::SError,
        }
    }

    fn is_on_overflow_stack(&self) -> bool {
        self.vector & 16 != 0
    }

    /// Whether there is a way back: the interrupted stack pointer is SP_EL0, or it is above this frame.
    fn can_return(&self) -> bool {
        let end = core::ptr::from_ref(self).wrapping_add(1) as u64;
        !self.is_on_overflow_stack() || self.sp() == end
    }

    /// Whether memory could not be used.
    pub fn is_bad_access(&self) -> bool {
        self.kind() == Kind::Synchronous && self.syndrome().is_data_abort()
    }

    fn syndrome(&self) -> Syndrome {
        Syndrome::from_bits_retain(self.esr)
    }
}

/// What happened, in words.
impl fmt::Display for TrapFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_on_overflow_stack() {
            f.write_str("no room on the stack of exceptions: ")?;
        }
        match self.kind() {
            Kind::Synchronous => self.syndrome().describe(f, self.far, self.sp),
            Kind::Irq if self.interrupt != 0 => interrupt::name(f, self.interrupt),
            Kind::Irq => f.write_str("IRQ"),
            Kind::Fiq => f.write_str("FIQ"),
            Kind::SError => write!(f, "SError, syndrome {:#010x}", self.esr),
        }
    }
}
