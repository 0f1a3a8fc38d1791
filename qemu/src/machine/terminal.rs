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

/// A terminal that passes on every key as it is pressed, shows nothing by itself, and becomes what it was when this value
/// goes, or when this process is asked to end. Output is left alone, so that a kernel's line feed begins a line.
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
        // Nothing runs destructors when a signal ends the process.
        let mut signals = Signals::new([SIGTERM, SIGHUP]).ok()?;
        let was = before.clone();
        std::thread::spawn(move || {
            for signal in &mut signals {
                give_back(&was);
                // It ends the process; if not, nobody could be told.
                let _ = emulate_default_handler(signal);
            }
        });
        tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Self(before))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back(&self.0);
    }
}

fn give_back(was: &Termios) {
    // A terminal that has gone needs no care.
    let _ = tcsetattr(stdin(), OptionalActions::Now, was);
}
