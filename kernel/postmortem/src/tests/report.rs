//! Whole reports of a kernel on the host, whose CPUs are threads, and which ends by an unwinding panic.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use unwind::Range;

use crate::{
    Image, Other, Owner, PerCpu, Platform, Postmortem, Region, Registers, Section, Stack, Task,
    TrapFrame, Walk,
};

thread_local! {
    /// The number of the CPU that this thread is.
    static CPU: Cell<usize> = const { Cell::new(0) };
    /// Errors to raise while a trace is written, the last one first.
    static IN_TRACE: Errors = const { Mutex::new(Vec::new()) };
}

/// What [`Machine::leave`] panics with.
struct Left;

struct Machine {
    out: Mutex<String>,
    /// That of CPU 0, and that of task `other`.
    stacks: &'static [[u64; 64]; 2],
    cpus: usize,
    /// Task `main` is being left.
    switches: AtomicBool,
    /// CPU 1 was sent an NMI.
    nmi: AtomicBool,
    /// Whether the clock advances by three seconds at every reading.
    hurries: bool,
    /// Errors to raise while the text of a cause is written, the last one first.
    in_words: Errors,
    /// Errors to raise when the device has taken half of a text, the last one first.
    in_write: Errors,
    started: Instant,
    looks: Mutex<u32>,
}

// SAFETY: each thread is a CPU with its own number; the stacks are arrays, which can be read.
unsafe impl Platform for Machine {
    fn write(&self, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).expect("text");
        let (sent, rest) = text.split_at(text.floor_char_boundary(text.len() / 2));
        self.out.lock().expect("no panic here").push_str(sent);
        fail(&self.in_write);
        self.out.lock().expect("no panic here").push_str(rest);
    }

    fn leave(&self) -> ! {
        panic_any(Left)
    }

    fn image(&self) -> Image {
        let nothing = Section {
            bytes: &[],
            address: 0x1000,
        };
        Image {
            build_id: &[0xab, 0xcd],
            ..Image::new(nothing, nothing, nothing)
        }
    }

    fn stack(&self, index: usize) -> Option<Stack> {
        let words = self.stacks.get(index)?.as_ptr_range();
        let words = Range::new(words.start as u64, words.end as u64);
        let stack = Stack::new("boot", 0, words);
        Some(match index {
            0 => stack,
            _ => Stack {
                owner: Owner::Task(1),
                ..stack
            },
        })
    }

    fn cpu(&self) -> usize {
        CPU.get()
    }

    fn is_online(&self, cpu: usize) -> bool {
        cpu < self.cpus
    }

    fn send_nmi(&self, _: usize) {
        self.nmi.store(true, Ordering::Release);
    }

    fn now(&self) -> Option<Duration> {
        if !self.hurries {
            return Some(self.started.elapsed());
        }
        let mut looks = self.looks.lock().expect("no panic here");
        *looks += 3;
        Some(Duration::from_secs(u64::from(*looks)))
    }

    fn task(&self, number: usize) -> Option<Task<'_>> {
        let task = Task {
            name: &"main",
            state: &"runs",
            waits_for: None,
            blocked_by: None,
            registers: None,
            cpu: Some(0),
        };
        match number {
            0 => Some(Task {
                registers: self
                    .switches
                    .load(Ordering::Relaxed)
                    .then(|| Registers::new(0, 0, 0)),
                waits_for: Some(&"lock ledger"),
                blocked_by: Some(1),
                ..task
            }),
            1 => Some(Task {
                name: &"other",
                state: &"sleeps",
                ..task
            }),
            _ => None,
        }
    }

    fn tasks(&self) -> usize {
        2
    }

    fn interrupt_name(&self, _: u64) -> Option<&'static str> {
        fail(&self.in_words);
        None
    }
}

/// Planned errors, each with the static that reports it.
type Errors = Mutex<Vec<(&'static Postmortem, TrapFrame)>>;

/// Raises the next planned error.
fn fail(planned: &Errors) {
    let next = planned.lock().expect("no panic here").pop();
    if let Some((postmortem, frame)) = next {
        postmortem.fault(&frame);
    }
}

fn write_trace(walk: &Walk, out: &mut dyn std::fmt::Write) -> std::fmt::Result {
    IN_TRACE.with(fail);
    walk.write(out, false)
}

fn plan(errors: &Errors, postmortem: &'static Postmortem, number: u64) {
    let mut errors = errors.lock().expect("no panic here");
    errors.push((postmortem, frame(number)));
}

impl Machine {
    fn new(cpus: usize, hurries: bool) -> (&'static Self, &'static Postmortem) {
        let machine: &Self = Box::leak(Box::new(Self {
            out: Mutex::default(),
            stacks: Box::leak(Box::new([[0; 64]; 2])),
            cpus,
            switches: AtomicBool::new(false),
            nmi: AtomicBool::new(false),
            hurries,
            in_words: Mutex::default(),
            in_write: Mutex::default(),
            started: Instant::now(),
            looks: Mutex::new(0),
        }));
        let per_cpu = Box::leak(Box::new([const { PerCpu::new() }; 4]));
        (
            machine,
            Box::leak(Box::new(
                Postmortem::new(machine, per_cpu).with_traces(write_trace),
            )),
        )
    }

    fn text(&self) -> String {
        self.out.lock().expect("no panic here").clone()
    }
}

/// An interrupt without a name, whose text is its number.
fn frame(number: u64) -> TrapFrame {
    let mut frame = TrapFrame::default();
    frame.set_pc(0x4321);
    #[cfg(target_arch = "x86_64")]
    {
        frame.vector = number;
    }
    #[cfg(target_arch = "aarch64")]
    {
        frame.vector = 1;
        frame.interrupt = number;
    }
    frame
}

/// Runs what ends the kernel.
fn dies(body: impl FnOnce()) {
    let end = catch_unwind(AssertUnwindSafe(body)).expect_err("the kernel goes on");
    assert!(end.is::<Left>(), "the kernel did not leave by itself");
}

/// Without the lines of registers, which are another test's.
fn lines(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| !line.starts_with("  "))
        .collect()
}

const FAULT: &str = "fault on cpu 0 at 0x0000000000004321: interrupt 200";
const HEADER: &str = if cfg!(target_arch = "x86_64") {
    "cpu 0, task main, x86_64, build abcd, no tables"
} else {
    "cpu 0, task main, aarch64, build abcd, no tables"
};
const CODE: &str = "code: there is none at 0x0000000000004321";

#[test]
fn a_fault_is_reported_in_full_with_the_first_line_once_more() {
    let (machine, postmortem) = Machine::new(1, false);
    postmortem.write("a line that was begun");
    dies(|| postmortem.fault(&frame(200)));
    let text = machine.text();
    let lines = lines(&text);
    assert_eq!(lines[..4], ["a line that was begun", FAULT, HEADER, CODE]);
    assert!(lines[4].starts_with("no names: .symbols: "), "{text}");
    assert!(
        lines[5].starts_with("end of backtrace: incomplete: "),
        "{text}"
    );
    let last = format!("first failure: {FAULT}");
    assert_eq!(lines[6..], ["task other: sleeps", &*last]);
}

#[test]
fn a_report_begins_a_line_when_the_device_had_half_of_a_text() {
    let (machine, postmortem) = Machine::new(1, false);
    plan(&machine.in_write, postmortem, 200);
    dies(|| postmortem.write("all CPUs work\n"));
    let text = machine.text();
    assert_eq!(lines(&text)[..2], ["all CPU", FAULT]);
}

#[test]
fn an_error_in_the_report_is_one_line() {
    let (machine, postmortem) = Machine::new(1, false);
    IN_TRACE.with(|errors| plan(errors, postmortem, 100));
    dies(|| postmortem.fault(&frame(200)));
    let second = "during the report: fault on cpu 0 at 0x0000000000004321: interrupt 100";
    let last = format!("first failure: {FAULT}");
    assert_eq!(lines(&machine.text()), [FAULT, HEADER, CODE, second, &last]);
}

#[test]
fn an_error_in_that_line_ends_in_silence() {
    let (machine, postmortem) = Machine::new(1, false);
    plan(&machine.in_words, postmortem, 50);
    plan(&machine.in_words, postmortem, 100);
    dies(|| postmortem.fault(&frame(200)));
    let begin = "fault on cpu 0 at 0x0000000000004321: ";
    let text = format!("{begin}\nduring the report: {begin}\n");
    assert_eq!(machine.text(), text);
}

#[test]
fn a_breakpoint_is_reported_and_the_next_one_too() {
    let (machine, postmortem) = Machine::new(1, false);
    for count in 1..=2 {
        postmortem.breakpoint(&frame(200));
        let text = machine.text();
        let first = "breakpoint on cpu 0 at 0x0000000000004321: interrupt 200";
        assert_eq!(
            lines(&text).iter().filter(|line| **line == first).count(),
            count
        );
        assert!(postmortem.hold().is_some(), "nobody holds the others");
    }
}

#[test]
fn another_cpu_stands_still_while_it_is_looked_at() {
    let (machine, postmortem) = Machine::new(2, false);
    let is_back = AtomicBool::new(false);
    thread::scope(|scope| {
        let cpu1 = scope.spawn(|| {
            CPU.set(1);
            while !machine.nmi.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            let asked_from_outside = postmortem.nmi(&frame(7), false, None);
            is_back.store(true, Ordering::Release);
            asked_from_outside
        });
        let held = postmortem.hold().expect("nobody holds the others");
        held.stop();
        assert!(matches!(held.other(1), Other::Interrupted(it) if *it == frame(7)));
        let mut out = String::new();
        postmortem
            .write_others(&mut out, &held)
            .expect("a string takes everything");
        let first = "cpu 1, task other, stopped at 0x0000000000004321, no stack";
        assert_eq!(out.lines().next(), Some(first));
        assert!(!is_back.load(Ordering::Acquire), "it stands still");
        drop(held);
        assert!(!cpu1.join().expect("CPU 1 goes on"));
    });
}

/// A task's own stack tells that it runs only while the task that the kernel has noted does not: during a switch.
#[test]
fn a_stack_pointer_in_another_tasks_stack_makes_that_task_none_that_runs() {
    let (machine, postmortem) = Machine::new(1, false);
    let mut astray = frame(200);
    let sp = machine.stacks[1][8..].as_ptr() as u64;
    #[cfg(target_arch = "x86_64")]
    {
        astray.rsp = sp;
    }
    #[cfg(target_arch = "aarch64")]
    {
        astray.sp = sp;
    }
    postmortem.breakpoint(&astray);
    assert_eq!(lines(&machine.text())[1], HEADER);
    machine.switches.store(true, Ordering::Relaxed);
    postmortem.breakpoint(&astray);
    let of_other = HEADER.replace("task main", "task other");
    let text = machine.text();
    assert!(text.lines().any(|line| line == of_other), "{text}");
}

#[test]
fn a_cpu_that_does_not_answer_in_time_is_named() {
    let (machine, postmortem) = Machine::new(2, true);
    dies(|| postmortem.fault(&frame(200)));
    assert!(machine.text().contains("\ncpu 1 does not answer\n"));
}

#[test]
fn an_nmi_that_nobody_sent_is_a_report_of_all_cpus() {
    let (machine, postmortem) = Machine::new(2, true);
    assert!(postmortem.nmi(&frame(2), true, None));
    let text = machine.text();
    assert!(
        text.starts_with("interrupted on cpu 0 at 0x0000000000004321: "),
        "{text}"
    );
    assert!(text.ends_with("\ncpu 1 does not answer\n"), "{text}");
    assert!(postmortem.hold().is_some(), "all have gone on");
}

#[test]
fn a_cpu_that_hangs_is_reported_by_the_one_that_watches_it() {
    let (machine, postmortem) = Machine::new(2, true);
    postmortem.start_watchdog();
    CPU.set(1);
    postmortem.tick(10);
    CPU.set(0);
    assert!(!postmortem.is_watched());
    dies(|| {
        for _ in 0..100 {
            postmortem.tick(10);
        }
    });
    let text = machine.text();
    let first = "hang on cpu 1: its timer has not ticked for 3 s, cpu 0 says\n";
    assert!(text.starts_with(first), "{text}");
    assert!(
        text.ends_with(&format!("\nfirst failure: {first}")),
        "{text}"
    );
}

#[test]
fn a_report_is_kept_for_the_next_boot() {
    let region: &Region = Box::leak(Box::new(Region::new()));
    let (machine, _) = Machine::new(1, false);
    let per_cpu = Box::leak(Box::new([PerCpu::new()]));
    let postmortem = Postmortem::new(machine, per_cpu).with_last_words(region);
    let postmortem: &Postmortem = Box::leak(Box::new(postmortem));
    dies(|| postmortem.fault(&frame(200)));
    let before = machine.text();
    postmortem.show_last_words();
    let shown = machine.text().split_off(before.len());
    let last = format!("| first failure: {FAULT}\n");
    assert!(shown.ends_with(&last), "{shown}");
    assert_eq!(postmortem.boots(), 1);
}

#[test]
fn what_another_cpu_prints_once_the_report_has_begun_is_not_kept() {
    let region: &Region = Box::leak(Box::new(Region::new()));
    let (machine, _) = Machine::new(1, false);
    let per_cpu = Box::leak(Box::new([const { PerCpu::new() }; 2]));
    let postmortem = Postmortem::new(machine, per_cpu).with_last_words(region);
    let postmortem: &Postmortem = Box::leak(Box::new(postmortem));
    postmortem.show_last_words();
    CPU.set(1);
    postmortem.write("before\n");
    CPU.set(0);
    dies(|| postmortem.fault(&frame(200)));
    CPU.set(1);
    postmortem.write("after\n");
    let before = machine.text();
    assert!(before.ends_with("\nafter\n"), "it is printed: {before}");
    postmortem.show_last_words();
    let shown = machine.text().split_off(before.len());
    assert!(
        shown.contains(&format!("\n| before\n| {FAULT}\n")),
        "{shown}"
    );
    assert!(!shown.contains("after"), "{shown}");
}
