//! What a kernel has written for one part: its lists, and the lines that were damaged on their way.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use portable::command_line::TYPED_PROMPT;
use regex::Regex;

use super::talk::{KERNEL, LAST_LINE};
use super::whole::Writable;
use crate::decode;
use crate::report::{Begin, Frame, Line, Verdict};

/// The lines of a part.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    /// Lines that are not as any kernel of this image writes them.
    pub(super) damaged: Vec<String>,
    /// The lists, in their order.
    pub(super) lists: Vec<List>,
    /// Other lines with a meaning.
    pub(super) lines: BTreeSet<String>,
    /// The kernel was reset, and asks for a command line.
    pub(super) is_reset: bool,
}

/// A list of frames.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    /// The line that says what the list is about; empty for the first one if there is none.
    pub(super) subject: String,
    /// Its lines, to the last one.
    pub(super) lines: Vec<String>,
    /// Its last words, if they have come.
    pub(super) end: Option<String>,
    /// The next number of a frame.
    next: usize,
    /// A letter of it stands for a frame in doubt.
    is_doubtful: bool,
    /// The last frame was interrupted, so the next one is where that happened.
    is_interrupted: bool,
}

/// Lines whose text differs from boot to boot.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        r"^(?:cpu \d(?:, task \w+)?(?:, stopped at |(?: with hardware ID|, known to the hardware as) 0x\d,? does not start)|cpu \d does not answer$",
        r"|task \w+: (?:(?:about to run|runs) on cpu \d|has |ready to run|waits |sleeps |there is none$))",
    );
    Regex::new(pattern).expect("a regular expression")
});

/// Interrupts that come at any instruction: ticks, and what wakes or stops another CPU.
static INTERRUPT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^(?:timer interrupt|IRQ|FIQ), stack (?:boot(?: of cpu \d)?|task (?<task>\w+))$";
    Regex::new(pattern).expect("a regular expression")
});

impl Heard {
    /// Reads what has come after the line that names the scenario.
    pub(super) fn of(text: &str, first: &str, writable: &Writable<'_>) -> Self {
        let mut heard = Self::default();
        let mut lines = text.lines().map(str::trim_end);
        if !lines.by_ref().any(|line| line == first) {
            heard.damaged.push(format!("none is {first:?}"));
            return heard;
        }
        let lines: Vec<_> = lines.collect();
        heard.is_reset = text.ends_with(TYPED_PROMPT);
        // A reset of the board may add bytes to the line before the prompt.
        let is_next_boot = |line: &&str| heard.is_reset && line.contains(KERNEL);
        let end = lines.iter().rposition(is_next_boot);
        let mut list = List::default();
        for line in &lines[..end.unwrap_or(lines.len())] {
            if !line.is_empty() {
                heard.line(line, &mut list, writable);
            }
        }
        heard.close(list);
        heard.prove_begins(writable);
        heard
    }

    /// Compares the lines with which reports of failures begin with their last lines, which have the same words.
    fn prove_begins(&mut self, writable: &Writable<'_>) {
        let subjects = self.lists.iter().map(|list| &list.subject);
        let is_unproven = |subject: &&String| {
            is_begin(subject)
                && !writable.has(subject)
                && !self.lines.contains(&format!("{LAST_LINE}{subject}"))
        };
        let unproven = subjects.filter(is_unproven).cloned();
        let unproven: Vec<String> = unproven.collect();
        self.damaged.extend(unproven);
    }

    /// Adds a list, which is over.
    fn close(&mut self, list: List) {
        if list.next > 0 || list.end.is_some() || !list.subject.is_empty() {
            self.lists.push(list);
        }
    }

    /// Adds a line.
    fn line(&mut self, line: &str, list: &mut List, writable: &Writable<'_>) {
        let is_open = list.next > 0 && list.end.is_none();
        let is_whole = match Line::parse(line) {
            Some(("", parsed)) => list.line(line, &parsed, writable),
            Some(_) => false,
            None if Begin::of(line).is_some() => {
                let ended = std::mem::take(list);
                list.subject = line.to_owned();
                // Without an end line another list would have begun in the middle of it.
                self.close(ended);
                !is_open && (writable.has(line) || VARIABLE.is_match(line) || is_begin(line))
            }
            None if is_open => false,
            None => self.other(line, list, writable),
        };
        if !is_whole {
            self.damaged.push(line.to_owned());
        }
    }

    /// Adds a line outside of lists.
    fn other(&mut self, line: &str, list: &List, writable: &Writable<'_>) -> bool {
        // The line of the CPU, the task, the build and the tables, which is QEMU's.
        if decode::build(line).is_some() {
            return writable.has(line);
        }
        // Registers and code, which are no part of a list.
        let is_registers = !list.subject.is_empty() && list.end.is_none();
        if is_registers && (line.starts_with("  ") || line.starts_with("code: ")) {
            return true;
        }
        self.lines.insert(line.to_owned());
        let mut subjects = self.lists.iter().map(|list| &*list.subject);
        let is_repeated = line.strip_prefix(LAST_LINE).is_some_and(|failure| {
            failure == list.subject || subjects.any(|subject| subject == failure)
        });
        is_repeated || writable.has(line) || VARIABLE.is_match(line)
    }
}

/// Whether a line begins the report of a failure.
fn is_begin(line: &str) -> bool {
    Begin::of(line) == Some(Begin::Failure)
}

impl List {
    /// Adds a line of a list. Returns whether it is whole.
    fn line(&mut self, line: &str, parsed: &Line<'_>, writable: &Writable<'_>) -> bool {
        let is_after_end = self.end.is_some();
        let last = self.lines.iter().rev().find_map(|line| frame(line));
        let is_whole = match parsed {
            Line::Frame(frame) => {
                let is_next = frame.number == format!("{:>4}", self.next);
                let is_exact = self.next == 0 || self.is_interrupted;
                self.next += 1;
                self.is_interrupted = false;
                self.is_doubtful |= !"pr".contains(frame.letter);
                let is_letter = (frame.letter == 'p') == is_exact || frame.letter == '?';
                is_next && is_letter && writable.has_frame(line, frame)
            }
            Line::Inlined(source) => {
                last.is_some_and(|frame| writable.has_inlined(line, &frame, source))
            }
            Line::LeftOut(count) => {
                self.next = self.next.saturating_add(*count);
                true
            }
            Line::Interrupted(words) => {
                self.is_interrupted = true;
                writable.has(line) || is_interrupt(words, &self.subject)
            }
            Line::TailCall(_) => writable.has(line),
            Line::End(end) => {
                self.end = Some(end.words.to_owned());
                let is_complete = end.verdict == Verdict::Complete;
                end.frames == self.next && !(is_complete && self.is_doubtful)
            }
        };
        self.lines.push(line.to_owned());
        is_whole && !is_after_end
    }
}

/// Whether the words between frames are about an interrupt on a stack of the CPU or the task that a list is about: where it comes is chance.
fn is_interrupt(words: &str, subject: &str) -> bool {
    let Some(owner) = INTERRUPT.captures(words) else {
        return false;
    };
    let Some(task) = owner.name("task") else {
        return true;
    };
    let mut names = subject.split([' ', ',', ':']);
    names.any(|name| name == task.as_str())
}

/// Whether a line states that a task runs, without a list below it: the list is that of the task's CPU.
pub(super) fn is_running_task(line: &str) -> bool {
    line.starts_with("task ") && line.contains(": runs on cpu ") && Begin::of(line).is_none()
}

/// Parses a frame's line.
pub(super) fn frame(line: &str) -> Option<Frame<'_>> {
    match Line::parse(line) {
        Some(("", Line::Frame(frame))) => Some(frame),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_interrupt;

    #[test]
    fn interrupts_may_come_on_the_stacks_that_a_list_is_about() {
        for (words, subject, is_known) in [
            (
                "timer interrupt, stack boot",
                "cpu 0, task main, stopped",
                true,
            ),
            (
                "IRQ, stack boot of cpu 3",
                "cpu 3, stopped at 0x80000",
                true,
            ),
            ("FIQ, stack task busy", "task busy: ready to run", true),
            ("IRQ, stack task busy", "task other: ready to run", false),
            (
                "IRQ, stack boot of cpu x",
                "cpu 3, stopped at 0x80000",
                false,
            ),
            ("IRR, stack boot", "cpu 0, task main, stopped", false),
        ] {
            assert_eq!(is_interrupt(words, subject), is_known, "{words}");
        }
    }
}
