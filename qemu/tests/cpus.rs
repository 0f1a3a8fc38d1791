//! Several CPUs: all are started, and one that reports stops and traces the others, on both architectures, in debug and
//! release.

mod support;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot, Verdict};
use qemu::workspace;
use support::at_entry;
use support::built::{emulator, image};
use support::each::kernel_tests;
use support::monitor;
use support::report::Report;
use support::runner::{Ran, run};
use support::trace;

kernel_tests! { every_and_plain:
    every_cpu_is_started,
    an_nmi_in_a_tight_loop_is_reported_for_all_and_returns,
    a_panic_is_reported_while_another_cpu_holds_the_console,
    two_panics_at_once_are_two_whole_reports,
    two_breakpoints_at_once_are_two_whole_reports,
    a_cpu_that_does_not_answer_is_named,
    a_hang_with_interrupts_masked_is_found_by_another_cpu,
}

fn boot(kernel: Kernel, cpus: u32, scenario: &str) -> Ran {
    let image = image(kernel);
    let cpus = cpus.to_string();
    run([
        "--image".as_ref(),
        image.as_os_str(),
        "--cpus".as_ref(),
        cpus.as_ref(),
        scenario.as_ref(),
    ])
}

/// The reports of so many CPUs, each whole: complete, and from its CPU's entry function on.
#[track_caller]
fn reports(kernel: Kernel, ran: &Ran, count: usize) -> Vec<Report> {
    let reports = Report::find_all(&ran.serial);
    assert_eq!(
        reports.len(),
        count,
        "{kernel:?}: reports in:\n{}",
        ran.text()
    );
    for report in &reports {
        report.expect_complete();
        let entry = report.names().last().copied();
        let entries = ["kernel_entry", "start_entry", "start_high"];
        assert!(
            entry.is_some_and(|name| entries.contains(&name)),
            "{entry:?} in:\n{}",
            ran.text()
        );
    }
    reports
}

/// Fails unless the report is exactly this trace: of CPU 0, from the kernel's entry on; of another one, of what it was
/// given to do by the closure, or else the function, that has this name.
#[track_caller]
fn expect_trace(kernel: Kernel, report: &Report, trace: &str, job: Option<&str>) {
    let Some(job) = job else {
        trace::expect(kernel, report, trace, "complete, ");
        return;
    };
    let letters = match job.contains("{closure") {
        true => "r~",
        false => "r",
    };
    let whole = format!("{trace}\n{letters} {job}\n= cpu");
    trace::expect_whole(kernel, report, &whole, "complete, ");
}

const PANIC: &str = "= panic";

const LOOP: &str = "
    p bad_loop
    r kernel::scenario::others::tight_loop
";

#[track_caller]
fn expect_name(report: &Report, name: &str) {
    assert!(
        report.names().contains(&name),
        "no {name} in {:?}",
        report.names()
    );
}

fn every_cpu_is_started(kernel: Kernel) {
    for cpus in [1, 8] {
        let ran = boot(kernel, cpus, "cpus").expect(0);
        let text = ran.text();
        let mut numbers: Vec<u32> = text
            .lines()
            .filter_map(|line| {
                let (number, _) = line
                    .strip_prefix("cpu ")?
                    .split_once(" is there, known to the hardware as 0x")?;
                number.parse().ok()
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(
            numbers,
            (0..cpus).collect::<Vec<_>>(),
            "{kernel:?}:\n{text}"
        );
    }
}

/// A machine of two, whose device tree has four: one is there twice, or all are different.
#[test]
fn a_wrong_list_of_cpus_does_no_harm() {
    let kernel = Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Debug,
    };
    let tree = workspace::root().join("kernel/portable/tests/data/virt-4.dtb");
    let tree = std::fs::read(tree).expect("the tree is there");
    let node = tree.windows(6).position(|name| name == b"cpu@3\0");
    let node = node.expect("CPU 3 is there");
    // Its property `reg`: a token, four bytes, a name that does not matter here, and 3.
    let is_its = |end: &usize| {
        let (words, value) = tree[end - 16..*end].split_at(12);
        words[..8] == [0, 0, 0, 3, 0, 0, 0, 4] && value == [0, 0, 0, 3]
    };
    let end = (node + 16..tree.len()).find(is_its);
    let end = end.expect("it has a number");
    for (id, absent) in [(1, &[2][..]), (3, &[2, 3])] {
        let mut tree = tree.clone();
        tree[end - 1] = id;
        let mut file = tempfile::NamedTempFile::new().expect("a file can be made");
        file.write_all(&tree).expect("the file can be written");
        let output = Command::new(emulator(Arch::Aarch64))
            .args(["-M", "virt", "-cpu", "cortex-a72", "-m", "256", "-smp", "2"])
            .args(["-display", "none", "-semihosting", "-monitor", "none"])
            .args(["-serial", "stdio", "-append", "busy", "-dtb"])
            .arg(file.path())
            .arg("-kernel")
            .arg(image(kernel))
            .stdin(Stdio::null())
            .output()
            .expect("QEMU starts");
        let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
        assert_eq!(output.status.code(), Some(33), "{text}");
        let says = absent
            .iter()
            .map(|cpu| format!("cpu {cpu}, known to the hardware as {cpu:#x}, does not start\n"));
        let begin = "kernel on virt, aarch64: scenario busy\n".to_owned();
        let begin: String = [begin].into_iter().chain(says).collect();
        assert!(text.starts_with(&begin), "{text}");
        assert_eq!(
            text.matches("does not start").count(),
            absent.len(),
            "{text}"
        );
    }
}

/// A PC has no firmware that knows which CPUs there are: nobody answers for one that is only on the list.
#[test]
fn absent_cpus_of_a_pc_cost_one_wait_and_leave_no_epitaph() {
    let kernel = Kernel {
        arch: Arch::X86_64,
        profile: Profile::Release,
    };
    let since = at_entry::boot(kernel, "cpus", &["-smp", "2,maxcpus=5"], |memory| {
        let rsdp = memory.find(0xe_0000, 0x10_0000, b"RSD PTR ");
        let rsdt = memory.word(rsdp + 16);
        let tables = (rsdt + 36..rsdt + memory.word(rsdt + 4)).step_by(4);
        let mut tables = tables.map(|at| memory.word(at)).collect::<Vec<_>>();
        tables.retain(|table| memory.read(*table, 4) == b"APIC");
        let &[madt] = &*tables else {
            panic!("tables of CPUs: {tables:x?}");
        };
        let mut at = madt + 44;
        let mut turned_on = 0;
        while at < madt + memory.word(madt + 4) {
            let head = memory.read(at, 2);
            // Those that could be plugged in later: listed, and marked as not there.
            if head[0] == 0 && memory.word(at + 4) & 1 == 0 {
                memory.write(at + 4, &[1]);
                turned_on += 1;
            }
            at += u64::from(head[1]);
        }
        assert_eq!(turned_on, 3);
    });
    let text = String::from_utf8_lossy(&since.booted.serial);
    assert_eq!(since.booted.verdict, Verdict::Success, "{text}");
    let absent: String = (2..5)
        .map(|cpu| format!("cpu {cpu}, known to the hardware as {cpu:#x}, does not start\n"))
        .collect();
    let begin = format!("kernel on pc, x86_64: scenario cpus\n{absent}");
    assert!(text.starts_with(&begin), "{text}");
    assert_eq!(text.matches(" is there, known to ").count(), 2, "{text}");
    // Each had ten seconds by a clock that is slower than it says.
    assert!(since.took < Duration::from_secs(15), "{:?}", since.took);
}

/// `virt` needs a GIC of version 3 for more than eight CPUs; begun at EL2, the kernel has to let itself use it.
#[test]
fn a_gic_of_version_3_does_all_that_one_of_version_2_does() {
    let kernel = Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Release,
    };
    let image = image(kernel);
    let version3: &[&str] = &["-machine", "gic-version=3"];
    let at_el2: &[&str] = &["-machine", "gic-version=3,virtualization=on"];
    for (scenario, cpus, more, last) in [
        // Those that the kernel has no room for stay where they are.
        ("cpus", 9, version3, " is there, known to the hardware as "),
        ("nmi", 2, version3, "went on after the NMI\n"),
        (
            "tasks",
            1,
            at_el2,
            "3 visitors came, and all tasks have ended\n",
        ),
    ] {
        let boot = Boot {
            cpus,
            limit: Some(Duration::from_secs(120)),
            more,
            ..Boot::new(kernel.arch, &image, scenario)
        };
        let booted = boot.run(&emulator(kernel.arch), &mut std::io::sink());
        let booted = booted.expect("QEMU starts");
        let text = String::from_utf8_lossy(&booted.serial);
        assert_eq!(booted.verdict, Verdict::Success, "{text}");
        assert!(text.contains(last), "{text}");
        assert_eq!(
            text.matches(" is there, known to ").count(),
            if cpus == 9 { 8 } else { 0 }
        );
        let reports = Report::find_all(&booted.serial);
        assert_eq!(
            reports.len(),
            match scenario {
                "nmi" => 2,
                "tasks" => 7,
                _ => 0,
            },
            "{text}"
        );
        reports.iter().for_each(Report::expect_complete);
    }
}

/// The button is a device's interrupt, which goes to one CPU after the other.
#[test]
fn a_gic_of_version_3_routes_the_button() {
    let kernel = Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Release,
    };
    let image = image(kernel);
    let boot = Boot {
        cpus: 3,
        limit: Some(Duration::from_secs(120)),
        more: &["-machine", "gic-version=3"],
        ..Boot::new(kernel.arch, &image, "busy 4000000000")
    };
    let (booted, ()) = monitor::with(boot, |machine| {
        machine.wait_for("all CPUs work");
        for cpu in [0, 1, 2, 0] {
            // QEMU lets the button go after a tenth of a second of the machine's time.
            while !machine
                .command("xp /1wx 0x9030020")
                .trim()
                .ends_with("0x00000000")
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            machine.command("system_powerdown");
            machine.wait_for(&format!("interrupted on cpu {cpu} at "));
            (0..3).for_each(|_| machine.wait_for("\nend of backtrace: complete"));
        }
    });
    assert_eq!(Report::find_all(&booted.serial).len(), 12);
}

fn an_nmi_in_a_tight_loop_is_reported_for_all_and_returns(kernel: Kernel) {
    let ran = boot(kernel, 2, "nmi").expect(0);
    let reports = reports(kernel, &ran, 2);
    assert!(
        reports[0].panicked.starts_with("interrupted on cpu 1 at "),
        "{}",
        ran.text()
    );
    assert!(
        reports[1]
            .panicked
            .starts_with("cpu 0, task main, stopped at "),
        "{}",
        ran.text()
    );
    let job = "kernel::scenario::others::nmi::{closure#0}";
    expect_trace(kernel, &reports[0], LOOP, Some(job));
    expect_name(&reports[1], "kernel::scenario::others::nmi");
    assert!(
        ran.text().ends_with("went on after the NMI\n"),
        "{}",
        ran.text()
    );
}

fn a_panic_is_reported_while_another_cpu_holds_the_console(kernel: Kernel) {
    let ran = boot(kernel, 2, "console-held").expect(101);
    let reports = reports(kernel, &ran, 2);
    let text = ran.text();
    // The line that was begun is ended, and no other is broken.
    assert!(
        text.contains("\nthis line has a begin\npanicked at "),
        "{text}"
    );
    assert!(!text.contains("and an end"), "{text}");
    assert!(text.contains("\ncpu 1, task main1, "), "{text}");
    assert!(
        reports[1]
            .panicked
            .starts_with("cpu 0, task main, stopped at "),
        "{text}"
    );
    let job = "<kernel::scenario::others::Endless as core::fmt::Display>::fmt::{closure#0}";
    expect_trace(kernel, &reports[0], PANIC, Some(job));
    expect_name(&reports[1], "kernel::scenario::others::console_held");
}

fn two_panics_at_once_are_two_whole_reports(kernel: Kernel) {
    let ran = boot(kernel, 2, "two-panics").expect(101);
    let reports = reports(kernel, &ran, 2);
    assert!(
        reports[0].panicked.ends_with(": one of two"),
        "{}",
        ran.text()
    );
    // It was stopped on its way to the panic, or had come to it.
    let other = &reports[1].panicked;
    assert!(
        other.contains(", stopped at ") || other.contains(", failed too: panicked at "),
        "{other}"
    );
    let job = "kernel::scenario::others::two_panics::meet_and_panic";
    if other.starts_with("cpu 1, ") {
        let trace = format!("{PANIC}\nr {job}\nr kernel::scenario::others::two_panics");
        expect_trace(kernel, &reports[0], &trace, None);
    } else {
        expect_trace(kernel, &reports[0], PANIC, Some(job));
    }
    expect_name(&reports[1], job);
    assert_eq!(
        ran.text().matches("first failure: panicked at ").count(),
        1,
        "{}",
        ran.text()
    );
}

fn two_breakpoints_at_once_are_two_whole_reports(kernel: Kernel) {
    let ran = boot(kernel, 2, "two-breakpoints").expect(0);
    let reports = reports(kernel, &ran, 2);
    let mut cpus: Vec<_> = reports
        .iter()
        .filter_map(|report| report.panicked.strip_prefix("breakpoint on cpu ")?.get(..1))
        .collect();
    cpus.sort_unstable();
    assert_eq!(cpus, ["0", "1"], "{}", ran.text());
    for report in &reports {
        let job = "p kernel::scenario::others::two_breakpoints::meet_and_stop";
        if report.panicked.starts_with("breakpoint on cpu 0 ") {
            let trace = format!("{job}\nr kernel::scenario::others::two_breakpoints");
            expect_trace(kernel, report, &trace, None);
        } else {
            let whole = format!("{job}\n= cpu");
            trace::expect_whole(kernel, report, &whole, "complete, ");
        }
    }
    assert!(ran.text().ends_with("\nboth went on\n"), "{}", ran.text());
}

fn a_cpu_that_does_not_answer_is_named(kernel: Kernel) {
    let ran = boot(kernel, 3, "silent-cpu").expect(101);
    let reports = reports(kernel, &ran, 2);
    let trace = format!("{PANIC}\nr kernel::scenario::others::silent_cpu");
    expect_trace(kernel, &reports[0], &trace, None);
    assert!(
        reports[1]
            .panicked
            .starts_with("cpu 2, task main2, stopped at "),
        "{}",
        ran.text()
    );
    assert!(
        ran.text().contains("\ncpu 1 does not answer\n"),
        "{}",
        ran.text()
    );
}

fn a_hang_with_interrupts_masked_is_found_by_another_cpu(kernel: Kernel) {
    let ran = boot(kernel, 3, "hang").expect(101);
    let reports = reports(kernel, &ran, 3);
    let text = ran.text();
    let [hanging, finder, idle] = &*reports else {
        panic!("{kernel:?}: three reports in:\n{text}");
    };
    assert!(hanging.panicked.starts_with("hang on cpu 1: "), "{text}");
    let job = "kernel::scenario::others::hang::{closure#0}";
    expect_trace(kernel, hanging, LOOP, Some(job));
    // CPU 0 watches CPU 1; and says what its own task waits for, and who has that.
    let words = "cpu 0, task main, stopped at its tick, waits for lock ledger, which task main1 holds since kernel/src/scenario/others.rs:";
    assert!(finder.panicked.starts_with(words), "{text}");
    expect_name(finder, "kernel::scenario::others::hang");
    assert!(
        idle.panicked.starts_with("cpu 2, task main2, stopped at "),
        "{text}"
    );
    let holder = "\ntask main1: runs on cpu 1\n";
    assert!(text.contains(holder), "{text}");
}
