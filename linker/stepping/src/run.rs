//! Runs one program, or all programs of a list.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use object::{Architecture, FileKind, Object};

use crate::emulated::{Arm, Emulated};
use crate::follow::{Plan, follow, follow_machine};
use crate::list::{self, Program};
use crate::modules::Library;
use crate::report;
use crate::tally::{Sums, Tally};

/// Follows a program on this host, or in an emulator if the program is for ARM.
///
/// # Errors
/// Returns an error if the program cannot be started or stepped.
pub fn run(command: &mut Command, library: &Library, plan: Plan) -> Result<Tally> {
    let path = PathBuf::from(command.get_program());
    match arm(&path) {
        None => follow(command, library, plan),
        Some(arm) => {
            let socket = std::env::temp_dir().join(format!(
                "stepping.{}.{:?}",
                std::process::id(),
                std::thread::current().id()
            ));
            let tally = follow_machine(Emulated::start(arm, &path, &socket)?, library, plan);
            let _ = fs::remove_file(socket);
            tally
        }
    }
}

/// The instruction set of a program for ARM; `None` for any other.
fn arm(path: &Path) -> Option<Arm> {
    let data = fs::read(path).ok()?;
    let kind = FileKind::parse(&*data).ok()?;
    if !matches!(kind, FileKind::Elf32 | FileKind::Elf64) {
        return None;
    }
    match object::File::parse(&*data).ok()?.architecture() {
        Architecture::Aarch64 => Some(Arm::A64),
        Architecture::Arm => Some(Arm::A32),
        _ => None,
    }
}

/// The programs of a list, and the folder that their sources are in.
#[derive(Debug)]
pub struct Programs {
    programs: Vec<Program>,
    folder: PathBuf,
}

/// The results of all programs.
#[derive(Clone, Debug, Default)]
pub struct Total {
    /// Boundaries.
    pub sums: Sums,
    /// Lists, as [`report::lists`] counts them.
    pub lists: [u64; 5],
    /// Names of the programs with a wrong proven row, or a list by proven rows that is wrongly called complete.
    pub wrong: Vec<String>,
    /// Why programs were not built or not followed.
    pub failed: Vec<String>,
}

impl Programs {
    /// Reads a list, and keeps the programs whose names `is_wanted` accepts. Programs are built in `out`.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read, or no program is wanted.
    pub fn read(file: &Path, out: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Self> {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        fs::create_dir_all(out)?;
        let mut programs = list::read(&text, &out.canonicalize()?)?;
        programs.retain(|program| is_wanted(&program.name));
        ensure!(
            !programs.is_empty(),
            "no program in the list matches the given name"
        );
        let file = file.canonicalize()?;
        let folder = file
            .parent()
            .context("the program list has no parent folder")?
            .to_owned();
        Ok(Self { programs, folder })
    }

    /// Builds and follows the programs, and passes each result to `show`.
    pub fn run(&self, library: &Library, plan: Plan, show: &mut dyn FnMut(&str, &Tally)) -> Total {
        let mut total = Total::default();
        for program in &self.programs {
            let folder = &self.folder;
            let tally = program
                .build(folder)
                .and_then(|()| run(program.command().current_dir(folder), library, plan));
            match tally {
                Err(error) => total.failed.push(format!("{}: {error:#}", program.name)),
                Ok(tally) => {
                    show(&program.name, &tally);
                    total.sums.add(&tally.sums());
                    for (sum, count) in total.lists.iter_mut().zip(report::lists(&tally)) {
                        *sum += count;
                    }
                    if !tally.is_right() {
                        total.wrong.push(program.name.clone());
                    }
                }
            }
        }
        total
    }
}

impl Total {
    /// Whether all programs were followed, no proven row is wrong, and no list by proven rows is wrongly called complete.
    #[must_use]
    pub const fn is_right(&self) -> bool {
        self.wrong.is_empty() && self.failed.is_empty()
    }
}
