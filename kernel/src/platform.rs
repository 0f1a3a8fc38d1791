//! What this kernel is to the code that reports its death.

use core::fmt::{self, Write};
use core::hint::black_box;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;

use postmortem::{Image, PerCpu, Platform, Postmortem, Region, Stack, Task, Walk, capture};

use crate::arch::{cpu, exit, interrupts};
use crate::verdict::Verdict;
use crate::{board, cpus, frames, image, interrupt, stacks, task};

/// All reports come from here.
pub static POSTMORTEM: Postmortem = Postmortem::new(&Kernel, &PER_CPU)
    .with_last_words(&REGION)
    .with_traces(write_trace);

static PER_CPU: [PerCpu; cpus::MOST] = [const { PerCpu::new() }; cpus::MOST];

/// What was printed last, but for traces that are sent as frames (`frames.rs`): they are no text. In no segment of the image
/// (`.epitaph` in `arch/*/link.ld`), so that nobody loads or clears it.
#[unsafe(link_section = ".epitaph")]
pub static REGION: Region = Region::new();

/// Whether traces have the registers of everything that was interrupted: many lines, which are asked for.
static HAS_REGISTERS: AtomicBool = AtomicBool::new(false);

/// Whether traces come as markup for a symbolizer, too.
static HAS_MARKUP: AtomicBool = AtomicBool::new(false);

/// Whether the machine is reset after a report.
static RESETS: AtomicBool = AtomicBool::new(false);

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    POSTMORTEM.panic(info, capture())
}

/// Writes a report of every task.
#[inline(never)]
pub fn write_tasks(out: &mut dyn Write) -> fmt::Result {
    // No tail call: the frame whose registers are captured has to be there as long as they are walked from.
    black_box(POSTMORTEM.write_tasks(out, capture()))
}

/// Traces have the registers of everything that was interrupted, from now on or no longer.
pub fn show_registers(yes: bool) {
    HAS_REGISTERS.store(yes, Ordering::Relaxed);
}

/// Traces come as markup too, from now on.
pub fn show_markup() {
    HAS_MARKUP.store(true, Ordering::Relaxed);
}

/// Resets the machine after a report, instead of leaving with a verdict: what a kernel does that nobody looks after.
pub fn reset_at_end() {
    RESETS.store(true, Ordering::Relaxed);
}

struct Kernel;

// SAFETY: a CPU's number is in a register of its own, and less than `cpus::MOST`. All stacks are statics.
unsafe impl Platform for Kernel {
    fn write(&self, bytes: &[u8]) {
        board::write(bytes);
    }

    fn leave(&self) -> ! {
        if RESETS.load(Ordering::Relaxed) {
            board::reset();
        }
        exit::leave(Verdict::Panicked)
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
        interrupts::send_nmi(cpus::hardware_id(cpu) as u32);
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
        task::MOST
    }

    fn task(&self, number: usize) -> Option<Task<'_>> {
        task::describe(number)
    }

    fn interrupt_name(&self, number: u64) -> Option<&'static str> {
        interrupt::name(number)
    }
}

/// In the forms that were asked for.
fn write_trace(walk: &Walk, out: &mut dyn Write) -> fmt::Result {
    if frames::are_used() {
        return frames::send_trace(walk);
    }
    walk.write(out, HAS_REGISTERS.load(Ordering::Relaxed))?;
    match HAS_MARKUP.load(Ordering::Relaxed) {
        true => walk.write_markup(out),
        false => Ok(()),
    }
}
