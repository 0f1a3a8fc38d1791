//! A kernel on four CPUs, which work, or run tasks that come and go on all of them, is interrupted from outside, at random moments,
//! and says of every CPU what it was doing: each list is complete, begins where the CPU stood, if it did not mask interrupts, and
//! has only callers whose code calls the frame before.
//!
//! ```sh
//! NMI_MOMENTS=1000 cargo test --test gate nmi::    # as many of each kernel as one likes; a thousand take some minutes
//! ```

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use object::{Architecture, Object};

use crate::support::at_entry::{self, Memory};
use crate::support::built;
use crate::support::calls::Calls;
use crate::support::each::kernel_tests;
use crate::support::monitor;
use crate::support::report::Report;
use crate::support::symbols;
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot, Verdict};

const CPUS: usize = 4;

kernel_tests! { one_each:
    every_cpu_is_traced_at_any_moment,
    tasks_are_traced_at_any_moment,
}

/// Where CPUs stood when the interrupt was raised.
#[derive(Debug)]
struct Moment {
    /// CPU and program counter of those that must have been interrupted there, at once.
    interrupted: Vec<(usize, u64)>,
    /// How many got it later.
    masked: usize,
}

fn every_cpu_is_traced_at_any_moment(kernel: Kernel) {
    interrupt_often(kernel, "busy", "all CPUs are working");
}

fn tasks_are_traced_at_any_moment(kernel: Kernel) {
    interrupt_often(kernel, "crowd", "tasks run on all CPUs");
}

/// Interrupts this scenario, once it has said that it has begun.
fn interrupt_often(kernel: Kernel, scenario: &str, begins: &str) {
    let count = match std::env::var("NMI_MOMENTS") {
        Ok(number) => number.parse().expect("NMI_MOMENTS is a number"),
        // A report of a debug kernel takes a second.
        Err(_) => match kernel.profile {
            Profile::Debug => 15,
            _ => 60,
        },
    };
    let image = built::image(kernel);
    let nmi_stacks = nmi_stacks(&image);
    let command_line = format!("{scenario} 4000000000");
    let boot = Boot {
        cpus: CPUS as u32,
        limit: Some(Duration::from_secs(120 + 10 * count)),
        ..Boot::new(kernel.arch, &image, &command_line)
    };
    let (booted, moments) = monitor::with(boot, |machine| {
        machine.wait_for(begins);
        let (mut moments, mut exact, mut masked) = (Vec::new(), 0, 0);
        // On a busy host a CPU can have masked interrupts at most moments. So there are more of them until enough CPUs were
        // interrupted where they stood.
        while moments.len() < count as usize || exact <= masked / 2 {
            let moment = interrupt(kernel.arch, machine, &nmi_stacks, moments.len());
            exact += moment.interrupted.len();
            masked += moment.masked;
            moments.push(moment);
        }
        moments
    });

    let calls = Calls::of(&image);
    let reports = Report::find_all(&booted.serial);
    let mut reports = reports.iter().peekable();
    let (mut exact, mut masked) = (0, 0);
    for (number, moment) in moments.iter().enumerate() {
        let context = format!("{kernel:?}, moment {number}");
        let first = reports
            .next()
            .unwrap_or_else(|| panic!("{context}: no report"));
        let reporter = number_after(&first.panicked, "interrupted on cpu ");
        let mut of = [None; CPUS];
        of[reporter] = Some(first);
        while let Some(report) = reports.next_if(|report| report.panicked.starts_with("cpu ")) {
            of[number_after(&report.panicked, "cpu ")] = Some(report);
        }
        for (cpu, report) in of.iter().enumerate() {
            let report = report.unwrap_or_else(|| panic!("{context}: nothing of CPU {cpu}"));
            report.expect_complete();
            if let Err(why) = calls.check(report) {
                panic!("{context}, CPU {cpu}: {why} in:\n{}", report.text);
            }
        }
        for (cpu, pc) in &moment.interrupted {
            let report = of[*cpu].expect("looked at above");
            let found = report.frames.first().map(|frame| frame.address);
            assert_eq!(found, Some(*pc), "{context}, CPU {cpu}:\n{}", report.text);
        }
        exact += moment.interrupted.len();
        masked += moment.masked;
    }
    if let Some(more) = reports.next() {
        panic!("{kernel:?}: one report more: {}", more.panicked);
    }
    let traces = moments.len() * CPUS;
    eprintln!(
        "{kernel:?}: {traces} traces fit the code; {exact} CPUs were interrupted where they stood, {masked} later"
    );
}

/// The stacks that x86-64 handles NMIs on: on them, no other NMI comes.
fn nmi_stacks(image: &Path) -> Range<u64> {
    let data = std::fs::read(image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    match file.architecture() {
        Architecture::X86_64 => {
            let stacks = symbols::array(&file, "STACKS_NMI");
            stacks.first..stacks.first + stacks.stride * stacks.count
        }
        _ => 0..0,
    }
}

/// Stops the machine, raises the interrupt, and waits for the report of all CPUs.
fn interrupt(
    arch: Arch,
    machine: &mut monitor::Machine,
    nmi_stacks: &Range<u64>,
    number: usize,
) -> Moment {
    /// In AArch64's PSTATE: FIQ are masked.
    const F: u64 = 1 << 6;
    /// The data register of the board's GPIO controller, as QEMU's monitor reads it.
    const BUTTON: &str = "xp /1wx 0x9030020";
    if arch == Arch::Aarch64 {
        // QEMU lets the button go after a tenth of a second of the machine's time.
        while !machine.command(BUTTON).trim().ends_with("0x00000000") {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    std::thread::sleep(Duration::from_micros(fastrand::u64(..20_000)));
    machine.command("stop");
    let cpus = machine.registers();
    assert_eq!(cpus.len(), CPUS);
    let (interrupt, reached) = match arch {
        Arch::X86_64 => ("nmi", 0..CPUS),
        // The button goes to one CPU after the other, which then stops the rest.
        Arch::Aarch64 => ("system_powerdown", number % CPUS..number % CPUS + 1),
    };
    let (masked, at_once): (Vec<_>, Vec<_>) = reached.partition(|cpu| match arch {
        Arch::X86_64 => nmi_stacks.contains(&(cpus[*cpu]["RSP"] - 1)),
        Arch::Aarch64 => cpus[*cpu]["PSTATE"] & F != 0,
    });
    machine.command(interrupt);
    machine.command("cont");
    for _ in 0..CPUS {
        machine.wait_for("\nend of backtrace");
        // The machine may be ended after the last one, and must have sent all of the line.
        machine.wait_for("\n");
    }
    let counter = match arch {
        Arch::X86_64 => "RIP",
        Arch::Aarch64 => "PC",
    };
    let at_once = at_once.into_iter();
    Moment {
        interrupted: at_once.map(|cpu| (cpu, cpus[cpu][counter])).collect(),
        masked: masked.len(),
    }
}

fn number_after(line: &str, prefix: &str) -> usize {
    let rest = line
        .strip_prefix(prefix)
        .unwrap_or_else(|| panic!("no {prefix:?}: {line}"));
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("no number: {line}"))
}

/// Before there are handlers: the first NMI comes when the kernel has set up paging, but no stack.
#[gate]
fn an_nmi_before_there_are_handlers_does_not_reset_the_machine() {
    let kernel = Kernel {
        arch: Arch::X86_64,
        profile: Profile::Release,
    };
    for function in ["boot_paging", "kernel_entry"] {
        let booted = at_entry::boot_to(kernel, function, "ok", &[], Memory::nmi);
        let text = String::from_utf8_lossy(&booted.serial);
        assert_eq!(booted.verdict, Verdict::Success, "{function}: {text}");
    }
}
