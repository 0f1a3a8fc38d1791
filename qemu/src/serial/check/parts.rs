//! The parts of a check, in the order in which they need the fewest acts of the user.

use crate::raspi::Model;

/// A part of a step: one command line for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The number of its step.
    pub(super) step: u8,
    /// Its name in the table.
    pub(super) name: &'static str,
    /// What the user does before it, if anything.
    pub(super) act: Option<Act>,
    /// What is sent to the kernel.
    pub(super) sent: Sent,
    /// Why the list may differ from one boot to the next.
    pub(super) differs: Differs,
}

/// An act of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Connects the board, copies the files, and switches the power on.
    Begin,
    /// Takes the overlay for the PL011 off the card.
    WithoutOverlay,
}

/// What is sent to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Nothing: the first line is all.
    Nothing,
    /// A command line.
    Line(&'static str),
    /// The command line `monitor`, and commands for the monitor.
    Monitor,
}

/// What may differ from one boot to the next, in QEMU as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Differs {
    /// Nothing of the first list.
    Nothing,
    /// The instruction of a loop at which a CPU was interrupted, and the CPU that found it.
    Interrupted,
}

/// Commands that the monitor gets, each after a prompt; the last one resets the machine.
pub(super) const MONITOR: [&str; 2] = ["bt", "reboot"];

const fn line(step: u8, name: &'static str, line: &'static str) -> Part {
    Part {
        step,
        name,
        act: None,
        sent: Sent::Line(line),
        differs: Differs::Nothing,
    }
}

const PARTS: [Part; 9] = [
    Part {
        act: Some(Act::Begin),
        sent: Sent::Nothing,
        ..line(1, "first line", "")
    },
    line(2, "panic", "panic reset"),
    Part {
        sent: Sent::Monitor,
        ..line(3, "monitor", "")
    },
    line(4, "stack-overflow", "stack-overflow reset"),
    line(5, "cpus", "cpus reset"),
    Part {
        differs: Differs::Interrupted,
        ..line(5, "hang", "hang reset")
    },
    line(5, "tasks", "tasks reset"),
    // Without a reset, which would take the picture away. So it is the last one before the power is switched off.
    line(6, SCREEN, "panic screen"),
    Part {
        act: Some(Act::WithoutOverlay),
        ..line(7, "mini UART", "panic reset")
    },
];

/// The name of the part whose report is on the screen, too.
pub(super) const SCREEN: &str = "screen";

/// The highest number of a step.
pub(super) const LAST: u8 = PARTS[PARTS.len() - 1].step;

/// Returns the parts for a board. A Raspberry Pi 5 runs one CPU without interrupts, and has neither a screen nor a mini UART for the kernel.
pub(super) fn parts(board: Model) -> impl Iterator<Item = Part> {
    let last = match board {
        Model::Raspi5 => 4,
        Model::Raspi3 | Model::Raspi4 => LAST,
    };
    PARTS.into_iter().filter(move |part| part.step <= last)
}
