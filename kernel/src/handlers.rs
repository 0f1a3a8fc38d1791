//! The kernel's exception handlers: the table of functions for [`arch`].

use postmortem::TrapFrame;
use postmortem::x86_64::MachineCheck;

use crate::arch::Handlers;
use crate::arch::interrupts::TIMER;
use crate::platform::POSTMORTEM;
use crate::{breakpoint, interrupt, nmi, task, timer, user};

/// The table.
pub static HANDLERS: Handlers = Handlers {
    fault,
    breakpoint: breakpoint::hit,
    system_call: user::called,
    nmi: nmi::received,
    interrupt,
    preempt: task::preempt,
};

fn fault(frame: &TrapFrame, error: Option<MachineCheck>) -> ! {
    if let Some(error) = error {
        POSTMORTEM.note_machine_check(error);
    }
    POSTMORTEM.fault(frame)
}

fn interrupt(number: usize, frame: &mut TrapFrame) -> bool {
    if number == TIMER as usize {
        timer::tick();
        POSTMORTEM.tick(timer::TICKS_PER_SECOND);
        task::end_slice();
    }
    interrupt::dispatch(number, frame);
    task::is_slice_over() && has_room(frame)
}

/// Whether the interrupted stack has room for a trap frame below the interrupted stack pointer.
fn has_room(frame: &TrapFrame) -> bool {
    let size = size_of::<TrapFrame>() as u64;
    let place = frame.sp().wrapping_sub(size);
    POSTMORTEM.stacks().holds_words(place, size)
}
