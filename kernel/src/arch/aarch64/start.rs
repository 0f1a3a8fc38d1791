//! Starting other CPUs: by firmware ("Power State Coordination Interface", 5.1.4 "CPU_ON"), or by a word of RAM that they wait for
//! (Linux, Documentation/arch/arm64/booting.rst, "spin-table").

use aarch64_cpu::asm::{barrier, sev};
use portable::BootMemory;
use spin::Once;

use super::exit::CONDUIT;
use super::firmware;
use super::mmu::{self, HIGH};

/// Where CPUs wait for the address of their first instruction.
#[derive(Clone, Copy, Debug)]
pub struct SpinTable {
    /// The physical address of the word of CPU 0; the next one's is 8 bytes behind it.
    ///
    /// Invariant: it and all words are RAM below the image, in a gigabyte that [`mmu`] maps as devices, and nothing but this table is
    /// there. So a write is not kept in a cache, past which a CPU that waits would look.
    pub address: u64,
    /// How many CPUs it has.
    pub cpus: u64,
}

impl SpinTable {
    /// The physical address of the word of the CPU with this MPIDR affinity.
    pub fn release(&self, mpidr: u64) -> Option<u64> {
        (mpidr < self.cpus).then(|| self.address + mpidr * 8)
    }
}

/// Set when the list of CPUs has been read, if they wait in one.
pub static SPIN_TABLE: Once<SpinTable> = Once::new();

unsafe extern "C" {
    /// The physical address of their first instruction, in boot.s, if the image is loaded at its link address.
    static start_address: u64;
    /// The same of what each CPU of a spin table runs first, which knows its number: two instructions for each number.
    static spin_address: u64;
}

/// Bytes of two instructions.
const SPIN_ENTRY: u64 = 8;

/// Does nothing, and returns true: other CPUs start in the image itself.
pub fn prepare(_: &mut BootMemory) -> bool {
    true
}

/// Starts the CPU with this MPIDR affinity, which calls `start_main` of [`entry`](super::boot::entry) with the number `index`.
/// Returns false if firmware knows no such CPU, or cannot start it; a CPU of a spin table just does not come.
///
/// # Safety
/// The CPU has not been started, and the stacks of this number are not in use.
pub unsafe fn start(index: usize, mpidr: u64) -> bool {
    if let Some(table) = SPIN_TABLE.get() {
        // SAFETY: boot.s defines it as a constant word.
        let first = unsafe { spin_address }.wrapping_add(mmu::image_offset());
        return release(table, mpidr, first + index as u64 * SPIN_ENTRY);
    }
    // SAFETY: boot.s defines it as a constant word.
    let entry = unsafe { start_address }.wrapping_add(mmu::image_offset());
    let conduit = CONDUIT.get();
    conduit.is_some_and(|conduit| firmware::cpu_on(*conduit, mpidr, entry, index as u64))
}

/// Lets the CPU with this MPIDR affinity go to the physical address `entry`. Returns false if it is not in the table.
fn release(table: &SpinTable, mpidr: u64, entry: u64) -> bool {
    let Some(word) = table.release(mpidr) else {
        return false;
    };
    // SAFETY: the word is mapped, and in use for nothing else, by the table's invariant.
    unsafe { ((word + HIGH) as *mut u64).write_volatile(entry) };
    barrier::dsb(barrier::SY);
    sev();
    true
}
