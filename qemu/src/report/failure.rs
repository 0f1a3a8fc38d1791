//! Whether a machine's serial line contains a report about a failure.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::line::pattern;
use super::{Begin, FAILED_TO_REPORT};

/// The message of a panic as [`core::panic::PanicInfo`] writes it, which can follow other words of a kernel in its line; a panic and a Rust
/// file with a line, as kernels write it that compose the message; or a failure of a CPU without a number.
static FAILURE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"\bpanicked at .*?:[0-9]+:[0-9]+(?::|$)",
        r"|\b(?i:panic(?:ked)? (?:at|in)) .*?\.rs:[0-9]+\b",
        r"|^(?:\[[^\]]*\] *)?fault at 0x[0-9a-f]{16}",
    ))
});

/// The message of a panic before Rust 1.73, whose words can have several lines. The place follows the words.
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)\bpanicked at '.*', [^\n]*?\.rs:[0-9]+:[0-9]+\b"));

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

/// Escape sequences (ECMA-48 control sequences, ECMA-35 designations of character sets), which a console writes to change the colour of a text.
static ESCAPES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:\x1b(?:\[[0-?]*[ -/]*[@-~]|[ -/]+[0-~]))+"));

/// Removes the escape sequences of a text. Puts a space between two words that only escape sequences separate.
fn plain(text: &str) -> Cow<'_, str> {
    let is_word = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric());
    ESCAPES.replace_all(text, |found: &Captures<'_>| {
        let (start, end) = found.get(0).map_or((0, 0), |all| (all.start(), all.end()));
        let is_between =
            is_word(text[..start].chars().next_back()) && is_word(text[end..].chars().next());
        if is_between { " " } else { "" }
    })
}

/// Whether the serial line contains a report about a failure, with which a kernel ends. A report counts as one unless its first line begins as
/// that of a report after which a kernel goes on: the first line of [`postmortem::print`](https://docs.rs/kernel-postmortem) has any words. A line
/// about a failure inside of a report counts as a failure unless it is about such a report.
#[must_use]
pub fn has_failure(serial: &[u8]) -> bool {
    let text = String::from_utf8_lossy(serial);
    let text = plain(&text);
    if QUOTED.is_match(&text) {
        return true;
    }
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
            "[cpu0] panicked at src/main.rs:10:5 (cpu 0)\n",
            "PANIC <panicked at src/main.rs:10:5>, oh\n",
            "[kernel] Panicked at src/main.rs:10 oh",
            "KERNEL PANIC AT src/main.rs:10\n",
            "panic in src/main.rs:10: oh",
            "[ERR] panicked at 'oh', src/main.rs:10:5 on cpu 0",
            "[ERR] panicked at 'assertion failed: `(left == right)`\r\n  left: `1`,\r\n right: `2`', src/main.rs:10:5\r\n",
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
            "nobody panicked at all, at 12:30:45 o'clock\n",
            "does not panic at startup: main.rs has 12 lines\n",
            "nobody panicked at 'all'\n",
            "nobody panicked at 'all'\nuser 'bob', login at 10:12:13\n",
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

    #[test]
    fn a_failure_in_any_colour_is_found() {
        for failure in [
            "\u{1b}[31mpanicked at src/main.rs:1:2:\noh\u{1b}[0m\n",
            "\u{1b}[1;38;5;9mpanicked at src/main.rs:1:2:\u{1b}[m oh",
            "\u{1b}[31mERROR\u{1b}[0m\u{1b}[1mpanicked at src/main.rs:1:2:",
            "[\u{1b}[91mERROR\u{1b}[m] \u{1b}[1mpanicked\u{1b}[0m at \u{1b}[4msrc/main.rs\u{1b}[24m:\u{1b}[33m1\u{1b}[0m:2:",
            "panicked at src/main.rs:1:2\u{1b}(B\u{1b}[m\r\n",
            "\u{1b}(B\u{1b}[Kpanicked at src/main.rs:1:2:",
            "\u{1b}[31m[0.1] fault at 0x0000000000001000: read",
            "\u{1b}[31mhang on cpu 0: its timer has not ticked for 2 s",
            "\u{1b}[31moh\n\u{1b}[2m\u{1b}[36maarch64, no build id, no tables\u{1b}[0m",
        ] {
            assert!(has_failure(failure.as_bytes()), "{failure:?}");
        }
        for other in [
            "\u{1b}[31mno task panicked at all: 12 threads\u{1b}[0m\n",
            "\u{1b}[33minterrupted on cpu 0 at 0x0000000000001000: nmi\u{1b}[0m\n\u{1b}[2mx86_64, no build id, no tables\u{1b}[0m\n",
        ] {
            assert!(!has_failure(other.as_bytes()), "{other:?}");
        }
    }
}
