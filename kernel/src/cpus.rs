//! The CPUs: which there are, starting them, running functions on them.

use core::sync::atomic::Ordering;

use portable::BootMemory;

use crate::arch::{cpu, interrupts, stacks, start};
use crate::percpu::{ABSENT, AWAITED, CPUS, Cpu, ONLINE, STARTED};
use crate::{arch, board};

pub use crate::percpu::{MAX_CPUS, hardware_id, is_online, online, started};

/// Seconds without another CPU that comes online, after which those that have not come are given up.
const TIMEOUT_SECONDS: u64 = 2;

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
        if !start::prepare(memory) {
            list.length = 0;
        }
        list
    }

    /// Starts all CPUs but this one, which is already running. Calls `absent` with the number of each that does not come
    /// online.
    ///
    /// All are started before the first is waited for, so that any number of absent ones costs one wait.
    pub fn start(&self, absent: impl Fn(usize)) {
        let this = cpu::hardware_id();
        CPUS[0].id.store(this, Ordering::Relaxed);
        CPUS[0].presence.store(ONLINE, Ordering::Release);
        let others = self.ids[..self.length].iter().filter(|id| **id != this);
        for (id, index) in others.zip(1..MAX_CPUS) {
            start(index, *id);
        }
        wait_for_all();
        for (index, it) in CPUS.iter().enumerate().take(started()) {
            if change_presence(it, AWAITED, ABSENT) || !is_online(index) {
                absent(index);
            }
        }
    }
}

/// Starts the CPU with this hardware number as number `index`.
fn start(index: usize, id: u64) {
    let it = &CPUS[index];
    it.id.store(id, Ordering::Relaxed);
    it.presence.store(AWAITED, Ordering::Relaxed);
    STARTED.store(index + 1, Ordering::Release);
    // SAFETY: a list has each CPU once, and `List::start` leaves out this one and is called once, so the CPU has not been started,
    // and the number is new.
    if !unsafe { start::start(index, id) } {
        it.presence.store(ABSENT, Ordering::Relaxed);
    }
}

/// Waits until no CPU is awaited, or none has come online for [`TIMEOUT_SECONDS`].
fn wait_for_all() {
    let is_awaited = |it: &Cpu| it.presence.load(Ordering::Relaxed) == AWAITED;
    let (mut begin, mut count) = (cpu::ticks(), 0);
    while CPUS.iter().any(is_awaited)
        && cpu::ticks().wrapping_sub(begin) < TIMEOUT_SECONDS * cpu::ticks_per_second()
    {
        let online = online().count();
        if online != count {
            (begin, count) = (cpu::ticks(), online);
        }
        core::hint::spin_loop();
    }
}

/// Changes whether a CPU is there, if that is `from`.
fn change_presence(it: &Cpu, from: u8, to: u8) -> bool {
    let changed = it
        .presence
        .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    changed.is_ok()
}

/// Sets up this CPU, which is not the first one. Returns when it is online.
pub fn come_online(index: usize) {
    set_number(index);
    arch::init_cpu(index);
    if !change_presence(&CPUS[index], AWAITED, ONLINE) {
        // Too late: the kernel goes on without it.
        cpu::halt();
    }
}

/// Whether [`run_on`] has given this CPU a function.
pub fn has_job(index: usize) -> bool {
    !CPUS[index].job.load(Ordering::Acquire).is_null()
}

/// Calls the function that [`run_on`] has given this CPU, if any.
pub fn call_job() {
    let job = &CPUS[this()].job;
    let given = job.load(Ordering::Acquire);
    if given.is_null() {
        return;
    }
    // SAFETY: not null, and `run_on` alone stores other values, each of them a `fn()`.
    let given = unsafe { core::mem::transmute::<*mut (), fn()>(given) };
    given();
    job.store(core::ptr::null_mut(), Ordering::Release);
}

/// Ends the other CPUs' waits for interrupts, so that they look for work.
pub fn wake_others() {
    others().for_each(interrupts::wake);
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
