//! Starting other CPUs. Manual: volume 3, 10.4 "Multiple-Processor (MP) Initialization".

use portable::BootMemory;

use super::interrupts;

/// The physical address of the page where a CPU starts, in real mode. Unused on a PC once firmware is done.
const PAGE: u64 = 0x8000;

unsafe extern "C" {
    /// The ends of the code for the page, in boot.s. They have no value, only an address.
    static start_page_begin: u8;
    static start_page_end: u8;
}

/// Copies the start code to the page. Returns whether that is RAM, without which no CPU can be started.
pub fn prepare(memory: &mut BootMemory) -> bool {
    let (begin, end) = (&raw const start_page_begin, &raw const start_page_end);
    // SAFETY: boot.s defines both symbols around constant bytes of the image.
    let code = unsafe { core::slice::from_raw_parts(begin, end as usize - begin as usize) };
    // SAFETY: the page is unused RAM, once firmware is done.
    unsafe { memory.write(PAGE, code) }
}

/// Starts the CPU with this APIC ID, which calls `start_main` of [`entry`](super::boot::entry) with its number: it finds its ID in
/// the list of [`CPUS`](crate::percpu::CPUS). Returns true: nobody tells whether there is such a CPU.
///
/// # Safety
/// The CPU has not been started, and the stacks of this number are not in use. [`prepare`] has returned true.
pub unsafe fn start(_: usize, apic_id: u64) -> bool {
    // The manual wants 10 ms and 200 us between these, for old CPUs. Emulated ones and those made since 2008 need no delay, so
    // that no clock is needed here.
    let apic_id = apic_id as u32;
    // SAFETY: the CPU has not been started, as the caller says, and `prepare` has put the code to the page.
    unsafe {
        interrupts::send_init(apic_id);
        interrupts::send_start_up(apic_id, PAGE);
    }
    true
}
