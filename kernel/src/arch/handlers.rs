//! The exception handlers, as a table that the modules above fill in: so `arch` does not depend on tasks or reports.

use postmortem::TrapFrame;
use postmortem::x86_64::MachineCheck;
use spin::Once;

/// A function for each kind of exception, called with the trap frame, ordinary interrupts masked.
#[derive(Debug)]
pub struct Handlers {
    /// A fault, which is not returned from. A machine check comes with the error that the hardware has recorded.
    pub fault: fn(&TrapFrame, Option<MachineCheck>) -> !,
    /// A breakpoint.
    pub breakpoint: fn(&TrapFrame),
    /// A system call of user code, which goes on when this returns.
    pub system_call: fn(&mut TrapFrame),
    /// An NMI; on Arm an interrupt of group 0.
    pub nmi: fn(&TrapFrame),
    /// An ordinary interrupt with this number (x86-64 a vector, Arm an interrupt ID), already acknowledged. Returns whether
    /// to call `preempt`: only if the interrupted stack has room for a trap frame.
    pub interrupt: fn(usize, &mut TrapFrame) -> bool,
    /// Runs another task. Called at the end of an ordinary interrupt, on the interrupted stack.
    pub preempt: fn(),
}

static HANDLERS: Once<&'static Handlers> = Once::new();

/// Sets the table. Later calls change nothing.
pub(super) fn set(handlers: &'static Handlers) {
    HANDLERS.call_once(|| handlers);
}

/// The table.
pub(super) fn get() -> &'static Handlers {
    // Reading it takes no lock.
    let handlers = HANDLERS.get();
    handlers.expect("`init` sets the handler table before it loads the vectors")
}
