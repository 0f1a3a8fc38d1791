//! What a report may read in a kernel that declares nothing: what the kernel has told, and what the page tables tell.

use core::fmt::{self, Write};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use unwind::{Range, RegisterSet as _};

use super::begins::{note_stack, noted};
#[cfg(target_os = "none")]
use crate::arch::Mapped;
use crate::arch::Registers;
use crate::probe;

/// On the host nothing is known of page tables.
#[cfg(not(target_os = "none"))]
enum Mapped {}

#[cfg(not(target_os = "none"))]
impl Mapped {
    const fn now(_: Option<u64>) -> Result<Self, &'static str> {
        Err("this is the host")
    }

    const fn is_memory(&self, _: u64) -> bool {
        match *self {}
    }
}

/// Tells the stack with a stack pointer.
type StackOf = fn(u64) -> Option<Range>;

/// No memory is mapped from here on.
const NOT_TOLD: u64 = u64::MAX;

static PHYSICAL_MEMORY: AtomicU64 = AtomicU64::new(NOT_TOLD);
/// A [`StackOf`], or null.
static STACK_OF: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Tells [`print`](super::print) that physical memory is mapped from this address on: 0 in a kernel that maps memory to its own
/// addresses. Without it, reports on x86-64 read only what [`stacks_by`] tells. On Arm it is not needed: the MMU is asked.
///
/// A report looks there for the page tables that CR3 names, and uses them only if they map that address to themselves; otherwise it
/// says that it is wrong, and reads only stacks that the kernel tells. Where nothing is mapped, the look is a page fault.
///
/// # Safety
/// From now on, the page tables that the kernel uses can be read there, and what they map as memory that may be cached is memory, where
/// the processor's MTRRs, if they are in use, do not say otherwise.
pub unsafe fn physical_memory_at(address: u64) {
    PHYSICAL_MEMORY.store(address, Ordering::Release);
}

/// Does the same as [`physical_memory_at`], and notes where the current stack begins, as [`note_stack`] does: for a kernel whose boot loader has set
/// up the stack. It looks for the page tables at once.
///
/// # Safety
/// That of [`physical_memory_at`].
pub unsafe fn start(address: u64) {
    // SAFETY: the caller guarantees the same.
    unsafe { physical_memory_at(address) };
    note_stack();
}

/// Tells [`print`](super::print) this kernel's stacks: `stack_of` returns the one with a stack pointer, with its guard page below if
/// it has one and the page tables can be asked. It is called when anything may be broken, so it takes no lock, and must not fail. A
/// trace that ends where such a stack begins is complete, if the calls can be read: the code between `__text_start` and
/// `__text_end` of the linker script; without those symbols, what lies between functions with rows, in up to four places, as far as
/// the page tables say that it is mapped.
///
/// # Safety
/// The stacks are memory or not mapped, but no devices; and all of each is mapped, if the page tables cannot be asked.
pub unsafe fn stacks_by(stack_of: fn(u64) -> Option<Range>) {
    STACK_OF.store(stack_of as *mut (), Ordering::Release);
}

/// What is known of stacks.
pub(super) struct Stacks {
    stack_of: Option<StackOf>,
    /// The stack that the report runs on, if that is its own: no trace leads there.
    own: Option<Range>,
    /// Where physical memory is mapped, if the kernel says so.
    physical: Option<u64>,
    /// Looks addresses up; or why that cannot be done.
    tables: Result<Mapped, &'static str>,
}

impl Stacks {
    /// What the kernel has told so far, and what this CPU says.
    pub(super) fn told(own: Option<Range>) -> Self {
        let stack_of = STACK_OF.load(Ordering::Acquire);
        let physical = PHYSICAL_MEMORY.load(Ordering::Acquire);
        let physical = (physical != NOT_TOLD).then_some(physical);
        Self {
            // SAFETY: it is null, or `stacks_by` has stored a pointer to a function of this type.
            stack_of: unsafe { core::mem::transmute::<*mut (), Option<StackOf>>(stack_of) },
            own,
            physical,
            tables: Mapped::now(physical),
        }
    }

    /// Writes what is missing, if nothing can be read, or what is told is wrong.
    pub(super) fn write_missing(&self, out: &mut dyn Write) -> fmt::Result {
        match (&self.tables, self.stack_of, self.physical) {
            (Err(why), None, _) => {
                writeln!(
                    out,
                    "no stack can be read: {why}, and stacks_by was not called"
                )
            }
            (Err(why), _, Some(_)) => writeln!(out, "unknown which addresses are mapped: {why}"),
            _ => Ok(()),
        }
    }

    /// The stack with this stack pointer, if the kernel tells.
    pub(super) fn told_of(&self, sp: u64) -> Option<Range> {
        self.stack_of?(sp)
    }

    /// The same; or an empty range, if only that a stack begins there was noted.
    pub(super) fn of(&self, sp: u64) -> Option<Range> {
        self.told_of(sp).or_else(|| noted(sp))
    }

    /// Whether nobody knows what is mapped.
    pub(super) const fn cannot_tell(&self) -> bool {
        self.tables.is_err()
    }

    /// Whether each page of a range is memory. Not inlined, because each caller would have a copy of the search in page tables.
    #[inline(never)]
    pub(super) fn are_memory(&self, start: u64, end: u64) -> bool {
        let mut pages = (start & !0xfff..end).step_by(0x1000);
        pages.all(|page| self.is_memory(page))
    }

    /// Whether memory is mapped at this address, and can be read.
    pub(super) fn is_memory(&self, address: u64) -> bool {
        let tables = self.tables.as_ref();
        tables.is_ok_and(|tables| tables.is_memory(address))
    }

    /// The word at an aligned address, if there is memory. Not inlined: the smallest report has no room for it twice.
    #[inline(never)]
    pub(super) fn read(&self, address: u64) -> Option<u64> {
        let is_there = match self.tables {
            Ok(_) => self.is_memory(address),
            Err(_) => self.told_of(address)?.holds(address, Registers::WORD),
        };
        let is_there = is_there
            && self
                .own
                .is_none_or(|own| !own.holds(address, Registers::WORD));
        // SAFETY: aligned, as every word of a walk. It is memory by the page tables; or the kernel has said so.
        is_there.then(|| unsafe { probe::read(address) })?
    }
}
