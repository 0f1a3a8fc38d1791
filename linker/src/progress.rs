//! A progress bar for work that takes longer than two seconds.
//!
//! Each step has a bar. It is drawn only on a terminal, and only after two seconds since the first step began, so that short
//! work shows nothing.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time before the first bar is drawn.
const DELAY: Duration = Duration::from_secs(2);
/// The largest number of updates of a bar: more would cost time.
const UPDATES: u64 = 1000;

/// When the first step began.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A bar is drawn. Steps that run at the same time have none.
static DRAWN: AtomicBool = AtomicBool::new(false);

/// One step, which several threads may work on.
#[derive(Debug)]
pub(crate) struct Step {
    bar: ProgressBar,
    shown: AtomicBool,
    stride: u64,
    done: AtomicU64,
    next: AtomicU64,
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
            shown: AtomicBool::new(false),
            stride: (total / UPDATES).max(1),
            done: AtomicU64::new(0),
            next: AtomicU64::new(0),
        }
    }

    /// Sets how much is done.
    pub(crate) fn at(&self, position: usize) {
        let position = position as u64;
        // A race with another thread only draws the bar twice.
        if position < self.next.load(Relaxed) {
            return;
        }
        self.next
            .store(position.saturating_add(self.stride), Relaxed);
        if !self.shown.load(Relaxed) {
            if BEGAN.elapsed() <= DELAY || DRAWN.swap(true, Relaxed) {
                return;
            }
            // `indicatif` draws nothing if this is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown.store(true, Relaxed);
        }
        self.bar.set_position(position);
    }

    /// Counts one more unit as done.
    pub(crate) fn one_more(&self) {
        let done = self.done.fetch_add(1, Relaxed);
        self.at(usize::try_from(done).unwrap_or(usize::MAX));
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if *self.shown.get_mut() {
            DRAWN.store(false, Relaxed);
        }
    }
}
