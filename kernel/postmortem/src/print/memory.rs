//! The memory that a report may read in a kernel that declares nothing: stacks that the kernel names, and memory that the page tables map.

use core::fmt::{self, Write};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use unwind::{Range, RegisterSet as _};

use super::begins::{note_stack, noted};
#[cfg(target_os = "none")]
use crate::arch::Mapped;
use crate::arch::Registers;
use crate::probe;

/// The host's page tables are not read.
#[cfg(not(target_os = "none"))]
enum Mapped {}

#[cfg(not(target_os = "none"))]
impl Mapped {
    const fn now(_: Option<u64>) -> Result<Self, &'static str> {
        Err("the program runs under an operating system")
    }

    const fn is_off() -> bool {
        false
    }

    const fn is_memory(&self, _: u64) -> bool {
        match *self {}
    }
}

/// Returns the stack that contains a stack pointer.
type StackOf = fn(u64) -> Option<Range>;

/// The value of `PHYSICAL_MEMORY` before [`physical_memory_at`] is called.
const NOT_TOLD: u64 = u64::MAX;

static PHYSICAL_MEMORY: AtomicU64 = AtomicU64::new(NOT_TOLD);
/// A [`StackOf`], or null.
static STACK_OF: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Sets the address at which physical memory is mapped, so that reports on x86-64 can read the page tables. The address is 0 in a kernel
/// that maps memory to its own addresses.
///
/// Without this call, reports on x86-64 read only the stacks that [`stacks_by`] names. On Arm the call is not needed, because reports query
/// the MMU.
///
/// A report reads the page tables that CR3 names at this address. It uses them only if they map the address of the first table to that
/// table; otherwise the report contains a line about the wrong address, and reads only the stacks that `stacks_by` names. If nothing is
/// mapped there, the read is a page fault.
///
/// ```no_run
/// // At boot, as early as possible; the boot loader maps all physical memory there.
/// let offset = 0xffff_8000_0000_0000;
/// // SAFETY: the boot loader maps physical memory, and so the page tables, at `offset`.
/// unsafe { postmortem::physical_memory_at(offset) };
/// ```
///
/// # Safety
/// The caller must guarantee for as long as the kernel runs that the page tables in use can be read at this address plus their physical
/// address. Mappings of a cacheable type must be memory, except where the processor's MTRRs, if they are in use, state another type.
pub unsafe fn physical_memory_at(address: u64) {
    PHYSICAL_MEMORY.store(address, Ordering::Release);
}

/// Sets the address of physical memory like [`physical_memory_at`], and records where the current stack begins like [`note_stack`].
///
/// This is the one call at boot for a kernel whose boot loader set up the stack. It reads the page tables immediately.
///
/// ```no_run
/// # struct BootInfo { physical_memory_offset: u64 }
/// fn kernel_main(boot_info: &'static BootInfo) -> ! {
///     // SAFETY: the boot loader maps all physical memory at this address.
///     unsafe { postmortem::start(boot_info.physical_memory_offset) };
///     // The rest of the kernel.
///     loop {}
/// }
/// ```
///
/// # Safety
/// The caller must guarantee the conditions of [`physical_memory_at`].
pub unsafe fn start(address: u64) {
    // SAFETY: the caller guarantees the same.
    unsafe { physical_memory_at(address) };
    note_stack();
}

/// Registers `stack_of`, which returns the stack that contains a stack pointer, for [`print`](super::print) and its variants.
///
/// The range includes the guard page below the stack if there is one and reports can read the page tables. `stack_of` returns `None` for an
/// unknown stack. It runs while any part of the kernel may be broken, so it must not take a lock and must not fail.
///
/// A list of callers that ends where such a stack begins is complete if the code can be read, because a report checks the call
/// instructions. That is the code between `__text_start` and `__text_end` of the linker script. Without these symbols it is the code
/// between functions with rows, in up to four pieces, as far as the page tables map it. If the MMU is off, tables with checksums contain
/// where the code is.
///
/// ```no_run
/// use postmortem::Range;
///
/// const STACK: Range = Range::new(0x20_0000, 0x21_0000);
///
/// fn stack_of(sp: u64) -> Option<Range> {
///     STACK.holds_stack_pointer(sp).then_some(STACK)
/// }
///
/// // SAFETY: the whole stack is mapped memory.
/// unsafe { postmortem::stacks_by(stack_of) };
/// ```
///
/// # Safety
/// The caller must guarantee that each stack is memory or not mapped, never a device. If reports cannot read the page tables, all of each
/// stack must be mapped.
pub unsafe fn stacks_by(stack_of: fn(u64) -> Option<Range>) {
    STACK_OF.store(stack_of as *mut (), Ordering::Release);
}

/// The stacks that a report knows.
pub(super) struct Stacks {
    stack_of: Option<StackOf>,
    /// The stack that the report itself runs on, if it has one of its own. A trace never reads it.
    own: Option<Range>,
    /// The address at which physical memory is mapped, if the kernel has set it.
    physical: Option<u64>,
    /// The page tables, or the reason why they cannot be used.
    tables: Result<Mapped, &'static str>,
}

impl Stacks {
    /// Collects what the kernel has set so far, and the state of this CPU's page tables.
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

    /// Writes a line if nothing can be read, or if the address that the kernel has set is wrong.
    pub(super) fn write_missing(&self, out: &mut dyn Write) -> fmt::Result {
        match (&self.tables, self.stack_of, self.physical) {
            (Err(why), None, _) => {
                writeln!(
                    out,
                    "no stack is readable, because stacks_by was not called and {why}"
                )
            }
            (Err(why), _, Some(_)) => {
                writeln!(out, "the mapped addresses are unknown, because {why}")
            }
            _ => Ok(()),
        }
    }

    /// The stack that contains this stack pointer, if the kernel names it.
    pub(super) fn told_of(&self, sp: u64) -> Option<Range> {
        self.stack_of?(sp)
    }

    /// The stack that contains this stack pointer; an empty range if only its start was recorded.
    pub(super) fn of(&self, sp: u64) -> Option<Range> {
        self.told_of(sp).or_else(|| noted(sp))
    }

    /// Whether the page tables cannot be used.
    pub(super) const fn cannot_tell(&self) -> bool {
        self.tables.is_err()
    }

    /// Whether the MMU is off, so that all addresses are physical.
    pub(super) fn has_no_mmu(&self) -> bool {
        self.cannot_tell() && Mapped::is_off()
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

    /// The word at an aligned address, if memory is mapped there. Not inlined, because the smallest report must contain it only once.
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
        // SAFETY: every word of a walk is aligned. It is memory according to the page tables, or the kernel guarantees it.
        is_there.then(|| unsafe { probe::read(address) })?
    }
}
