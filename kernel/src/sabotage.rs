//! Calls of a report into the kernel that fail on purpose, for the scenario `sabotage`: in a real kernel, any of them may.

use core::fmt::{self, Display};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;

use postmortem::{Image, Platform, Range, Stack, Task, TrapCode};

use crate::arch::cpu;
use crate::bad;

/// The calls, by the words of the command line.
pub const CALLS: [&str; 21] = [
    "write",
    "report-begins",
    "report-ends",
    "leave",
    "image",
    "stack",
    "cpu",
    "is-online",
    "send-nmi",
    "now",
    "current-task",
    "tasks",
    "task",
    "noted",
    "trap-code",
    "interrupt-name",
    "task-words",
    "trace",
    "dump-wanted",
    "message",
    "outside",
];

/// The ways to fail, by the words of the command line.
const WAYS: [&str; 5] = ["panics", "faults", "reenters", "loops", "halts"];

/// The call that fails, and the way, by their places in the lists.
static CALL: AtomicUsize = AtomicUsize::new(usize::MAX);
static WAY: AtomicUsize = AtomicUsize::new(0);

/// From now on the call fails, each time.
static IS_ARMED: AtomicBool = AtomicBool::new(false);

/// The first line of the report has been sent: a device that takes nothing at all shows nothing.
static HAS_LINE: AtomicBool = AtomicBool::new(false);

/// Chooses the call and the way whose words the command line has.
pub fn choose<'w>(has: impl Fn(&'w str) -> bool) {
    for (list, chosen) in [(&CALLS[..], &CALL), (&WAYS[..], &WAY)] {
        if let Some(at) = list.iter().position(|word| has(word)) {
            chosen.store(at, Ordering::Relaxed);
        }
    }
}

/// The word for the call that fails, if there is one.
pub fn call() -> Option<&'static str> {
    CALLS.get(CALL.load(Ordering::Relaxed)).copied()
}

/// From now on the call fails.
pub fn arm() {
    IS_ARMED.store(true, Ordering::Release);
}

/// Fails if this call is to fail.
pub fn trip(this: &str) {
    if IS_ARMED.load(Ordering::Relaxed) && call() == Some(this) {
        fail();
    }
}

#[inline(never)]
fn fail() {
    match WAYS.get(WAY.load(Ordering::Relaxed)).copied() {
        // SAFETY: nothing is mapped at this address, so the read faults.
        Some("faults") => drop(unsafe { bad::read(core::hint::black_box(0)) }),
        Some("reenters") => bad::breakpoint(),
        Some("loops") => bad::stay(),
        Some("halts") => cpu::halt(),
        _ => panic!("sabotaged"),
    }
}

/// A text whose display fails as the call `.0`.
pub struct Words(pub &'static str, pub &'static str);

impl Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        trip(self.0);
        f.write_str(self.1)
    }
}

/// A platform whose calls may fail.
pub struct Sabotaged<P>(pub P);

// SAFETY: `.0` keeps what it has promised.
unsafe impl<P: Platform> Platform for Sabotaged<P> {
    fn write(&self, bytes: &[u8]) {
        self.0.write(bytes);
        if HAS_LINE.load(Ordering::Relaxed) {
            trip("write");
        } else if IS_ARMED.load(Ordering::Relaxed) && bytes.contains(&b'\n') {
            HAS_LINE.store(true, Ordering::Relaxed);
        }
    }

    fn report_begins(&self, begun: &str) {
        trip("report-begins");
        self.0.report_begins(begun);
    }

    fn report_ends(&self) {
        trip("report-ends");
        self.0.report_ends();
    }

    fn leave(&self) -> ! {
        trip("leave");
        self.0.leave()
    }

    fn image(&self) -> Image {
        trip("image");
        self.0.image()
    }

    fn stack(&self, index: usize) -> Option<Stack> {
        trip("stack");
        self.0.stack(index)
    }

    fn cpu(&self) -> usize {
        trip("cpu");
        self.0.cpu()
    }

    fn is_online(&self, cpu: usize) -> bool {
        trip("is-online");
        self.0.is_online(cpu)
    }

    fn send_nmi(&self, cpu: usize) {
        trip("send-nmi");
        self.0.send_nmi(cpu);
    }

    fn now(&self) -> Option<Duration> {
        trip("now");
        self.0.now()
    }

    fn current_task(&self, cpu: usize) -> usize {
        trip("current-task");
        self.0.current_task(cpu)
    }

    fn tasks(&self) -> usize {
        trip("tasks");
        self.0.tasks()
    }

    fn task(&self, number: usize) -> Option<Task<'_>> {
        trip("task");
        let task = self.0.task(number)?;
        Some(match call() {
            Some("task-words") => Task {
                name: &Words("task-words", "some task"),
                ..task
            },
            _ => task,
        })
    }

    fn noted(&self, index: usize) -> Option<Range> {
        trip("noted");
        self.0.noted(index)
    }

    fn trap_code(&self) -> TrapCode {
        trip("trap-code");
        self.0.trap_code()
    }

    fn interrupt_name(&self, number: u64) -> Option<&'static str> {
        trip("interrupt-name");
        self.0.interrupt_name(number)
    }
}
