//! Stores the results of boots: the serial line of each in a file, all of them as JSON or JUnit, and the end of a failed one
//! again on standard error.

mod again;
mod file;
mod folder;
mod json;
mod junit;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use again::without_shown;
use anyhow::Result;
use folder::Folder;

use crate::cli::Cli;
use crate::decode;
use crate::judge::Judgement;
use crate::machine::{Board, Booted};
use crate::output::fold;
use crate::status::Status;
use crate::words::say;

/// Lines of the serial line that are shown again when a boot has failed.
const LAST_LINES: usize = 60;

/// What was booted.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The scenario, or the image's file name.
    pub name: String,
    /// The machine's board.
    pub board: Board,
    /// The kernel's profile; `None` for somebody's own image.
    pub profile: Option<&'static str>,
}

impl Subject {
    /// What files are called that are kept of it, without an ending.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}-{}", self.name, self.place())
    }

    /// Where it ran: `x86_64-debug`, and on a board that is not the architecture's first, `raspi3b-debug`.
    fn place(&self) -> String {
        let processor = self.board.processor();
        let place = match Board::of(processor) == self.board {
            true => processor.name(),
            false => self.board.name(),
        };
        match self.profile {
            Some(profile) => format!("{place}-{profile}"),
            None => place.to_owned(),
        }
    }
}

/// One boot.
#[derive(Clone, Debug)]
struct Ran {
    subject: Subject,
    judgement: Judgement,
    took: Duration,
    serial: Vec<u8>,
    asked: Vec<String>,
    /// Where the serial line is kept, unless it could not be written.
    log: Option<PathBuf>,
}

/// All boots of this run.
#[derive(Debug)]
pub struct Results<'a> {
    cli: &'a Cli,
    /// The image that boots.
    image: &'a Path,
    /// Where serial lines are kept.
    logs: Folder,
    ran: Vec<Ran>,
}

impl<'a> Results<'a> {
    /// No results yet. Serial lines go to the folder `serial` in the target folder, those of a second run at the same time to `serial/2`.
    #[must_use]
    pub fn new(cli: &'a Cli, image: &'a Path, target: &Path) -> Self {
        Self {
            cli,
            image,
            logs: Folder::claim(&target.join("serial")),
            ran: Vec::new(),
        }
    }

    /// Keeps a boot's serial line, writes the files that were asked for, and says how it ended.
    ///
    /// The files are written after each boot, so that a later failure does not lose earlier results.
    ///
    /// # Errors
    /// When a file that was asked for cannot be written.
    pub fn add(
        &mut self,
        subject: Subject,
        booted: Booted,
        judgement: Judgement,
    ) -> Result<Status> {
        let log = self.logs.file(&format!("{}.log", subject.file_name()));
        // A copy that nobody asked for does not change what came of the boot.
        let kept = file::write(&log, &booted.serial);
        if let Err(error) = &kept {
            say(format_args!("warning: {error:#}"));
        }
        let log = kept.is_ok().then_some(log);
        let (name, status) = (&subject.name, judgement.status);
        say(format_args!("{name}: {}", judgement.words));
        // A terminal has just shown it.
        if status != Status::Success && !std::io::stderr().is_terminal() {
            let shown = log.as_deref().map_or_else(
                || "the serial output".to_owned(),
                |log| log.display().to_string(),
            );
            let title = format!("{name}: the last lines of {shown}");
            fold::show(&title, &self.last_lines(&booted.serial));
        }
        self.ran.push(Ran {
            subject,
            judgement,
            took: booted.took,
            serial: booted.serial,
            asked: booted.asked,
            log,
        });
        if let Some(path) = &self.cli.json {
            file::write(path, json::lines(&self.ran)?.as_bytes())?;
        }
        if let Some(path) = &self.cli.junit {
            file::write(path, junit::report(&self.ran)?.as_bytes())?;
        }
        Ok(status)
    }

    /// The end of a serial line, decoded if the image can be read, because names help to find the failure. Lists that were shown with all
    /// of these are left out.
    fn last_lines(&self, serial: &[u8]) -> String {
        let raw = String::from_utf8_lossy(serial);
        let text = match decode::plain(serial, self.image) {
            Ok(decoded) if self.cli.decode || self.cli.defmt => without_shown(&decoded, &decoded),
            Ok(decoded) => without_shown(&decoded, &raw),
            Err(_) => without_shown(&raw, &raw),
        };
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(LAST_LINES);
        lines[from..].iter().flat_map(|line| [line, "\n"]).collect()
    }
}
