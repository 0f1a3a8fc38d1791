//! Each call into the kernel that a report makes fails, in each way that a host can show.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use super::cpus::in_cpu1;
use super::machine::{CPU, frame};
use crate::{Image, PerCpu, Platform, Postmortem, Section, Stack, Task};

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Faults,
    /// A breakpoint, from which the call returns.
    Reenters,
    NeverReturns,
    /// Another CPU ticks meanwhile, ten times a second.
    OtherTicks,
}

/// A kernel on the host with two CPUs, the second of which does not answer.
struct Sabotaged {
    /// The method that fails, each time that it is called.
    method: &'static str,
    way: Way,
    postmortem: Mutex<Option<&'static Postmortem>>,
    text: Mutex<String>,
    /// The text has changed, or a call does not return.
    changed: Condvar,
    has_left: AtomicBool,
    hangs: AtomicBool,
    /// How many CPUs are online.
    online: usize,
    /// How often another CPU has ticked.
    calls: AtomicUsize,
}

impl Sabotaged {
    fn new(method: &'static str, way: Way, online: usize) -> (&'static Self, &'static Postmortem) {
        let kernel: &Self = Box::leak(Box::new(Self {
            method,
            way,
            postmortem: Mutex::default(),
            text: Mutex::default(),
            changed: Condvar::new(),
            has_left: AtomicBool::new(false),
            hangs: AtomicBool::new(false),
            online,
            calls: AtomicUsize::new(0),
        }));
        let per_cpu = Box::leak(Box::new([const { PerCpu::new() }; 8]));
        let postmortem = Box::leak(Box::new(Postmortem::new(kernel, per_cpu)));
        (kernel, postmortem)
    }

    /// Waits until the text contains `end`, the kernel is left, or a call does not return.
    fn wait(&self, end: &str) -> Ended {
        self.wait_for(|text| text.contains(end))
    }

    /// Waits until this is so of the text, the kernel is left, or a call does not return.
    fn wait_for(&self, is_so: impl Fn(&str) -> bool) -> Ended {
        let mut text = self.text.lock().expect("no panic here");
        let is = |flag: &AtomicBool| flag.load(Ordering::Acquire);
        while !is(&self.has_left) && !is(&self.hangs) && !is_so(&text) {
            // Whoever sets a flag does not hold the lock.
            let waited = self.changed.wait_timeout(text, Duration::from_millis(100));
            text = waited.expect("no panic here").0;
        }
        Ended {
            text: text.clone(),
            has_left: is(&self.has_left),
        }
    }

    fn call(&self, method: &str) {
        let postmortem = *self.postmortem.lock().expect("no panic here");
        let Some(postmortem) = postmortem.filter(|_| method == self.method) else {
            return;
        };
        match self.way {
            Way::Faults => postmortem.fault(&frame(100)),
            Way::Reenters => postmortem.breakpoint(&frame(50)),
            Way::NeverReturns => self.stop(&self.hangs),
            Way::OtherTicks if self.calls.fetch_add(1, Ordering::Relaxed) < 100 => {
                in_cpu1(|| postmortem.tick(10));
            }
            Way::OtherTicks => {}
        }
    }

    fn stop(&self, flag: &AtomicBool) -> ! {
        flag.store(true, Ordering::Release);
        self.changed.notify_all();
        loop {
            thread::park();
        }
    }
}

// SAFETY: each thread is a CPU with its own number, or with none; there are no stacks.
unsafe impl Platform for Sabotaged {
    fn write(&self, bytes: &[u8]) {
        self.call("write");
        let text = std::str::from_utf8(bytes).expect("text");
        self.text.lock().expect("no panic here").push_str(text);
        self.changed.notify_all();
    }

    fn report_begins(&self, _: &str) {
        self.call("report_begins");
    }

    fn report_ends(&self) {
        self.call("report_ends");
    }

    fn leave(&self) -> ! {
        self.call("leave");
        self.stop(&self.has_left)
    }

    fn image(&self) -> Image {
        self.call("image");
        let nothing = Section {
            bytes: &[],
            address: 0x1000,
        };
        Image::new(nothing, nothing, nothing)
    }

    fn stack(&self, _: usize) -> Option<Stack> {
        self.call("stack");
        None
    }

    fn cpu(&self) -> usize {
        self.call("cpu");
        CPU.get()
    }

    fn is_online(&self, cpu: usize) -> bool {
        self.call("is_online");
        cpu < self.online
    }

    fn send_nmi(&self, _: usize) {
        self.call("send_nmi");
    }

    /// A clock that stands still.
    fn now(&self) -> Option<Duration> {
        self.call("now");
        Some(Duration::ZERO)
    }

    fn current_task(&self, _: usize) -> usize {
        self.call("current_task");
        0
    }

    fn tasks(&self) -> usize {
        self.call("tasks");
        1
    }

    fn task(&self, _: usize) -> Option<Task<'_>> {
        self.call("task");
        None
    }

    fn interrupt_name(&self, _: u64) -> Option<&'static str> {
        self.call("interrupt_name");
        None
    }
}

/// How a report has ended.
#[derive(Debug)]
struct Ended {
    text: String,
    has_left: bool,
}

/// Reports a fault, and waits until the text contains `end`, the kernel is left, or a call does not return.
fn ends(method: &'static str, way: Way, knows_cpu: bool, end: &'static str) -> Ended {
    let (kernel, postmortem) = Sabotaged::new(method, way, 2);
    thread::spawn(move || {
        if knows_cpu {
            postmortem.know_cpu();
        }
        *kernel.postmortem.lock().expect("no panic here") = Some(postmortem);
        postmortem.fault(&frame(200));
    });
    kernel.wait(end)
}

/// No text contains this.
const NOTHING: &str = "\0";

const METHODS: [&str; 11] = [
    "cpu",
    "is_online",
    "send_nmi",
    "now",
    "report_begins",
    "interrupt_name",
    "image",
    "stack",
    "current_task",
    "task",
    "report_ends",
];

#[test]
fn the_first_failure_is_sent_and_the_kernel_left_whatever_faults() {
    for method in METHODS {
        let ended = ends(method, Way::Faults, true, NOTHING);
        let Ended { text, has_left } = &ended;
        let first = "fault on cpu 0 at 0x0000000000004321: ";
        assert!(text.starts_with(first), "{method}: {text}");
        // A CPU that knows its number is not asked for it.
        let is_asked = method != "cpu";
        assert_eq!(
            text.contains("\nduring the report: fault on cpu 0 at 0x"),
            is_asked,
            "{method}: {text}"
        );
        assert!(
            text.contains("\nfirst failure: fault on ") || method == "interrupt_name",
            "{method}: {text}"
        );
        assert!(has_left, "{method}: {text}");
    }
}

#[test]
fn a_report_goes_on_when_a_call_of_it_reenters_it() {
    for method in METHODS {
        let ended = ends(method, Way::Reenters, true, NOTHING);
        let Ended { text, has_left } = &ended;
        let second = "during the report: breakpoint on cpu 0 at 0x0000000000004321";
        let expected = usize::from(method != "cpu");
        assert_eq!(text.matches(second).count(), expected, "{method}: {text}");
        assert!(
            text.contains("\ncpu 1 does not answer\n"),
            "{method}: {text}"
        );
        assert!(
            text.contains("\nfirst failure: fault on cpu 0 at 0x"),
            "{method}: {text}"
        );
        assert!(has_left, "{method}: {text}");
    }
}

#[test]
fn the_first_failure_is_sent_before_a_call_that_does_not_return() {
    for method in METHODS {
        let ended = ends(method, Way::NeverReturns, true, NOTHING);
        let first = "fault on cpu 0 at 0x0000000000004321";
        assert!(ended.text.starts_with(first), "{method}: {}", ended.text);
    }
}

#[test]
fn a_cpu_that_cannot_tell_its_number_reports_without_it() {
    let first = "fault at 0x0000000000004321";
    for way in [Way::Faults, Way::Reenters, Way::NeverReturns] {
        let Ended { text, has_left } = ends("cpu", way, false, NOTHING);
        assert!(text.starts_with(first), "{way:?}: {text}");
        assert_eq!(has_left, way != Way::NeverReturns, "{way:?}: {text}");
    }
    let ended = ends("cpu", Way::Faults, false, NOTHING);
    let text = format!(
        "{first}: interrupt 200\nduring the report: {first}: interrupt 100\nfirst failure: {first}: interrupt 200\n"
    );
    assert_eq!(ended.text, text);
}

#[test]
fn a_kernel_that_cannot_be_left_halts_after_its_report() {
    let end = "\nduring the report: fault on cpu 0 at 0x0000000000004321: interrupt 100\nfirst failure: fault on cpu 0 at 0x0000000000004321: interrupt 200\n";
    let Ended { text, has_left } = ends("leave", Way::Faults, true, end);
    assert!(text.contains("\ncpu 1 does not answer\n"), "{text}");
    assert!(text.ends_with(end) && !has_left, "{text}");
    let ended = ends("leave", Way::Reenters, true, NOTHING);
    assert!(ended.has_left, "{}", ended.text);
}

#[test]
fn a_device_that_fails_does_not_keep_the_kernel_from_being_left() {
    for way in [Way::Faults, Way::Reenters] {
        let ended = ends("write", way, true, NOTHING);
        assert!(ended.has_left, "{way:?}: {}", ended.text);
    }
}

#[test]
fn a_clock_that_stands_still_does_not_delay_the_report_for_ever() {
    let Ended { text, has_left } = ends("none", Way::Faults, true, NOTHING);
    assert!(text.contains("\ncpu 1 does not answer\n"), "{text}");
    assert!(has_left, "{text}");
}

/// Reports a fault on a CPU that the kernel has not numbered yet.
fn fault_without_number(postmortem: &'static Postmortem) {
    thread::spawn(move || {
        CPU.set(usize::MAX);
        postmortem.fault(&frame(200));
    });
}

#[test]
fn a_cpu_without_a_number_does_not_keep_another_one_from_its_report() {
    let (kernel, postmortem) = Sabotaged::new("none", Way::Faults, 1);
    fault_without_number(postmortem);
    let line = "fault at 0x0000000000004321: interrupt 200\n";
    let ended = kernel.wait(line);
    assert_eq!((&*ended.text, ended.has_left), (line, false));
    thread::spawn(|| postmortem.fault(&frame(200)));
    let Ended { text, has_left } = kernel.wait(NOTHING);
    let report = text.strip_prefix(line).expect("it stays");
    assert!(report.contains("\ncpu 0, task 0, "), "{text}");
    let first = "\nfirst failure: fault on cpu 0 at 0x0000000000004321: interrupt 200\n";
    assert!(report.ends_with(first) && has_left, "{text}");
}

#[test]
fn each_cpu_without_a_number_has_its_line() {
    const CPUS: usize = 6;
    for _ in 0..50 {
        let (kernel, postmortem) = Sabotaged::new("none", Way::Faults, 1);
        for _ in 0..CPUS {
            fault_without_number(postmortem);
        }
        let line = "fault at 0x0000000000004321: interrupt 200\n";
        let ended = kernel.wait_for(|text| text.len() >= CPUS * line.len());
        assert_eq!(ended.text, line.repeat(CPUS));
    }
}

#[test]
fn a_cpu_without_a_number_ends_a_report_that_does_not_continue() {
    let (kernel, postmortem) = Sabotaged::new("stack", Way::NeverReturns, 1);
    thread::spawn(|| {
        postmortem.know_cpu();
        *kernel.postmortem.lock().expect("no panic here") = Some(postmortem);
        postmortem.fault(&frame(200));
    });
    kernel.wait(NOTHING);
    fault_without_number(postmortem);
    let left = || kernel.has_left.load(Ordering::Acquire);
    let mut text = kernel.text.lock().expect("no panic here");
    while !left() {
        let waited = (kernel.changed).wait_timeout(text, Duration::from_millis(100));
        text = waited.expect("no panic here").0;
    }
    let second = "\nduring the report: fault at 0x0000000000004321: interrupt 200\n";
    assert!(text.starts_with("fault on cpu 0 at "), "{text}");
    assert!(text.contains(second), "{text}");
}

#[test]
fn the_first_cpu_reports_before_any_has_a_number() {
    let (kernel, postmortem) = Sabotaged::new("none", Way::Faults, 0);
    fault_without_number(postmortem);
    let Ended { text, has_left } = kernel.wait(NOTHING);
    assert!(text.contains("\ncpu 0, task 0, ") && has_left, "{text}");
}

/// The report waits for a CPU that does not answer, but ticks.
#[test]
fn the_watchdog_does_not_judge_a_cpu_whose_report_waits() {
    let (kernel, postmortem) = Sabotaged::new("now", Way::OtherTicks, 2);
    thread::scope(|scope| {
        let cpu0 = scope.spawn(|| {
            postmortem.start_watchdog();
            postmortem.tick(10);
            *kernel.postmortem.lock().expect("no panic here") = Some(postmortem);
            postmortem.breakpoint(&frame(200));
        });
        cpu0.join().expect("it returns");
    });
    assert!(kernel.calls.load(Ordering::Relaxed) > 100);
    let text = kernel.text.lock().expect("no panic here");
    assert!(text.starts_with("breakpoint on cpu 0 at "), "{text}");
    assert!(!text.contains("hang on"), "{text}");
}
