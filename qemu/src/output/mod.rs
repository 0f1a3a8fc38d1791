//! Standard output, for what a machine says.
//!
//! ```text
//! bytes ─► what acts is made visible ─► queue ─► a thread that owns standard output
//!          (filter)                     (queue)
//! ```

mod filter;
pub mod fold;
mod queue;
mod token;

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::{Context, Result};

pub use filter::Filter;
use queue::Queue;

use crate::words::say;

/// What text must not do where it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Control characters are made visible, but for colours, tabs and the ends of lines.
    pub controls: bool,
    /// Lines that a CI system would take for commands are changed so that they are none.
    pub commands: bool,
}

impl Rules {
    /// Those for text that goes to a terminal, or elsewhere. Who talks with a machine at a terminal gets its control characters.
    #[must_use]
    pub fn new(is_terminal: bool, interactive: bool) -> Self {
        let commands = in_ci();
        Self {
            controls: (is_terminal || commands) && !interactive,
            commands,
        }
    }

    /// Those for standard output.
    #[must_use]
    pub fn for_stdout(interactive: bool) -> Self {
        Self::new(io::stdout().is_terminal(), interactive)
    }
}

/// Variables by which CI systems say that a job of theirs runs.
pub const CI_VARIABLES: [&str; 4] = ["CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];

fn in_ci() -> bool {
    let says_so = |value: &OsStr| !value.is_empty() && !value.eq_ignore_ascii_case("false");
    CI_VARIABLES
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| says_so(&value)))
}

/// The text, as these rules have it.
///
/// # Panics
/// Never: memory takes all that is written.
#[must_use]
pub fn filtered(text: &str, rules: Rules) -> String {
    let mut shown = Vec::with_capacity(text.len());
    let mut filter = Filter::new(&mut shown, rules);
    let written = filter.write_all(text.as_bytes());
    written.expect("memory takes it");
    drop(filter);
    String::from_utf8_lossy(&shown).into_owned()
}

/// Standard output, for the boots of a run.
#[derive(Debug)]
pub struct Output {
    filter: Filter<Queue>,
}

impl Output {
    /// Takes over standard output.
    ///
    /// # Errors
    /// When it is closed.
    pub fn take() -> Result<Self> {
        let stdout = io::stdout().as_fd().try_clone_to_owned();
        let stdout = std::fs::File::from(stdout.context("standard output is closed")?);
        Ok(Self {
            filter: Filter::new(Queue::start(stdout), Rules::default()),
        })
    }

    /// Begins a boot, after whose time limit nobody waits for a reader any more.
    pub fn begin(&mut self, limit: Option<Duration>, interactive: bool) {
        self.filter.set_rules(Rules::for_stdout(interactive));
        self.filter.get_mut().set_limit(limit);
    }

    /// Ends a boot: waits until all is written, up to the limit.
    ///
    /// # Errors
    /// Those of standard output.
    pub fn end(&mut self) -> io::Result<()> {
        self.filter.finish()?;
        if !self.filter.get_mut().drain()? {
            say(format_args!(
                "warning: standard output was not read in time, so the end of the serial output is missing"
            ));
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.filter.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.filter.flush()
    }
}
