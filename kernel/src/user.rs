//! User programs: code without the kernel's privileges, which it enters by a system call, an exception or an interrupt.

use core::hint::black_box;
use core::sync::atomic::AtomicU64;

use postmortem::TrapFrame;
use spin::Once;

use crate::arch::{mmu, user};
use crate::interrupt::Masked;
use crate::page_table::PAGE;

/// Where user code finds the page with its program, and above it its stack, of one page.
pub const PROGRAM: u64 = 0x40_0000;
const STACK: u64 = PROGRAM + PAGE;

/// A page of memory.
#[repr(C, align(4096))]
struct Page([AtomicU64; 512]);

static STACK_PAGE: Page = Page([const { AtomicU64::new(0) }; 512]);

/// What to do at a system call.
static HANDLER: Once<fn(&mut TrapFrame)> = Once::new();

/// Calls `handler` at every system call from now on. Later calls change nothing.
pub fn handle_calls_with(handler: fn(&mut TrapFrame)) {
    HANDLER.call_once(|| handler);
}

/// Called at every system call, with the trap frame. One without a handler does nothing.
pub fn called(frame: &mut TrapFrame) {
    if let Some(handler) = HANDLER.get() {
        handler(frame);
    }
    // No tail call: a trace of the handler names this function too.
    black_box(());
}

/// Runs user code from this label of the program in `user.s` on. What this CPU has done is given up: when the kernel is entered
/// again, its stack is empty.
pub fn run(label: *const u8) -> ! {
    core::mem::forget(Masked::new());
    let stack = core::ptr::from_ref(&STACK_PAGE) as u64;
    mmu::map_user([(PROGRAM, user::program(), false), (STACK, stack, true)]);
    let offset = (label as u64).wrapping_sub(user::program());
    // SAFETY: the program's page is mapped there, and a stack; interrupts are masked. Nothing of what is given up is used again:
    // other tasks and CPUs have stacks of their own.
    unsafe { user::enter(PROGRAM.wrapping_add(offset), STACK + PAGE) }
}
