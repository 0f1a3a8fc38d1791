//! Starting other processors. Manual: volume 3, 10.4 "Multiple-Processor (MP) Initialization".

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use portable::BootMemory;

use super::interrupts;
use crate::stack::BOOT;

/// Physical address of the page where a processor starts, in real mode. Free on a PC once firmware is done.
const PAGE: u64 = 0x8000;

/// The empty stack pointer for the next processor that starts. It takes it away.
pub static STACK: AtomicU64 = AtomicU64::new(0);
/// That processor's number.
pub static INDEX: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    /// The code for the page, in boot.s; only the addresses count.
    static start_page_begin: u8;
    static start_page_end: u8;
}

/// Puts the code where processors start.
pub fn prepare(memory: &mut BootMemory) {
    let (begin, end) = (&raw const start_page_begin, &raw const start_page_end);
    // SAFETY: constants of the image, between two symbols.
    let code = unsafe { core::slice::from_raw_parts(begin, end as usize - begin as usize) };
    // SAFETY: free, see `PAGE`.
    unsafe { memory.write(PAGE, code) };
}

/// Starts a processor, which comes to `start_main` of [`entry`](super::boot::entry) with this number.
///
/// # Safety
/// The processor does nothing yet, and the number's stacks are not in use. [`prepare`] has been called.
pub unsafe fn start(index: usize, apic_id: u64) {
    INDEX.store(index, Ordering::Relaxed);
    STACK.store(BOOT[index].extent("boot", index).end(), Ordering::Release);
    // The manual wants 10 ms and 200 us between these, for processors of old. Those that are emulated or have been made
    // since 2008 need none, so that no clock is needed here.
    let apic_id = apic_id as u32;
    // SAFETY: see above.
    unsafe {
        interrupts::send_init(apic_id);
        interrupts::send_start_up(apic_id, PAGE);
    }
}

/// Takes the stack back that was meant for a processor that did not come.
pub fn give_up() {
    STACK.store(0, Ordering::Release);
}
