//! The CPUs: which there are, starting them, running functions on them.

use core::sync::atomic::Ordering;

use portable::BootMemory;

use crate::arch::{cpu, interrupts, stacks, start};
use crate::percpu::{CPUS, STARTED};
use crate::{arch, board};

pub use crate::percpu::{MAX_CPUS, hardware_id, is_online, online, started};

/// Seconds after which a CPU that does not come online is given up.
const TIMEOUT_SECONDS: u64 = 10;

/// The number of the CPU that this runs on.
pub fn this() -> usize {
    cpu::index()
}

/// The numbers of all CPUs that are online, except this one.
pub fn others() -> impl Iterator<Item = usize> {
    let this = this();
    online().filter(move |cpu| *cpu != this)
}

/// Sets this CPU's number. Called before any other Rust code runs on the CPU.
pub fn set_number(index: usize) {
    let this = &CPUS[index];
    this.index.store(index, Ordering::Relaxed);
    this.overflow_stack
        .store(stacks::overflow(index), Ordering::Relaxed);
    cpu::set_percpu(core::ptr::from_ref(this) as u64);
}

/// The hardware numbers of all CPUs, in the order of the firmware's list.
#[derive(Debug)]
pub struct List {
    ids: [u64; MAX_CPUS],
    length: usize,
}

impl List {
    /// Reads the board's list, and prepares the start of other CPUs.
    pub fn read(memory: &mut BootMemory, argument: u64) -> Self {
        let mut list = Self {
            ids: [0; MAX_CPUS],
            length: 0,
        };
        board::cpus(memory, argument, |id| {
            // Firmware's list may be wrong. A CPU that is started twice would begin anew while it runs.
            if list.ids[..list.length].contains(&id) {
                return;
            }
            if let Some(slot) = list.ids.get_mut(list.length) {
                *slot = id;
                list.length += 1;
            }
        });
        start::prepare(memory);
        list
    }

    /// Starts all CPUs but this one, which is already running. Calls `absent` with the number of each that does not come
    /// online.
    pub fn start(&self, absent: impl Fn(usize)) {
        let this = cpu::hardware_id();
        CPUS[0].id.store(this, Ordering::Relaxed);
        CPUS[0].is_online.store(true, Ordering::Release);
        let others = self.ids[..self.length].iter().filter(|id| **id != this);
        for (id, index) in others.zip(1..MAX_CPUS) {
            if !start(index, *id) {
                absent(index);
            }
        }
    }
}

/// Starts the CPU with this hardware number as number `index`. Returns whether it came online.
fn start(index: usize, id: u64) -> bool {
    let it = &CPUS[index];
    it.id.store(id, Ordering::Relaxed);
    STARTED.store(index + 1, Ordering::Release);
    // SAFETY: a list has each CPU once, and `List::start` leaves out this one and is called once, so the CPU has not been started,
    // and the number is new.
    if !unsafe { start::start(index, id) } {
        return false;
    }
    let is_online = || it.is_online.load(Ordering::Acquire);
    let begin = cpu::ticks();
    while !is_online()
        && cpu::ticks().wrapping_sub(begin) < TIMEOUT_SECONDS * cpu::ticks_per_second()
    {
        core::hint::spin_loop();
    }
    let has_come = is_online();
    if !has_come {
        start::cancel();
    }
    has_come
}

/// The first Rust function of every CPU but the first, on its boot stack: runs the functions that [`run_on`] gives it.
pub extern "C" fn main(index: usize) -> ! {
    set_number(index);
    arch::init_cpu(index);
    CPUS[index].is_online.store(true, Ordering::Release);
    loop {
        let job = CPUS[index].job.load(Ordering::Acquire);
        if job.is_null() {
            cpu::wait();
            continue;
        }
        // SAFETY: not null, and `run_on` alone stores other values, each of them a `fn()`.
        let job = unsafe { core::mem::transmute::<*mut (), fn()>(job) };
        job();
        CPUS[index]
            .job
            .store(core::ptr::null_mut(), Ordering::Release);
    }
}

/// Makes another CPU call `job`. Waits only until the job before it has ended, if there is one.
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
