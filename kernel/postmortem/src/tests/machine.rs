//! A kernel on the host, whose CPUs are threads, and which ends by an unwinding panic.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use unwind::Range;

use crate::{
    Image, Owner, PerCpu, Platform, Postmortem, Registers, Section, Stack, Task, TrapFrame, Walk,
};

thread_local! {
    /// The number of the CPU that this thread is.
    pub static CPU: Cell<usize> = const { Cell::new(0) };
    /// Errors to raise while a trace is written, the last one first.
    pub static IN_TRACE: Errors = const { Mutex::new(Vec::new()) };
}

/// What [`Machine::leave`] panics with.
struct Left;

pub struct Machine {
    out: Mutex<String>,
    /// That of CPU 0, and that of task `other`.
    pub stacks: &'static [[u64; 64]; 2],
    cpus: usize,
    /// Task `main` is being left.
    pub switches: AtomicBool,
    /// The name of task `other` cannot be written.
    pub has_broken_names: AtomicBool,
    /// CPU 1 was sent an NMI.
    pub nmi: AtomicBool,
    /// Whether the clock advances by three seconds at every reading.
    hurries: bool,
    /// Errors to raise while the text of a cause is written, the last one first.
    pub in_words: Errors,
    /// Errors to raise when the device has taken half of a text, the last one first.
    pub in_write: Errors,
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
                name: match self.has_broken_names.load(Ordering::Relaxed) {
                    false => &"other",
                    true => &Broken,
                },
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

/// A text whose `Display` fails half way.
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("half ")?;
        Err(std::fmt::Error)
    }
}

/// Planned errors, each with the static that reports it.
pub type Errors = Mutex<Vec<(&'static Postmortem, TrapFrame)>>;

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

pub fn plan(errors: &Errors, postmortem: &'static Postmortem, number: u64) {
    let mut errors = errors.lock().expect("no panic here");
    errors.push((postmortem, frame(number)));
}

impl Machine {
    pub fn new(cpus: usize, hurries: bool) -> (&'static Self, &'static Postmortem) {
        let machine: &Self = Box::leak(Box::new(Self {
            out: Mutex::default(),
            stacks: Box::leak(Box::new([[0; 64]; 2])),
            cpus,
            switches: AtomicBool::new(false),
            has_broken_names: AtomicBool::new(false),
            nmi: AtomicBool::new(false),
            hurries,
            in_words: Mutex::default(),
            in_write: Mutex::default(),
            started: Instant::now(),
            looks: Mutex::new(0),
        }));
        let per_cpu = Box::leak(Box::new([const { PerCpu::new() }; 4]));
        let postmortem = Postmortem::new(machine, per_cpu).with_traces(write_trace);
        let postmortem: &Postmortem = Box::leak(Box::new(postmortem));
        postmortem.know_cpu();
        (machine, postmortem)
    }

    pub fn text(&self) -> String {
        self.out.lock().expect("no panic here").clone()
    }
}

/// An interrupt without a name, whose text is its number.
pub fn frame(number: u64) -> TrapFrame {
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
pub fn dies(body: impl FnOnce()) {
    let end = catch_unwind(AssertUnwindSafe(body)).expect_err("the kernel goes on");
    assert!(end.is::<Left>(), "the kernel did not leave by itself");
}

/// Without the lines of registers, which are another test's.
pub fn lines(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| !line.starts_with("  "))
        .collect()
}

pub const FAULT: &str = "fault on cpu 0 at 0x0000000000004321: interrupt 200";

pub const HEADER: &str = if cfg!(target_arch = "x86_64") {
    "cpu 0, task main, x86_64, build abcd, no tables"
} else {
    "cpu 0, task main, aarch64, build abcd, no tables"
};

pub const CODE: &str = "code: address 0x0000000000004321 is outside the known code";
