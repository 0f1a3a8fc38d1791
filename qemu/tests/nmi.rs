//! A busy kernel on four CPUs is interrupted from outside, at random moments, and says of every CPU what it was doing: each
//! list is complete, begins where the machine stood, and has only callers whose code calls the frame before.
//!
//! ```sh
//! NMI_MOMENTS=1000 cargo test -p qemu --test nmi    # as many of each kernel as one likes; a thousand take some minutes
//! ```

mod support;

use std::time::Duration;

use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot};
use support::built;
use support::calls::Calls;
use support::each::kernel_tests;
use support::monitor;
use support::report::Report;

const CPUS: usize = 4;

kernel_tests! { release_or_long:
    every_cpu_is_traced_at_any_moment,
}

/// The program counters of all CPUs when the interrupt was raised; those that get it themselves, not from another CPU.
#[derive(Debug)]
struct Moment {
    counters: Vec<u64>,
    interrupted: Vec<usize>,
}

fn every_cpu_is_traced_at_any_moment(kernel: Kernel) {
    let count = match std::env::var("NMI_MOMENTS") {
        Ok(number) => number.parse().expect("NMI_MOMENTS is a number"),
        // A report of a debug kernel takes a second.
        Err(_) => match kernel.profile {
            Profile::Debug => 15,
            _ => 60,
        },
    };
    let image = built::image(kernel);
    let boot = Boot {
        cpus: CPUS as u32,
        limit: Some(Duration::from_secs(120 + 10 * count)),
        ..Boot::new(kernel.arch, &image, "busy 4000000000")
    };
    let (booted, moments) = monitor::with(boot, |machine| {
        machine.wait_for("all CPUs work");
        let moment = |number| interrupt(kernel.arch, machine, number);
        (0..count as usize).map(moment).collect::<Vec<_>>()
    });

    let calls = Calls::of(&image);
    let reports = Report::find_all(&booted.serial);
    let mut reports = reports.iter().peekable();
    let (mut exact, mut expected) = (0, 0);
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
        for cpu in &moment.interrupted {
            let pc = of[*cpu].and_then(|report| report.frames.first());
            expected += 1;
            exact += u32::from(pc.map(|frame| frame.address) == Some(moment.counters[*cpu]));
        }
    }
    if let Some(more) = reports.next() {
        panic!("{kernel:?}: one report more: {}", more.panicked);
    }
    let traces = moments.len() * CPUS;
    eprintln!(
        "{kernel:?}: {traces} traces fit the code, {exact} of {expected} begin where the CPU stood"
    );
    // The others were still on their way out of the last interrupt, which takes long on a busy host, or had masked them, and
    // went on first.
    assert!(
        exact * 4 > expected,
        "{kernel:?}: {exact} of {expected} begin where the CPU stood"
    );
}

/// Stops the machine, raises the interrupt, and waits for the report of all CPUs.
fn interrupt(arch: Arch, machine: &mut monitor::Machine, number: usize) -> Moment {
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
    let counters = machine.program_counters();
    assert_eq!(counters.len(), CPUS);
    let (interrupt, interrupted) = match arch {
        Arch::X86_64 => ("nmi", (0..CPUS).collect()),
        // The button goes to one CPU after the other.
        Arch::Aarch64 => ("system_powerdown", vec![number % CPUS]),
    };
    machine.command(interrupt);
    machine.command("cont");
    (0..CPUS).for_each(|_| machine.wait_for("\nend of backtrace"));
    Moment {
        counters,
        interrupted,
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
