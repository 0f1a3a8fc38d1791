//! The kernel's implementation of `postmortem`'s platform, and the static that writes all reports.

use core::fmt::{self, Write};
use core::hint::black_box;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;

use postmortem::{Image, PerCpu, Platform, Postmortem, Range, Region, Stack, Task, Walk, capture};

use crate::arch::{cpu, exit, interrupts};
use crate::crash_screen::SCREEN;
use crate::interrupt::Masked;
use crate::sabotage::Sabotaged;
use crate::verdict::Verdict;
use crate::{board, cpus, crash_screen, frames, image, interrupt, sabotage, stacks, task, wire};

/// Writes all reports.
pub static POSTMORTEM: Postmortem = Postmortem::new(&Sabotaged(Kernel), &PER_CPU)
    .with_last_words(&REGION)
    .with_traces(write_trace)
    .with_dump(is_dumped);

static PER_CPU: [PerCpu; cpus::MAX_CPUS] = [const { PerCpu::new() }; cpus::MAX_CPUS];

/// Keeps what was printed last, except traces sent as log frames, which are not text. Its section `.epitaph` is in no segment
/// of the image, so that a boot neither loads nor clears it.
#[unsafe(link_section = ".epitaph")]
pub static REGION: Region = Region::new();

/// Whether traces include the registers of every interrupted frame: many lines, so they are optional.
static HAS_REGISTERS: AtomicBool = AtomicBool::new(false);

/// The characters of a line of traces in the compact form; 0 for the usual form.
static WIDTH: AtomicUsize = AtomicUsize::new(0);

/// Whether traces are also written as markup for a symbolizer.
static HAS_MARKUP: AtomicBool = AtomicBool::new(false);

/// Whether a report is followed by a dump.
static IS_DUMPED: AtomicBool = AtomicBool::new(false);

fn is_dumped() -> bool {
    sabotage::trip("dump-wanted");
    IS_DUMPED.load(Ordering::Relaxed)
}

/// Whether to reset the machine at the end.
static RESETS: AtomicBool = AtomicBool::new(false);

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    POSTMORTEM.panic(info, capture())
}

/// Writes a report of every task.
#[inline(never)]
pub fn write_tasks(out: &mut dyn Write) -> fmt::Result {
    let _masked = Masked::new();
    // `black_box` prevents a tail call: the captured frame must exist while it is walked from.
    black_box(POSTMORTEM.write_tasks(out, capture()))
}

/// Sets whether traces include the registers of every interrupted frame.
pub fn show_registers(yes: bool) {
    HAS_REGISTERS.store(yes, Ordering::Relaxed);
}

/// Makes traces be written in the compact form from now on, in lines of so many characters.
pub fn use_width(width: usize) {
    WIDTH.store(width, Ordering::Relaxed);
}

/// Makes traces also be written as markup from now on.
pub fn show_markup() {
    HAS_MARKUP.store(true, Ordering::Relaxed);
}

/// Makes a dump follow the report that ends the kernel.
pub fn dump_at_end() {
    IS_DUMPED.store(true, Ordering::Relaxed);
}

/// Makes the kernel end with a reset instead of a verdict, as one that runs unattended.
pub fn reset_at_end() {
    RESETS.store(true, Ordering::Relaxed);
}

/// Ends the kernel: with a reset after [`reset_at_end`], otherwise with the verdict.
pub fn leave(verdict: Verdict) -> ! {
    if RESETS.load(Ordering::Relaxed) {
        board::reset();
    }
    exit::leave(verdict)
}

struct Kernel;

// SAFETY: a CPU's number is constant, unique and less than `cpus::MAX_CPUS`, the length of `PER_CPU`. All stacks are statics,
// and what is noted is the section of statics, so their words are memory.
unsafe impl Platform for Kernel {
    fn write(&self, bytes: &[u8]) {
        wire::write(bytes);
        SCREEN.write(bytes);
    }

    fn report_begins(&self, begun: &str) {
        SCREEN.begin();
        SCREEN.write(begun.as_bytes());
    }

    fn report_ends(&self) {
        SCREEN.end();
    }

    fn leave(&self) -> ! {
        if !RESETS.load(Ordering::Relaxed) {
            crash_screen::show(&|out, pc| POSTMORTEM.write_code(out, pc), &|words| {
                POSTMORTEM.write(words)
            });
        }
        leave(Verdict::Panicked)
    }

    fn image(&self) -> Image {
        image::image()
    }

    fn stack(&self, index: usize) -> Option<Stack> {
        stacks::get(index)
    }

    fn cpu(&self) -> usize {
        cpus::this()
    }

    fn is_online(&self, cpu: usize) -> bool {
        cpus::is_online(cpu)
    }

    fn send_nmi(&self, cpu: usize) {
        interrupts::send_nmi(cpu);
    }

    fn now(&self) -> Option<Duration> {
        let (ticks, rate) = (cpu::ticks(), cpu::ticks_per_second());
        let seconds = ticks.checked_div(rate)?;
        let nanoseconds = ticks % rate * 1_000_000_000 / rate;
        Some(Duration::new(seconds, nanoseconds as u32))
    }

    fn current_task(&self, cpu: usize) -> usize {
        task::on(cpu)
    }

    fn tasks(&self) -> usize {
        task::MAX_TASKS
    }

    fn task(&self, number: usize) -> Option<Task<'_>> {
        task::describe(number)
    }

    fn noted(&self, index: usize) -> Option<Range> {
        (index == 0).then(image::data)
    }

    fn interrupt_name(&self, number: u64) -> Option<&'static str> {
        interrupt::name(number)
    }
}

/// Writes a trace in the forms that were asked for, and then keeps it for the screen.
fn write_trace(walk: &Walk, out: &mut dyn Write) -> fmt::Result {
    sabotage::trip("trace");
    let gets_frames = frames::are_used();
    match (gets_frames, WIDTH.load(Ordering::Relaxed)) {
        (true, _) => frames::send_trace(walk)?,
        (false, 0) => walk.write(out, HAS_REGISTERS.load(Ordering::Relaxed))?,
        (false, width) => walk.write_compact(out, width)?,
    }
    if HAS_MARKUP.load(Ordering::Relaxed) && !gets_frames {
        walk.write_markup(out)?;
    }
    crash_screen::keep(walk, gets_frames)
}
