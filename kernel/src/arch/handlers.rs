//! What the floors above do at an exception. They hand it in, so that nothing here knows tasks or reports.

use postmortem::TrapFrame;
use postmortem::x86_64::MachineCheck;
use spin::Once;

/// A function for each kind of exception, called with what was interrupted, ordinary interrupts masked.
#[derive(Debug)]
pub struct Handlers {
    /// A fault, from which nobody returns; with the error that the hardware has noted if it is a machine check.
    pub fault: fn(&TrapFrame, Option<MachineCheck>) -> !,
    /// A breakpoint.
    pub breakpoint: fn(&TrapFrame),
    /// What ordinary masking does not keep away: x86-64 an NMI, AArch64 an interrupt of group 0.
    pub nmi: fn(&TrapFrame),
    /// An ordinary interrupt with this number (x86-64 a vector, AArch64 an interrupt ID), after the controller was told that
    /// it is being handled. Says whether to call `preempt`: only if the interrupted stack has room for a trap frame.
    pub interrupt: fn(usize, &mut TrapFrame) -> bool,
    /// Lets another task run. Called at the end of an ordinary interrupt, on the stack of what was interrupted.
    pub preempt: fn(),
}

static HANDLERS: Once<&'static Handlers> = Once::new();

/// Hands the table in. The first one stays.
pub(super) fn set(handlers: &'static Handlers) {
    HANDLERS.call_once(|| handlers);
}

/// The table.
pub(super) fn get() -> &'static Handlers {
    // Reading it takes no lock.
    let handlers = HANDLERS.get();
    handlers.expect("it was handed in before the CPU was told where the vectors are")
}
