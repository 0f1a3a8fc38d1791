//! Start addresses of stacks that a boot loader set up and the kernel does not declare, recorded while the kernel still works.

use core::sync::atomic::{AtomicU64, Ordering};

use unwind::{Doubt, End, Fallbacks, Range, Undeclared, Unwinder};

use super::linked;
use super::memory::Stacks;
use crate::arch::{Registers, for_walk, frames};
use crate::module::Rows;

/// How many stacks can be noted: one for each processor of most machines.
const COUNT: usize = 64;
/// No stack begins at this address.
const NONE: u64 = 0;
/// More frames than a kernel has while it starts.
const FRAMES: u32 = 64;

/// The stack pointers of outermost functions on stacks that were noted.
static BEGINS: [AtomicU64; COUNT] = [const { AtomicU64::new(NONE) }; COUNT];

/// Records where the current stack begins (its highest address), so that a list of callers on this stack can be complete.
///
/// The function follows the callers from here to the outermost function once, as a report does, and keeps the stack pointer of that
/// function. Call it on each stack that a boot loader has set up, once for each CPU; up to 64 stacks are kept. [`start`](super::start)
/// calls it.
///
/// The call is not needed if a constant in the kernel's own code is the start of the stack, or with [`stacks_by`](super::stacks_by).
/// Without unwind tables, or if a row on the path is not proven, nothing is recorded.
///
/// ```no_run
/// // The entry point of another CPU, on the stack that the boot loader gave it.
/// extern "C" fn ap_main() -> ! {
///     postmortem::note_stack();
///     loop {}
/// }
/// ```
pub fn note_stack() {
    let registers = crate::arch::capture();
    if let Some(sp) = outermost(&registers) {
        note(sp);
    }
}

/// Keeps a stack pointer, unless it is there already or there is no room.
fn note(sp: u64) {
    for place in &BEGINS {
        match place.compare_exchange(NONE, sp, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(other) if other == sp => return,
            Err(_) => {}
        }
    }
}

/// The stack that begins at a stack pointer, of which no more is known, if that was noted.
pub(super) fn noted(sp: u64) -> Option<Range> {
    let is_noted = |place: &AtomicU64| place.load(Ordering::Relaxed) == sp;
    (sp != NONE && BEGINS.iter().any(is_noted)).then_some(Range::new(sp, sp))
}

/// The stack pointer of the outermost function that called, through others, the function with these registers. `None` if anything else than where
/// the stack begins is in doubt.
#[inline(never)]
fn outermost(registers: &Registers) -> Option<u64> {
    let stacks = Stacks::told(None);
    let (image, regions) = linked::image(&stacks);
    let (code, count) = regions.code();
    let tables = image.rows();
    let rows = Rows::new(&tables, &[]);
    let unwinder = Unwinder::new(&rows)
        .code(code.get(..count)?)
        .fallbacks(Fallbacks::empty())
        .limit(FRAMES);
    let read = |address| stacks.read(address);
    let read: &dyn Fn(u64) -> Option<u64> = &read;
    let stack_of: &dyn Fn(u64) -> Option<Range> = &|_| None;
    let memory = Undeclared::new(read, stack_of);
    let mut frames = frames(&unwinder, for_walk(*registers), memory);
    frames.by_ref().for_each(drop);
    match (frames.end(), frames.doubt()) {
        (
            Some(End::Outermost),
            Some(Doubt {
                reason: End::BaseUnknown(sp),
                ..
            }),
        ) => Some(sp),
        _ => None,
    }
}
