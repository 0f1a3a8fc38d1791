//! What came of a part: whether enough has come to compare it, and what to do if not.

use std::sync::LazyLock;

use portable::command_line::TYPED_PROMPT;
use regex::Regex;

use super::compare::{Judged, Verdict, compare};
use super::heard::Heard;
use super::parts::{Part, Sent};
use super::talk::KERNEL;
use super::whole::Writable;
use super::wire::{Ended, Wire};
use crate::raspi::Model;

/// The kernel's line before its prompt.
static GREETING: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"kernel on (?<board>\w+), aarch64, build (?<build>[0-9a-f]+)$";
    Regex::new(pattern).expect("a regular expression")
});

/// What to check if a board is silent.
pub(super) fn advice(board: Model) -> &'static str {
    match board {
        Model::Raspi5 => {
            "check the power, the three files on the card, and the two wires at the connector between the HDMI sockets (ground to \
             ground, the board's output to the adapter's input). Press Enter to end this step"
        }
        Model::Raspi3 | Model::Raspi4 => {
            "check the power, the wires (ground to pin 6, the adapter's input to pin 8, the adapter's output to pin 10), and the files on the \
             card. If the board does not reset itself, switch its power off and on. Press Enter to end this step"
        }
    }
}

/// What to check if nothing readable came.
const UNREADABLE: &str = "if the text is unreadable, the board uses another baud rate; check `init_uart_clock` in config.txt, and \
                          the clock frequency in kernel/src/board";

/// Expectations of one board.
pub(super) struct Judge<'a> {
    pub(super) board: Model,
    pub(super) writable: Writable<'a>,
    /// Where the files for the card are.
    pub(super) card: String,
}

impl Judge<'_> {
    /// Waits for the first prompt, and judges which kernel asks.
    ///
    /// # Errors
    /// Returns how waiting ended if no prompt has come.
    pub(super) fn greeting(&self, wire: &mut Wire) -> Result<Judged, Ended> {
        let first = self.greeted(wire)?;
        let expected = format!(
            "{KERNEL}{board}, aarch64, build {build}",
            board = self.board.name(),
            build = self.writable.build()
        );
        if first == expected {
            return Ok(Judged::new(Verdict::Equal, first));
        }
        // A damaged line does not come twice.
        wire.ask_again();
        wire.came.push(b'\n');
        let again = self.greeted(wire)?;
        let found = GREETING
            .captures(&first)
            .filter(|_| again.ends_with(&first));
        let Some(found) = found else {
            let why = format!(
                "1 incomplete line:\n    {line}",
                line = linker::symbols::printable(&first)
            );
            return Ok(Judged::new(Verdict::Damaged, why));
        };
        let (board, build) = (&found["board"], &found["build"]);
        let why = match board == self.board.name() {
            true => format!(
                "the board runs build {build}, expected {expected}: copy kernel8.img from {folder} again",
                expected = self.writable.build(),
                folder = self.card
            ),
            false => format!(
                "the kernel runs on board {board}, not on {expected}; use --board {board}",
                expected = self.board.name()
            ),
        };
        Ok(Judged::new(Verdict::Different, why))
    }

    /// Waits for a prompt, and returns the line before it.
    fn greeted(&self, wire: &mut Wire) -> Result<String, Ended> {
        match wire.wait_for_prompt() {
            Ended::Whole => {}
            ended => return Err(ended),
        }
        let text = text(&wire.came);
        let mut lines = text.lines().rev().skip(1);
        let line = lines.find(|line| !line.trim().is_empty());
        Ok(line.unwrap_or_default().to_owned())
    }

    /// Judges a part by what has come.
    pub(super) fn part(&self, part: &Part, ended: &Ended, came: &[u8], expected: &str) -> Judged {
        let text = text(came);
        let is_silent = text
            .trim_matches(|c: char| c.is_whitespace() || c.is_control())
            .is_empty();
        let lines = text.lines().count();
        match ended {
            Ended::Interrupted => Judged::new(Verdict::NotTried, "ended by Ctrl-C"),
            Ended::Gone(why) if is_silent => {
                let advice = advice(self.board);
                let why = format!("the serial line was disconnected ({why}); {advice}");
                Judged::new(Verdict::NothingCame, why)
            }
            Ended::Gone(why) => {
                let why = format!("the serial line was disconnected ({why}) after {lines} lines");
                Judged::new(Verdict::Damaged, why)
            }
            Ended::Whole | Ended::Entered | Ended::Alone if is_silent => {
                Judged::new(Verdict::NothingCame, advice(self.board))
            }
            Ended::Whole | Ended::Entered | Ended::Alone if !text.contains(TYPED_PROMPT) => {
                let why = format!(
                    "received {bytes} bytes, but not the prompt of the kernel; {advice}",
                    bytes = came.len(),
                    advice = UNREADABLE
                );
                Judged::new(Verdict::Damaged, why)
            }
            Ended::Whole | Ended::Entered | Ended::Alone => {
                let expected = self.heard(part, expected, Model::Raspi3);
                let heard = self.heard(part, &text, self.board);
                compare(part, &self.on_board(expected), &heard)
            }
        }
    }

    /// Reads what a board has written for a part.
    pub(super) fn heard(&self, part: &Part, text: &str, board: Model) -> Heard {
        let scenario = match part.sent {
            Sent::Nothing => "",
            Sent::Line(line) => line.split(' ').next().unwrap_or_default(),
            Sent::Monitor => "monitor",
        };
        let board = board.name();
        let first = format!("{KERNEL}{board}, aarch64: scenario {scenario}");
        Heard::of(text, &first, &self.writable)
    }

    /// Returns what this board should write where QEMU's has written this: a Raspberry Pi 5 runs one CPU.
    fn on_board(&self, mut expected: Heard) -> Heard {
        if self.board == Model::Raspi5 {
            expected.lists.truncate(1);
        }
        expected
    }
}

/// The text of a serial line.
fn text(came: &[u8]) -> String {
    String::from_utf8_lossy(came).replace('\r', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Symbolizer;
    use crate::serial::check::parts::parts;

    /// A report of this very program, as a kernel would write it.
    fn transcript(symbolizer: &Symbolizer) -> String {
        let frame = |number: u32, letter: char, name: &str| {
            let function = symbolizer.find(name, 0).expect("a function");
            let (start, size) = (function.start, function.size);
            let at = start + u64::from(letter != 'p');
            let offset = at - start;
            format!("{number:>4}: {at:#018x} {letter} {name}+{offset:#x}/{size:#x}\n")
        };
        let build = symbolizer.build_id().expect("the linker makes one");
        let failure = "panicked at kernel/src/a.rs:1:2: no";
        [
            "command line? panic reset\n",
            "kernel on raspi3, aarch64: scenario panic\n",
            &format!("{failure}\ncpu 0, task main, aarch64, build {build}, tables verified\n"),
            &frame(0, 'p', "rust_eh_personality"),
            &frame(1, 'r', "main"),
            "   ----- timer interrupt, stack boot -----\n",
            &frame(2, 'p', "main"),
            "   ----- 7 frames left out -----\n",
            &frame(10, 'r', "main"),
            "end of backtrace: complete, 11 frames\n",
            &format!("first failure: {failure}\n"),
        ]
        .concat()
    }

    fn judged(symbolizer: &Symbolizer, expected: &str, came: &[u8]) -> Judged {
        let mut writable = Writable::of(symbolizer);
        expected.lines().for_each(|line| writable.add(line));
        let (board, card) = (Model::Raspi3, String::new());
        let judge = Judge {
            board,
            writable,
            card,
        };
        let mut all = parts(board);
        let part = all.find(|part| part.name == "panic").expect("there is one");
        judge.part(&part, &Ended::Whole, came, expected)
    }

    fn symbolizer() -> Symbolizer {
        let program = std::env::current_exe().expect("this program has a path");
        Symbolizer::open(&program).expect("it can be read")
    }

    #[test]
    fn one_lost_or_changed_byte_of_a_list_is_damage() {
        let symbolizer = symbolizer();
        let text = transcript(&symbolizer);
        let whole = judged(&symbolizer, &text, text.as_bytes());
        assert_eq!(whole.verdict, Verdict::Equal, "{}", whole.why);
        let begin = text.find(KERNEL).expect("it is there");
        // Without the last line feed the text is the same.
        for at in begin..text.len() - 1 {
            let byte = text.as_bytes()[at];
            let others = [byte ^ 1, byte ^ 2, b' ', b'0', b'p', b'?', 0, 0xff];
            let changed = others.into_iter().filter(|other| *other != byte).map(Some);
            for becomes in changed.chain([None]) {
                let mut came = text.as_bytes().to_vec();
                came.splice(at..=at, becomes);
                let judged = judged(&symbolizer, &text, &came);
                let shown = String::from_utf8_lossy(&came);
                assert_eq!(
                    judged.verdict,
                    Verdict::Damaged,
                    "{at} {becomes:?}:\n{shown}"
                );
            }
        }
    }

    /// Another CPU may take a task while the report is written.
    #[test]
    fn the_state_of_a_task_may_differ() {
        let symbolizer = symbolizer();
        let transcript = transcript(&symbolizer);
        let list = "   0: 0x0000000000000010 p\nend of backtrace: complete, 1 frames\n";
        let with = |state: &str, list: &str| format!("{transcript}task fresh: {state}\n{list}");
        let expected = with("ready to run", list);
        for (state, list, verdict) in [
            ("about to run on cpu 1", list, Verdict::Equal),
            ("sleeps for 10 ms", list, Verdict::Equal),
            ("runs on cpu 1", "", Verdict::Equal),
            ("waits for lock door", "", Verdict::Different),
            ("about to rum on cpu 1", list, Verdict::Damaged),
        ] {
            let came = with(state, list);
            let judged = judged(&symbolizer, &expected, came.as_bytes());
            assert_eq!(judged.verdict, verdict, "{}\n{came}", judged.why);
        }
    }

    #[test]
    fn a_list_that_another_kernel_could_write_is_different() {
        let symbolizer = symbolizer();
        let text = transcript(&symbolizer);
        let lines: Vec<_> = text.lines().collect();
        // A list that ends before its last frame, and says so.
        let end = "end of backtrace: incomplete: no unwind row for the return address, 1 frames";
        let came = [&lines[..5], &[end], &lines[11..]].concat().join("\n");
        let judged = judged(&symbolizer, &text, came.as_bytes());
        assert_eq!(judged.verdict, Verdict::Different, "{}\n{came}", judged.why);
        assert!(
            judged.why.contains(&format!("expected  {}", lines[5])),
            "{}",
            judged.why
        );
    }
}
