//! What the runner says of a machine that it asks where it is.

use std::path::Path;

use crate::support::report::Report;
use crate::support::runner::{Ran, command};
use crate::support::session::Session;

/// The last line of a scenario that hangs.
const LAST_LINE: &str = "the scenario prints nothing after this line";

/// How the line begins behind which the end of the serial line is shown once more.
const ONCE_MORE: &str = "\nrunner: kernel: the last lines of ";

/// How the text begins.
const BEGIN: &str = "inspected by the runner, because ";

/// A run in which a machine was asked.
pub struct Asked {
    /// The runner's end.
    pub ran: Ran,
    /// What it has said, from the first line about the machine on, without what the machine said.
    pub text: String,
    /// Of that, the traces, one for each CPU.
    pub reports: Vec<Report>,
}

impl Asked {
    /// Takes what the runner has said apart.
    #[track_caller]
    pub fn of(ran: Ran) -> Self {
        let from = ran.words.find(BEGIN);
        let from = from.unwrap_or_else(|| panic!("nobody was asked: {}", ran.words));
        let text = &ran.words[from..];
        let text = text.split(ONCE_MORE).next().unwrap_or(text).to_owned();
        let reports = Report::find_all(text.as_bytes());
        Self { ran, text, reports }
    }

    /// How many times the machine was asked.
    pub fn times(&self) -> usize {
        self.text.matches(BEGIN).count()
    }
}

/// Boots a scenario that hangs, and presses Ctrl-C when it does.
#[track_caller]
pub fn interrupted(image: &Path, command_line: &str, cpus: usize) -> Asked {
    interrupted_after(LAST_LINE, image, command_line, cpus)
}

/// The same of one that says something else last.
#[track_caller]
pub fn interrupted_after(last: &str, image: &Path, command_line: &str, cpus: usize) -> Asked {
    interrupted_on(&[], last, image, command_line, cpus)
}

/// The same with these options for the runner.
#[track_caller]
pub fn interrupted_on(
    options: &[&str],
    last: &str,
    image: &Path,
    command_line: &str,
    cpus: usize,
) -> Asked {
    let mut session = start(options, image, command_line, cpus);
    session.wait_for(last);
    // After the line, the CPUs still execute the instructions up to where they hang.
    session.settle();
    session.interrupt();
    let asked = Asked::of(session.end().expect(130));
    let reason = "inspected by the runner, because Ctrl-C was pressed: ";
    assert!(asked.text.starts_with(reason), "{}", asked.text);
    asked
}

/// Boots a scenario that ends its machine.
#[track_caller]
pub fn ended(image: &Path, command_line: &str) -> Asked {
    ended_on(&[], image, command_line)
}

/// The same with these options for the runner.
#[track_caller]
pub fn ended_on(options: &[&str], image: &Path, command_line: &str) -> Asked {
    Asked::of(start(options, image, command_line, 1).end())
}

fn start(options: &[&str], image: &Path, command_line: &str, cpus: usize) -> Session {
    let mut command = command();
    command
        .args(options)
        .args(["--timeout", "120", "--cpus", &cpus.to_string(), "--image"])
        .arg(image)
        .arg(command_line);
    Session::of(&mut command)
}
