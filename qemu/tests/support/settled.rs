//! Waits until a machine has executed the instructions after its last line, however long the host takes for them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::event::HANG;

/// The CPU time that QEMU takes at most for a few instructions on each CPU, in the kernel's ticks of 10 ms.
const TICKS: u64 = 30;

/// The time between two looks at the processes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Waits until the QEMU process of a runner has used [`TICKS`] of CPU time, or all threads of the process sleep, because all CPUs wait for
/// interrupts. Returns at once if the runner has no such process.
///
/// # Panics
/// If the process does not run and does not sleep.
pub fn wait(runner: u32) {
    let begun = Instant::now();
    let first = Process::of(runner);
    while let (Some(first), Some(now)) = (&first, Process::of(runner)) {
        if now.is_asleep || now.ticks >= first.ticks + TICKS {
            return;
        }
        assert!(begun.elapsed() < HANG, "the machine does not run");
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// The state of a QEMU process.
struct Process {
    ticks: u64,
    is_asleep: bool,
}

impl Process {
    /// Reads the state of the QEMU process that this runner has started.
    fn of(runner: u32) -> Option<Self> {
        let processes = fs::read_dir("/proc").expect("there is /proc");
        let paths = processes.filter_map(|process| Some(process.ok()?.path()));
        paths.into_iter().find_map(|path| {
            let status = Status::read(&path)?;
            (status.parent == runner && status.name.starts_with("qemu-system")).then_some(())?;
            let threads = fs::read_dir(path.join("task")).ok()?;
            let threads = threads.filter_map(|thread| Status::read(&thread.ok()?.path()));
            Some(Self {
                ticks: status.ticks,
                is_asleep: threads.map(|thread| thread.state).all(|state| state == "S"),
            })
        })
    }
}

/// The file `stat` of a process or a thread.
struct Status {
    name: String,
    state: String,
    parent: u32,
    ticks: u64,
}

impl Status {
    fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path.join("stat")).ok()?;
        let (name, rest) = text.split_once('(')?.1.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            name: name.to_owned(),
            state: (*fields.first()?).to_owned(),
            parent: fields.get(1)?.parse().ok()?,
            // In user mode and in the kernel.
            ticks: ticks(11)? + ticks(12)?,
        })
    }
}
