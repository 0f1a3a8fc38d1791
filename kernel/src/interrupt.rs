//! Interrupts: masking them, and the handler of each.

use postmortem::TrapFrame;
use spin::Once;

use crate::arch::cpu;
use crate::arch::interrupts::TIMER;
use crate::arch::user::SYSTEM_CALL;

/// A guard that masks ordinary interrupts of this CPU; when it is dropped they are as they were before.
///
/// A task may switch to another one while it holds the guard: when it is resumed, interrupts are masked.
#[derive(Debug)]
pub struct Masked {
    were_masked: bool,
}

impl Masked {
    /// Masks interrupts from now on.
    pub fn new() -> Self {
        let were_masked = cpu::interrupts_are_masked();
        cpu::mask_interrupts();
        Self { were_masked }
    }
}

impl Drop for Masked {
    fn drop(&mut self) {
        if !self.were_masked {
            cpu::unmask_interrupts();
        }
    }
}

/// A handler, called with the trap frame, interrupts masked, after the interrupt was acknowledged.
pub type Handler = fn(&mut TrapFrame);

/// One more than the greatest interrupt number: enough for the vectors of x86-64 and for the interrupt IDs of a small GIC.
const COUNT: usize = 288;

/// The handlers, by interrupt number.
static HANDLERS: [Once<Handler>; COUNT] = [const { Once::new() }; COUNT];

/// Calls `handler` at every interrupt with this number from now on: x86-64 a vector, Arm an interrupt ID. Later calls for
/// the same number change nothing.
///
/// # Panics
/// The number is too great.
pub fn handle_with(number: u32, handler: Handler) {
    HANDLERS[number as usize].call_once(|| handler);
}

/// The name of the interrupt that has this number, if it has one.
pub fn name(number: u64) -> Option<&'static str> {
    match number {
        SYSTEM_CALL => Some("system call"),
        _ => (number == u64::from(TIMER)).then_some("timer interrupt"),
    }
}

/// Calls the handler of an interrupt. An interrupt without a handler is ignored.
pub fn dispatch(number: usize, frame: &mut TrapFrame) {
    if let Some(handler) = HANDLERS.get(number).and_then(Once::get) {
        handler(frame);
    }
}
