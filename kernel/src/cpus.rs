//! The processors: which there are, starting them, giving them something to do.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::arch::{cpu, interrupts, stacks, start};
use crate::boot_memory::BootMemory;
use crate::console::println;
use crate::{arch, board, task};

/// Most processors that the kernel uses.
pub const MOST: usize = 8;

/// Seconds before a processor that was started is taken not to come.
const PATIENCE: u64 = 10;

/// What is known of a processor. Trap code reads the first words, at the address that a register of the processor holds.
#[repr(C)]
#[derive(Debug)]
pub struct Cpu {
    /// Its number: 0 is the one that booted.
    index: AtomicUsize,
    /// The empty stack pointer of a stack for exceptions that find the others full.
    overflow_stack: AtomicU64,
    /// The number by which the hardware knows it: APIC ID, or affinity fields of MPIDR_EL1.
    id: AtomicU64,
    /// It runs Rust code, and can be interrupted.
    is_online: AtomicBool,
    /// What it is to do next, a `fn()`; null for nothing.
    job: AtomicPtr<()>,
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
static STARTED: AtomicUsize = AtomicUsize::new(1);

/// How many were started.
pub fn started() -> usize {
    STARTED.load(Ordering::Acquire)
}

/// The number of the processor that this runs on.
pub fn this() -> usize {
    cpu::index()
}

/// All that run, by number.
pub fn online() -> impl Iterator<Item = usize> {
    (0..started()).filter(|index| is_online(*index))
}

/// All that run but this one, by number.
pub fn others() -> impl Iterator<Item = usize> {
    let this = this();
    online().filter(move |cpu| *cpu != this)
}

/// Whether the processor with this number runs.
pub fn is_online(index: usize) -> bool {
    CPUS[index].is_online.load(Ordering::Acquire)
}

/// The number by which the hardware knows a processor.
pub fn hardware_id(index: usize) -> u64 {
    CPUS[index].id.load(Ordering::Relaxed)
}

/// Tells this processor its number. The first thing that it does in Rust.
pub fn introduce(index: usize) {
    let this = &CPUS[index];
    this.index.store(index, Ordering::Relaxed);
    this.overflow_stack
        .store(stacks::overflow(index), Ordering::Relaxed);
    cpu::set_block(core::ptr::from_ref(this) as u64);
}

/// The numbers by which the hardware knows the processors, in the order that firmware lists them.
#[derive(Debug)]
pub struct List {
    ids: [u64; MOST],
    length: usize,
}

impl List {
    /// Reads the board's list, and puts the code that others start with where they start.
    pub fn read(memory: &mut BootMemory, argument: u64) -> Self {
        let mut list = Self {
            ids: [0; MOST],
            length: 0,
        };
        board::cpus(memory, argument, |id| {
            if let Some(slot) = list.ids.get_mut(list.length) {
                *slot = id;
                list.length += 1;
            }
        });
        start::prepare(memory);
        list
    }

    /// Starts all processors but this one, which is already running.
    pub fn start(&self) {
        let this = cpu::hardware_id();
        CPUS[0].id.store(this, Ordering::Relaxed);
        CPUS[0].is_online.store(true, Ordering::Release);
        let others = self.ids[..self.length].iter().filter(|id| **id != this);
        for (id, index) in others.zip(1..MOST) {
            start(index, *id);
        }
    }
}

fn start(index: usize, id: u64) {
    let it = &CPUS[index];
    it.id.store(id, Ordering::Relaxed);
    STARTED.store(index + 1, Ordering::Release);
    // SAFETY: this kernel has not started it before, and its stacks are its own.
    unsafe { start::start(index, id) };
    let is_online = || it.is_online.load(Ordering::Acquire);
    let begin = cpu::ticks();
    while !is_online() && cpu::ticks().wrapping_sub(begin) < PATIENCE * cpu::ticks_per_second() {
        core::hint::spin_loop();
    }
    if !is_online() {
        start::give_up();
        println!("cpu {index}, known to the hardware as {id:#x}, does not start");
    }
}

/// Where every processor but the first begins, on a stack of its own.
pub extern "C" fn main(index: usize) -> ! {
    introduce(index);
    task::adopt();
    arch::init_cpu(index);
    CPUS[index].is_online.store(true, Ordering::Release);
    loop {
        let job = CPUS[index].job.load(Ordering::Acquire);
        if job.is_null() {
            cpu::wait();
            continue;
        }
        // SAFETY: `run_on` stores nothing but functions.
        let job = unsafe { core::mem::transmute::<*mut (), fn()>(job) };
        job();
        CPUS[index]
            .job
            .store(core::ptr::null_mut(), Ordering::Release);
    }
}

/// Has another processor call `job`, after what it does already. Returns at once.
pub fn run_on(index: usize, job: fn()) {
    let it = &CPUS[index];
    while it
        .job
        .compare_exchange(
            core::ptr::null_mut(),
            job as *mut (),
            Ordering::AcqRel,
            Ordering::Relaxed,
        )
        .is_err()
    {
        core::hint::spin_loop();
    }
    interrupts::wake(index);
}
