//! A progress bar for what takes longer than two seconds.
//!
//! The steps of a long work each have a bar, which is drawn only from two seconds after the first step began on, and only on
//! a terminal. Who calls the library on a smaller file sees nothing of it.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(2);
/// Positions that are reported are this many of a step, so that reporting costs nothing.
const REPORTS: u64 = 1000;

/// When the first step began.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    bar: ProgressBar,
    shown: Cell<bool>,
    stride: u64,
    next: Cell<u64>,
}

impl Step {
    /// Begins a step of so many units of work.
    pub(crate) fn new(what: &'static str, total: usize) -> Self {
        LazyLock::force(&BEGAN);
        let total = total as u64;
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg:>28} [{bar:40}] {percent:>3} % {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        Self {
            bar,
            shown: Cell::new(false),
            stride: (total / REPORTS).max(1),
            next: Cell::new(0),
        }
    }

    /// Says how much is done.
    pub(crate) fn at(&self, position: usize) {
        let position = position as u64;
        if position < self.next.get() {
            return;
        }
        self.next.set(position.saturating_add(self.stride));
        if !self.shown.get() && BEGAN.elapsed() > PATIENCE {
            // Nothing is drawn where that is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown.set(true);
        }
        self.bar.set_position(position);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
