//! A progress bar for what takes longer than two seconds.
//!
//! The steps of a long work each have a bar, which is drawn only from two seconds after the first step began on, and only on
//! a terminal. Who calls the library on a smaller file sees nothing of it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(2);
/// Positions that are reported are this many of a step, so that reporting costs nothing.
const REPORTS: u64 = 1000;

/// When the first step began.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A bar is drawn. What is done at the same time has none.
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
            stride: (total / REPORTS).max(1),
            done: AtomicU64::new(0),
            next: AtomicU64::new(0),
        }
    }

    /// Says how much is done.
    pub(crate) fn at(&self, position: usize) {
        let position = position as u64;
        // That another thread does the same here does no harm.
        if position < self.next.load(Relaxed) {
            return;
        }
        self.next
            .store(position.saturating_add(self.stride), Relaxed);
        if !self.shown.load(Relaxed) {
            if BEGAN.elapsed() <= PATIENCE || DRAWN.swap(true, Relaxed) {
                return;
            }
            // Nothing is drawn where that is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown.store(true, Relaxed);
        }
        self.bar.set_position(position);
    }

    /// Says that one more unit is done.
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
