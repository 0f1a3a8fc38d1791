//! The monitor on a dump: reads commands, from a terminal with editing and history, or as lines from a script.

use std::fmt;
use std::io::{Read, Write, stdin};
use std::path::Path;

use anyhow::Result;
use portable::keys::Keys;
use portable::line::{Editor, Input};

use super::commands::{self, Monitor};
use super::write;
use crate::dump::Remains;
use crate::machine::terminal::Terminal;
use crate::status::{Failure, Status};

/// The text before every command at a terminal.
const PROMPT: &str = "> ";

/// Reads and runs commands until there are no more.
///
/// # Errors
/// When the image cannot be read, output cannot be written, or a script's command cannot be run.
pub(super) fn run(dump: Box<dyn Remains>, image: &Path) -> Result<Status, Failure> {
    let mut monitor = Monitor::open(dump, image)?;
    match Terminal::take() {
        Some(terminal) => at_terminal(&mut monitor, &terminal)?,
        None => by_script(&mut monitor)?,
    }
    Ok(Status::Success)
}

/// A command that cannot be run is explained, and the next one may be.
fn at_terminal(monitor: &mut Monitor, _terminal: &Terminal) -> Result<()> {
    let greeting = monitor.greeting();
    write(&format!("{greeting}`help` lists the commands\n"))?;
    show(PROMPT)?;
    let mut keys = Keys::new();
    let mut editor = Editor::new(PROMPT, commands::name);
    for byte in stdin().lock().bytes() {
        let Some(key) = keys.take(byte?) else {
            continue;
        };
        let mut shown = Shown::default();
        let input = editor.press(key, &mut shown).unwrap_or(Input::Editing);
        show(&shown.0)?;
        match input {
            Input::Editing => continue,
            Input::Line => match monitor.run(editor.text()) {
                Ok(Some(text)) => write(&text)?,
                Ok(None) => return Ok(()),
                Err(error) => write(&format!("{error:#}\n"))?,
            },
            Input::Dropped => {}
            Input::End => return Ok(()),
        }
        editor.finish();
        show(PROMPT)?;
    }
    Ok(())
}

/// A script ends at the first command that cannot be run, so that nobody takes the rest for all of it.
fn by_script(monitor: &mut Monitor) -> Result<(), Failure> {
    for (number, line) in stdin().lines().enumerate() {
        let line = line.map_err(anyhow::Error::from)?;
        match monitor.run(&line) {
            Ok(Some(text)) => write(&text)?,
            Ok(None) => break,
            Err(error) => {
                let error = error.context(format!("command in line {line}", line = number + 1));
                return Err(Failure::usage(error));
            }
        }
    }
    Ok(())
}

/// Writes what moves the terminal's cursor, which the filter of other output would show instead.
fn show(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// What an editor shows.
#[derive(Default)]
struct Shown(String);

impl fmt::Write for Shown {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text;
        Ok(())
    }
}
