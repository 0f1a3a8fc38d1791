//! Ctrl-C at the terminal, or a CI system that gives up: SIGINT. The machine is asked where it is before this program ends.

use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::serial::Event;

/// Who is told of the signal; nobody while no machine runs.
static LISTENER: Mutex<Option<Sender<Event>>> = Mutex::new(None);

/// As long as this value lives, the first signal is an event; a second one ends this program at once, as it does at other times.
#[derive(Debug)]
pub(super) struct Interrupts;

impl Interrupts {
    pub(super) fn listen(sender: Sender<Event>) -> Result<Self> {
        static STARTED: Mutex<bool> = Mutex::new(false);
        let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
        if !*started {
            let signals = Signals::new([SIGINT]).context("cannot handle Ctrl-C")?;
            std::thread::spawn(|| pass_on(signals));
            *started = true;
        }
        set(Some(sender));
        Ok(Self)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        set(None);
    }
}

fn set(listener: Option<Sender<Event>>) {
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = listener;
}

fn pass_on(mut signals: Signals) {
    for signal in &mut signals {
        let listener = LISTENER
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if listener.is_none_or(|listener| listener.send(Event::Interrupted).is_err()) {
            // The signal's default action ends the process; a failure could not be reported.
            let _ = emulate_default_handler(signal);
        }
    }
}
