//! Lists of tasks that do not run, or may.

use std::sync::atomic::{AtomicU64, Ordering};

use unwind::{ImageTables, Range};

use crate::print::tests::{CODE, TABLE};
use crate::report::Report;
use crate::{Image, Owner, PerCpu, Platform, Postmortem, Registers, Section, Stack, Task};

/// A kernel with two CPUs at most, and a task whose list is complete: the handler, trap code, and what was interrupted, as in the tests of
/// `print`.
struct Kernel {
    stack: &'static [u64; 6],
    has_other_cpu: bool,
    /// The task has other registers each time that it is looked at.
    runs: bool,
    looks: AtomicU64,
}

// SAFETY: there is one thread, which is CPU 0; the stack is an array, which can be read.
unsafe impl Platform for Kernel {
    fn write(&self, _: &[u8]) {}

    fn leave(&self) -> ! {
        unreachable!("nobody dies here")
    }

    fn image(&self) -> Image {
        Image {
            code: Section {
                bytes: &CODE,
                address: 0x1000,
            },
            tables: ImageTables::new(&TABLE, 0x2000),
            symbols: Section::new(&[]),
            build_id: &[],
        }
    }

    fn stack(&self, index: usize) -> Option<Stack> {
        let words = self.stack.as_ptr_range();
        let words = Range::new(words.start as u64, words.end as u64);
        (index == 0).then(|| Stack {
            owner: Owner::Task(1),
            ..Stack::new("", 0, words)
        })
    }

    fn is_online(&self, cpu: usize) -> bool {
        cpu == 0 || self.has_other_cpu
    }

    fn tasks(&self) -> usize {
        2
    }

    fn task(&self, number: usize) -> Option<Task<'_>> {
        let fp = match self.runs {
            true => self.looks.fetch_add(1, Ordering::Relaxed),
            false => 0,
        };
        let sp = self.stack.as_ptr() as u64;
        (number == 1).then(|| Task {
            name: &"other",
            state: &"sleeps",
            waits_for: None,
            blocked_by: None,
            registers: Some(Registers::new(0x1024, sp, fp)),
            cpu: None,
        })
    }
}

/// The last line of the task's list.
fn end(has_other_cpu: bool, runs: bool) -> String {
    let stack: &mut [u64; 6] = Box::leak(Box::new([0x1018, 0x1004, 8, 2, 0, 0x77]));
    stack[4] = stack.as_ptr_range().end as u64;
    let kernel: &Kernel = Box::leak(Box::new(Kernel {
        stack,
        has_other_cpu,
        runs,
        looks: AtomicU64::new(0),
    }));
    let per_cpu = Box::leak(Box::new([const { PerCpu::new() }; 2]));
    let postmortem: &Postmortem = Box::leak(Box::new(Postmortem::new(kernel, per_cpu)));
    let mut out = String::new();
    let report = Report::new(postmortem).write_tasks(&mut out, None, Registers::new(0, 0, 0));
    report.expect("a string takes everything");
    let (_, list) = out.split_once("task other: sleeps\n").expect(&out);
    let frames = list.lines().filter(|line| line.get(4..8) == Some(": 0x"));
    assert_eq!(frames.count(), 3, "{out}");
    let end = list.lines().last();
    let end = end.and_then(|line| line.strip_prefix("end of backtrace: "));
    end.expect(&out).to_owned()
}

#[test]
fn the_list_of_a_task_is_complete_only_if_the_task_cannot_have_run() {
    let in_doubt = "outermost function reached, from frame 0 on in doubt (the task may have run during the backtrace), 3 frames";
    assert_eq!(end(false, false), "complete, 3 frames");
    // A CPU that is not held, and registers that are others at the end of the walk.
    assert_eq!(end(true, false), in_doubt);
    assert_eq!(end(false, true), in_doubt);
}
