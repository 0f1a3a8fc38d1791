//! Interrupts: who handles which.

use postmortem::TrapFrame;
use spin::Once;

use crate::arch::cpu;
use crate::arch::interrupts::TIMER;

/// Keeps ordinary interrupts away from this processor as long as it lives, if they were not kept away before.
///
/// A task that is switched away keeps it: the interrupts of its processor are masked again when it goes on.
#[derive(Debug)]
pub struct Masked {
    were_masked: bool,
}

impl Masked {
    /// From now on.
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

/// Called with what was interrupted, interrupts off, after the controller was told that the interrupt is being handled.
pub type Handler = fn(&mut TrapFrame);

/// How many numbers there are: vectors of x86-64 that have entries, and interrupt IDs of a GIC on a small board.
const COUNT: usize = 288;

/// By number.
static HANDLERS: [Once<Handler>; COUNT] = [const { Once::new() }; COUNT];

/// Calls `handler` at every interrupt with this number from now on: x86-64 a vector, AArch64 an interrupt ID. The first one
/// set stays.
///
/// # Panics
/// There is no such number.
pub fn handle_with(number: u32, handler: Handler) {
    HANDLERS[number as usize].call_once(|| handler);
}

/// The name of the interrupt that has this number, if it has one.
pub fn name(number: u64) -> Option<&'static str> {
    (number == u64::from(TIMER)).then_some("timer interrupt")
}

/// Calls who handles an interrupt. One that nobody handles is forgotten.
pub fn dispatch(number: usize, frame: &mut TrapFrame) {
    if let Some(handler) = HANDLERS.get(number).and_then(Once::get) {
        handler(frame);
    }
}
