//! What is known of each CPU, as data that every floor above reads: which there are, and by what number the hardware knows them.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Most CPUs that the kernel uses.
pub const MOST: usize = 8;

/// What is known of a CPU. Trap code reads the first words, at the address that a register of the CPU holds.
#[repr(C)]
#[derive(Debug)]
pub struct Cpu {
    /// Its number: 0 is the one that booted.
    pub index: AtomicUsize,
    /// The empty stack pointer of a stack for exceptions that find the others full.
    pub overflow_stack: AtomicU64,
    /// The number by which the hardware knows it: APIC ID, or affinity fields of MPIDR_EL1.
    pub id: AtomicU64,
    /// It runs Rust code, and can be interrupted.
    pub is_online: AtomicBool,
    /// What it is to do next, a `fn()`; null for nothing.
    pub job: AtomicPtr<()>,
}

/// All of them. boot.s tells the first one where it is.
pub static CPUS: [Cpu; MOST] = [const {
    Cpu {
        index: AtomicUsize::new(0),
        overflow_stack: AtomicU64::new(0),
        id: AtomicU64::new(0),
        is_online: AtomicBool::new(false),
        job: AtomicPtr::new(core::ptr::null_mut()),
    }
}; MOST];

/// How many were ever started, the first one too: theirs are the stacks in use.
pub static STARTED: AtomicUsize = AtomicUsize::new(1);

/// How many were started.
pub fn started() -> usize {
    STARTED.load(Ordering::Acquire)
}

/// All that run, by number.
pub fn online() -> impl Iterator<Item = usize> {
    (0..started()).filter(|index| is_online(*index))
}

/// Whether the CPU with this number runs.
pub fn is_online(index: usize) -> bool {
    CPUS[index].is_online.load(Ordering::Acquire)
}

/// The number by which the hardware knows a CPU.
pub fn hardware_id(index: usize) -> u64 {
    CPUS[index].id.load(Ordering::Relaxed)
}
