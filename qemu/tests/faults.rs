//! Every exception, on both architectures, in debug and release, and without unwind tables: its words, and the names, kinds
//! and boundaries of the whole trace.

mod access;
mod handlers;
mod instructions;
mod overflow;
mod places;
mod without_rules;

use crate::support::boots::boot;
use crate::support::report::Report;
use crate::support::trace;
use qemu::build::Kernel;
use qemu::machine::Arch;

/// What is expected of a scenario. Words and ends differ between architectures: x86_64's first.
struct Expected {
    scenario: &'static str,
    /// How the words after the first line's address begin.
    words: [&'static str; 2],
    trace: [&'static str; 2],
    end: [&'static str; 2],
}

impl Expected {
    /// Boots the scenario.
    #[track_caller]
    fn check(&self, kernel: Kernel) {
        let ran = boot(kernel, self.scenario).expect(101);
        let report = Report::find(&ran.serial);
        let of = match kernel.arch {
            Arch::X86_64 => 0,
            Arch::Aarch64 => 1,
        };
        let at = report.frames[0].address;
        let first = format!("fault on cpu 0 at {at:#018x}: {}", self.words[of]);
        assert!(
            report.panicked.starts_with(&first),
            "{kernel:?}: no {first:?} in:\n{}",
            report.text
        );
        trace::expect(kernel, &report, self.trace[of], self.end[of]);
        let last = report.text.lines().last();
        let summary = format!("first failure: {}", report.panicked);
        assert_eq!(last, Some(&*summary), "{kernel:?}: the last line");
    }
}

const COMPLETE: [&str; 2] = ["complete, "; 2];

/// An exception in one function of the kernel's, from which everything is known.
#[track_caller]
fn complete(kernel: Kernel, scenario: &'static str, words: [&'static str; 2], trace: &'static str) {
    Expected {
        scenario,
        words,
        trace: [trace; 2],
        end: COMPLETE,
    }
    .check(kernel);
}

const UNDEFINED: [&str; 2] = ["invalid opcode", "undefined instruction"];
