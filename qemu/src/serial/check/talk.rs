//! A conversation with a kernel that asks for its command line: the same one with a board and with QEMU.

use portable::command_line::TYPED_PROMPT;
use portable::on_screen::ON_SCREEN;

use super::parts::{MONITOR, Part, SCREEN, Sent};
use super::wire::{Ended, Wire};

/// The monitor's prompt, at the start of a line.
const MONITOR_PROMPT: &[u8] = b"\n> ";

/// The start of a report's last line.
pub(super) const LAST_LINE: &str = "first failure: ";

/// The start of the kernel's lines about itself.
pub(super) const KERNEL: &str = "kernel on ";

/// Talks to the kernel for one part. What has come is in the wire.
pub(super) fn talk(wire: &mut Wire, part: &Part) -> Ended {
    let ended = wire.wait_for_prompt();
    let start = wire.came.len();
    match (ended, part.sent) {
        (Ended::Whole, Sent::Line(line)) => say(wire, line, |came| is_over(&came[start..], part)),
        (Ended::Whole, Sent::Monitor) => monitor(wire, start),
        (ended, _) => ended,
    }
}

/// Starts the monitor, and types its commands.
fn monitor(wire: &mut Wire, start: usize) -> Ended {
    let mut line = "monitor";
    let mut from = start;
    for command in MONITOR {
        let ended = say(wire, line, |came| {
            came[from..].ends_with(MONITOR_PROMPT) || is_prompt_again(&came[start..])
        });
        if ended != Ended::Whole {
            return ended;
        }
        from = wire.came.len();
        line = command;
    }
    say(wire, line, |came| is_prompt_again(&came[start..]))
}

/// Sends a line, and waits.
fn say(wire: &mut Wire, line: &str, is_enough: impl Fn(&[u8]) -> bool) -> Ended {
    match wire.send(format!("{line}\r").as_bytes()) {
        Ok(()) => wire.wait(false, is_enough),
        Err(error) => Ended::Gone(format!("{error:#}")),
    }
}

/// Whether a part is over: its last line has come, or the kernel was reset, and asks for the next command line.
fn is_over(came: &[u8], part: &Part) -> bool {
    let last = match part.name {
        SCREEN => ON_SCREEN,
        _ => LAST_LINE,
    };
    let text = String::from_utf8_lossy(came);
    let mut whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole.any(|line| line.starts_with(last)) || is_prompt_again(came)
}

/// Whether the kernel asks for a command line after it has written something else: a prompt may come twice, if keys have come before it.
fn is_prompt_again(came: &[u8]) -> bool {
    came.ends_with(TYPED_PROMPT.as_bytes())
        && String::from_utf8_lossy(came).lines().skip(1).any(|line| {
            let is_of_prompt = line.starts_with(TYPED_PROMPT.trim_end())
                || line.contains(KERNEL) && line.contains(", build ");
            !line.trim().is_empty() && !is_of_prompt
        })
}
