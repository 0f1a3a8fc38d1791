//! How a walk begins: at an instruction that runs, was interrupted, or failed; or behind a call.

use unwind::{Frames, Memory, RegisterSet, RowSource, Unwinder, aarch64, arm, x86_64};

/// Registers that may be those behind a call.
pub(super) trait Begin: RegisterSet {
    /// Whether they are: the program counter is a return address.
    fn is_at_call(&self) -> bool {
        false
    }
}

impl Begin for x86_64::Registers {}
impl Begin for aarch64::Registers {}

impl Begin for arm::Registers {
    fn is_at_call(&self) -> bool {
        self.at_call
    }
}

/// Starts a walk.
pub(super) fn frames<'u, R: Begin, M: Memory, S: RowSource>(
    unwinder: &'u Unwinder<'_, S>,
    registers: R,
    memory: M,
) -> Frames<'u, R, M, S> {
    match registers.is_at_call() {
        true => unwinder.frames_from_call(registers, memory),
        false => unwinder.frames(registers, memory),
    }
}
