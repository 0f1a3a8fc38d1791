//! The terminal at the other end of an interactive serial line.

use std::io::{IsTerminal, stdin};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// The key that ends an interactive machine: Ctrl-], as in telnet. Ctrl-C is the kernel's.
pub const LEAVE: u8 = 0x1d;

/// A terminal that passes on every key as it is pressed, shows nothing by itself, and becomes what it was when this value
/// goes. Output is left alone, so that a kernel's line feed begins a line.
#[derive(Debug)]
pub struct Terminal(Termios);

impl Terminal {
    /// Takes over the terminal at standard input; none if there is none.
    #[must_use]
    pub fn take() -> Option<Self> {
        if !stdin().is_terminal() {
            return None;
        }
        let before = tcgetattr(stdin()).ok()?;
        let mut raw = before.clone();
        raw.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        raw.input_modes -= InputModes::ICRNL | InputModes::INLCR | InputModes::IGNCR;
        raw.input_modes -= InputModes::IXON | InputModes::ISTRIP;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Self(before))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that has gone needs no care.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}
