//! Whether a machine's serial line contains a report about a failure.

use std::sync::LazyLock;

use regex::Regex;

use super::line::pattern;
use super::{Begin, FAILED_TO_REPORT};

/// The message of a panic as [`core::panic::PanicInfo`] writes it, which can follow other words of a kernel in its line; or a failure of a CPU
/// without a number.
static FAILURE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\bpanicked at .*?:[0-9]+:[0-9]+(?::|$)|^(?:\[[^\]]*\] *)?fault at 0x[0-9a-f]{16}")
});

/// The first line of a report after which a kernel goes on, behind whatever a console writes before each line.
static QUESTION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:breakpoint|interrupted) (?:on cpu [0-9]+ )?at 0x[0-9a-f]{16}"));

/// The line about the machine, which follows the first line of a report; or the last line of a report that has only the words of the stack.
static IS_REPORT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"\b(?:x86_64|aarch64|armv7a), (?:no build id|build [0-9a-f]+), (?:no )?(?:exception )?tables\b",
        r"|\bend of stack 0x[0-9a-f]+ read 0x[0-9a-f]+$",
    ))
});

/// Whether the serial line contains a report about a failure, with which a kernel ends. A report counts as one unless its first line begins as
/// that of a report after which a kernel goes on: the first line of [`postmortem::print`](https://docs.rs/kernel-postmortem) has any words. A line
/// about a failure inside of a report counts as a failure unless it is about such a report.
#[must_use]
pub fn has_failure(serial: &[u8]) -> bool {
    let text = String::from_utf8_lossy(serial);
    let mut goes_on = false;
    for line in text.lines().map(str::trim_end) {
        let is_failure = Begin::of(line) == Some(Begin::Failure)
            || FAILURE.is_match(line)
            || (line.contains(FAILED_TO_REPORT) && !QUESTION.is_match(line))
            || (IS_REPORT.is_match(line) && !goes_on);
        if is_failure {
            return true;
        }
        // The line about the machine is the next one, if there is a report.
        goes_on = QUESTION.is_match(line);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "aarch64, build 0123456789abcdef, tables and code verified";

    #[test]
    fn a_report_counts_as_a_failure_unless_it_begins_otherwise() {
        let of_cpu = format!("cpu 1, task boot, {MACHINE}");
        let page = format!("page fault\r\n{MACHINE}\r\n");
        let after_words = format!("loading fault on cpu 1 at 0x0000000000001000: read\n{of_cpu}\n");
        let without_id = "a fault\ncpu 3, x86_64, no build id, no tables\n";
        let words = "\u{1b}[31moh\nstack 0x0000000000001000: 0000000000000000\nend of stack 0x0000000000001008 read 0x0000000000002000\n";
        let begun = format!("breakpoint on cpu 0 at 0x0000000000001000: brk\n{of_cpu}\n");
        let again = format!(
            "breakpoint on cpu 0 at 0x0000000000001000: brk\n{of_cpu}\nanything\n{of_cpu}\n"
        );
        let unreported = format!("breakpoint at 0x0000000000001000: brk\npage fault\n{MACHINE}\n");
        let inside = format!("{begun}during the report: page fault\n");
        for failure in [
            "panicked at src/main.rs:1:2:\noh\n",
            "panicked at src/main.rs:1:2: oh",
            "loading ... panicked at /k/a b.rs:10:22:\r\noh\r\n",
            "[0.1] panicked at src/main.rs:1:2",
            "fault on cpu 0 at 0x0000000000001000: read",
            "fault at 0x0000000000001000: read",
            "hang on cpu 0: its timer has not ticked for 2 s",
            "[0.12] fault on cpu 0 at 0x0000000000001000: read\n[0.12] cpu 0, task main, aarch64, build 12, tables verified",
            "halfno stack is readable\naarch64, no build id, no tables",
            &page,
            &after_words,
            without_id,
            words,
            &again,
            &unreported,
            &inside,
            "[0.12] fault at 0x0000000000001000: read",
        ] {
            assert!(has_failure(failure.as_bytes()), "{failure}");
        }
        let breakpoint = format!("breakpoint on cpu 1 at 0x0000000000001000: brk\n{of_cpu}\n");
        let without_number = format!("interrupted at 0x0000000000001000: nmi\n{MACHINE}\n");
        let asked_again = format!("{begun}during the report: {begun}");
        let task = "task 3, idle: ready\nend of backtrace: complete, 3 frames\n";
        for other in [
            "",
            "page fault at 0x1000 handled\n",
            "nobody panicked at all: 12 threads\n",
            "booted on x86_64, all well\n",
            "[1] interrupted on cpu 0 at 0x0000000000001000: nmi\n[1] cpu 0, task main, x86_64, build 12, tables verified",
            &breakpoint,
            &asked_again,
            &without_number,
            task,
        ] {
            assert!(!has_failure(other.as_bytes()), "{other}");
        }
    }
}
