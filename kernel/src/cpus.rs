//! The processors: which there are, starting them, giving them something to do.

use core::sync::atomic::Ordering;

use portable::BootMemory;

use crate::arch::{cpu, interrupts, stacks, start};
use crate::percpu::{CPUS, STARTED};
use crate::{arch, board};

pub use crate::percpu::{MOST, hardware_id, is_online, online, started};

/// Seconds before a processor that was started is taken not to come.
const PATIENCE: u64 = 10;

/// The number of the processor that this runs on.
pub fn this() -> usize {
    cpu::index()
}

/// All that run but this one, by number.
pub fn others() -> impl Iterator<Item = usize> {
    let this = this();
    online().filter(move |cpu| *cpu != this)
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

    /// Starts all processors but this one, which is already running. Calls `absent` with the number of one that does not come.
    pub fn start(&self, absent: impl Fn(usize)) {
        let this = cpu::hardware_id();
        CPUS[0].id.store(this, Ordering::Relaxed);
        CPUS[0].is_online.store(true, Ordering::Release);
        let others = self.ids[..self.length].iter().filter(|id| **id != this);
        for (id, index) in others.zip(1..MOST) {
            if !start(index, *id) {
                absent(index);
            }
        }
    }
}

/// Whether it came.
fn start(index: usize, id: u64) -> bool {
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
    let has_come = is_online();
    if !has_come {
        start::give_up();
    }
    has_come
}

/// Where every processor but the first begins, on a stack of its own.
pub extern "C" fn main(index: usize) -> ! {
    introduce(index);
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
