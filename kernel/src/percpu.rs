//! Data of each CPU, in statics that all modules above read: which CPUs there are, and their hardware numbers.

use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// The greatest number of CPUs that the kernel uses.
pub const MAX_CPUS: usize = 8;

/// Values of [`Cpu::presence`]: it does not run; it was started, and has not come yet; it runs Rust code, and can be interrupted.
pub const ABSENT: u8 = 0;
pub const AWAITED: u8 = 1;
pub const ONLINE: u8 = 2;

/// The data of a CPU. A register of the CPU has its address, by which assembly reads the first two words.
#[repr(C)]
#[derive(Debug)]
pub struct Cpu {
    /// Its number: 0 is the one that booted.
    pub index: AtomicUsize,
    /// The initial stack pointer of its stack for exceptions that find no room elsewhere.
    pub overflow_stack: AtomicU64,
    /// Its hardware number: APIC ID, or affinity fields of MPIDR_EL1.
    pub id: AtomicU64,
    /// Whether it is there. A CPU that comes when it is no longer awaited stops.
    pub presence: AtomicU8,
    /// The next function for it to call, a `fn()`, or null.
    pub job: AtomicPtr<()>,
}

/// The data of all CPUs, by number. boot.s sets the register of CPU 0.
pub static CPUS: [Cpu; MAX_CPUS] = [const {
    Cpu {
        index: AtomicUsize::new(0),
        overflow_stack: AtomicU64::new(0),
        id: AtomicU64::new(0),
        presence: AtomicU8::new(ABSENT),
        job: AtomicPtr::new(core::ptr::null_mut()),
    }
}; MAX_CPUS];

/// How many CPUs were started, CPU 0 included, whether or not they came online. Their stacks are in use.
pub static STARTED: AtomicUsize = AtomicUsize::new(1);

/// How many CPUs were started, CPU 0 included.
pub fn started() -> usize {
    STARTED.load(Ordering::Acquire)
}

/// The numbers of all CPUs that are online.
pub fn online() -> impl Iterator<Item = usize> {
    (0..started()).filter(|index| is_online(*index))
}

/// Whether the CPU with this number is online.
pub fn is_online(index: usize) -> bool {
    CPUS[index].presence.load(Ordering::Acquire) == ONLINE
}

/// The hardware number of the CPU with this number.
pub fn hardware_id(index: usize) -> u64 {
    CPUS[index].id.load(Ordering::Relaxed)
}
