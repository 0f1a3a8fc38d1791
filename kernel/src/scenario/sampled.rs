//! All CPUs sample themselves at each tick of their timers, and send where their time went.

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use postmortem::{RuleCache, Sampler, Samples, TrapFrame};
use spin::Once;

use crate::arch::{self, cpu};
use crate::console::println;
use crate::cpus::{self, MAX_CPUS};
use crate::platform::POSTMORTEM;
use crate::timer::{self, TICKS_PER_SECOND};

/// Samples of each CPU, unless the command line says otherwise.
const COUNT: u32 = 200;

static CACHE: RuleCache<2048> = RuleCache::new();
static SAMPLER: Once<Sampler<2048>> = Once::new();
static SAMPLES: [Samples<4096>; MAX_CPUS] = [const { Samples::new() }; MAX_CPUS];

/// What each CPU does, as it says itself: 0 if nothing of it.
static DOES: [AtomicU8; MAX_CPUS] = [const { AtomicU8::new(0) }; MAX_CPUS];

/// How often each CPU was sampled while it did nothing, the hard and the easy part.
static COUNTS: [[AtomicU32; 3]; MAX_CPUS] = [const { [const { AtomicU32::new(0) }; 3] }; MAX_CPUS];

/// How long the samples took, in ticks of each CPU's counter.
static TOOK: [AtomicU64; MAX_CPUS] = [const { AtomicU64::new(0) }; MAX_CPUS];

/// Which CPUs are done: whose ticks, which go on while it is idle, are of no interest, and add nothing while samples are sent.
static IS_DONE: [AtomicBool; MAX_CPUS] = [const { AtomicBool::new(false) }; MAX_CPUS];

/// How many CPUs are done.
static DONE: AtomicUsize = AtomicUsize::new(0);

/// Works on all CPUs, and sends what was seen.
#[inline(never)]
pub fn run() {
    SAMPLER.call_once(|| Sampler::new(&POSTMORTEM, &CACHE));
    timer::handle_with(sample);
    cpus::others().for_each(|cpu| cpus::run_on(cpu, work));
    work();
    while DONE.load(Ordering::Acquire) < cpus::online().count() {
        core::hint::spin_loop();
    }
    for cpu in cpus::online() {
        let [none, hard, easy] = COUNTS[cpu].each_ref().map(|it| it.load(Ordering::Relaxed));
        println!(
            "cpu {cpu}: {hard} samples in function `hard`, {easy} samples in function `easy`, {none} samples outside both functions"
        );
        let took = TOOK[cpu].load(Ordering::Relaxed);
        let each = took.checked_div((none + hard + easy).into());
        // How long that is, only AArch64 knows.
        println!(
            "average time to take one sample: {ticks} ticks of the CPU's time counter",
            ticks = each.unwrap_or(0)
        );
        if let Some(sampler) = SAMPLER.get() {
            sampler.send(&SAMPLES[cpu], cpu, TICKS_PER_SECOND);
        }
    }
}

/// At every tick.
fn sample(frame: &mut TrapFrame) {
    let this = cpus::this();
    if IS_DONE[this].load(Ordering::Relaxed) {
        return;
    }
    let does = DOES[this].load(Ordering::Relaxed);
    COUNTS[this][usize::from(does)].fetch_add(1, Ordering::Relaxed);
    if let Some(sampler) = SAMPLER.get() {
        let begin = cpu::ticks();
        sampler.sample(&SAMPLES[this], frame);
        TOOK[this].fetch_add(cpu::ticks().wrapping_sub(begin), Ordering::Relaxed);
    }
    // A CPU that takes longer for a sample than from one tick to the next would do nothing else.
    arch::timer::rearm(TICKS_PER_SECOND);
}

#[inline(never)]
fn work() {
    let this = cpus::this();
    let count = super::ARGUMENT.get().copied().unwrap_or(COUNT);
    timer::start();
    cpu::unmask_interrupts();
    let taken = || {
        let counts = COUNTS[this].iter();
        counts
            .map(|count| count.load(Ordering::Relaxed))
            .sum::<u32>()
    };
    while taken() < count {
        DOES[this].store(1, Ordering::Relaxed);
        hard();
        DOES[this].store(2, Ordering::Relaxed);
        easy();
        DOES[this].store(0, Ordering::Relaxed);
    }
    cpu::mask_interrupts();
    IS_DONE[this].store(true, Ordering::Relaxed);
    DONE.fetch_add(1, Ordering::Release);
}

/// Three times as much as [`easy`].
#[inline(never)]
fn hard() {
    for _ in 0..3 {
        black_box(rounds(black_box(10_000)));
    }
}

#[inline(never)]
fn easy() {
    black_box(rounds(black_box(10_000)));
    black_box(());
}

#[inline(never)]
fn rounds(count: u64) -> u64 {
    (0..count).fold(0, |sum, round| black_box(sum ^ round))
}
