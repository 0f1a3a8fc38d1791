//! The messages of the runner and of the set-up: whole lines on standard error, and progress of long work.

use std::cell::Cell;
use std::fmt;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The time between two lines of progress if standard error is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Writes a line to standard error, in one write, so that lines of several processes do not mix. A closed standard error is
/// ignored.
pub fn say(words: fmt::Arguments<'_>) {
    let line = format!("runner: {words}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Something that takes longer than two seconds: a moving line on a terminal, plain lines elsewhere.
#[derive(Debug)]
pub struct Progress {
    what: String,
    /// `None` if standard error is no terminal.
    bar: Option<ProgressBar>,
    started: Instant,
    last_line: Cell<Instant>,
}

impl Progress {
    /// Starts to report `what` is being done.
    #[must_use]
    pub fn start(what: String) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner().with_message(what.clone());
            bar.set_style(style("runner: {spinner} {msg} ({elapsed})"));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        if bar.is_none() {
            say(format_args!("{what}"));
        }
        Self {
            what,
            bar,
            started: Instant::now(),
            last_line: Cell::new(Instant::now()),
        }
    }

    /// Reports that it is still going on.
    pub fn tick(&self) {
        if self.line_is_due() {
            let seconds = self.started.elapsed().as_secs();
            let task = &self.what;
            say(format_args!("{task}: {seconds} s so far"));
        }
    }

    /// Reports that `done` of `total` bytes are there.
    pub fn bytes(&self, done: u64, total: u64) {
        if let Some(bar) = &self.bar {
            if bar.length().is_none() {
                bar.set_length(total);
                bar.set_style(style(
                    "runner: {msg} [{bar:30}] {bytes} of {total_bytes} ({elapsed})",
                ));
            }
            bar.set_position(done);
        } else if self.line_is_due() {
            let mebibytes = |bytes: u64| bytes >> 20;
            say(format_args!(
                "{task}: {done} of {total} MiB done",
                task = self.what,
                done = mebibytes(done),
                total = mebibytes(total)
            ));
        }
    }

    /// Reports that it is done.
    pub fn done(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let seconds = self.started.elapsed().as_secs();
        // Short work needs no second line.
        if self.bar.is_some() || seconds >= 2 {
            let task = &self.what;
            say(format_args!("{task}: done in {seconds} s"));
        }
    }

    fn line_is_due(&self) -> bool {
        let due = self.bar.is_none() && self.last_line.get().elapsed() >= LINE_EVERY;
        if due {
            self.last_line.set(Instant::now());
        }
        due
    }
}

/// If the work fails, the progress bar is cleared before the error is printed.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A style from a constant template.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
