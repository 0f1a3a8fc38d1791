//! The terminal at the other end of an interactive serial line.

use std::io::{IsTerminal, stdin};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// The key that ends an interactive machine: Ctrl-], as in telnet. Ctrl-C is the kernel's.
pub const LEAVE: u8 = 0x1d;

/// A terminal in raw mode for input: without line editing and echo. Output processing stays on, so that a line feed starts a
/// new line. The old mode is restored when this value is dropped, and at signals that end the process.
#[derive(Debug)]
pub struct Terminal(Termios);

impl Terminal {
    /// Takes over the terminal at standard input; `None` if that is no terminal.
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
        // Nothing runs destructors when a signal ends the process.
        let mut signals = Signals::new([SIGTERM, SIGHUP]).ok()?;
        let was = before.clone();
        std::thread::spawn(move || {
            for signal in &mut signals {
                restore(&was);
                // The signal's default action ends the process; a failure could not be reported.
                let _ = emulate_default_handler(signal);
            }
        });
        tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Self(before))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore(&self.0);
    }
}

fn restore(was: &Termios) {
    // Fails only if the terminal is gone.
    let _ = tcsetattr(stdin(), OptionalActions::Now, was);
}
