//! The walk from outside: where the CPUs of a machine are that says nothing itself.
//!
//! ```text
//! stopped machine ───► walk ───► tell ─────────────► decode
//! or its dump          by what   a report's text,    names, files,
//! registers, memory    the image CPUs, then tasks    lines
//!                      has
//! ```
//!
//! It needs nothing of the guest: not one line of code, no heap that is whole, and no page tables.

mod asked;
mod begin;
mod callers;
mod compared;
mod data;
mod image;
mod memory;
mod moved;
mod names;
mod program;
mod resumed;
#[cfg(test)]
mod small_program;
mod tables;
mod tasks;
mod tell;
mod told;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Result, anyhow};

use crate::dump::{Keeper, say_kept};
use crate::held::Held;
use crate::machine::{Source, Stopped, Witness};
pub use asked::Asked;
pub use callers::{Base, Callers, Stack};
use program::Known;

/// Says where the CPUs of a machine are that runs this image.
#[derive(Debug)]
pub struct Outside<'a> {
    path: &'a Path,
    programs: &'a [PathBuf],
    /// Copies of the images as they were when the machine began, which they are read from then: the kernel's first.
    held: OnceLock<Result<Vec<Held>>>,
    /// Read when it is needed, as most boots end with a verdict: the kernel first, then programs.
    images: Mutex<Option<Result<Vec<Known>>>>,
    keeper: Option<Keeper>,
}

impl<'a> Outside<'a> {
    /// For the ELF image at `path`.
    #[must_use]
    pub const fn new(path: &'a Path) -> Self {
        Self {
            path,
            programs: &[],
            held: OnceLock::new(),
            images: Mutex::new(None),
            keeper: None,
        }
    }

    /// Has code that is not the image's walked by these images.
    #[must_use]
    pub const fn programs(mut self, programs: &'a [PathBuf]) -> Self {
        self.programs = programs;
        self
    }

    /// Has each machine that was asked kept as a dump.
    #[must_use]
    pub fn keeper(mut self, keeper: Option<Keeper>) -> Self {
        self.keeper = keeper;
        self
    }

    /// Where the CPUs and tasks of a machine are that was asked for this reason, or of its dump.
    ///
    /// # Errors
    /// When the image cannot be read, or the machine does not answer.
    pub fn report(&self, source: &mut dyn Source, reason: &str) -> Result<String> {
        match &*self.images() {
            Some(Ok(images)) => match &images[..] {
                [kernel, programs @ ..] => tell::tell(kernel, programs, source, reason),
                [] => Err(anyhow!("no image")),
            },
            Some(Err(error)) => Err(anyhow!("{error:#}")),
            None => Err(anyhow!("no image")),
        }
    }

    fn images(&self) -> MutexGuard<'_, Option<Result<Vec<Known>>>> {
        let mut images = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        images.get_or_insert_with(|| match self.held.get() {
            Some(Ok(held)) => held
                .iter()
                .map(|held| Known::read(&held.path(), held.name()))
                .collect(),
            Some(Err(error)) => Err(anyhow!("{error:#}")),
            None => self.paths().map(|path| Known::read(path, path)).collect(),
        });
        images
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.path).chain(self.programs.iter().map(PathBuf::as_path))
    }
}

impl Witness for Outside<'_> {
    fn begins(&self) {
        self.held
            .get_or_init(|| self.paths().map(Held::of).collect());
    }

    fn prepare(&self) {
        drop(self.images());
    }

    fn tell(&self, stopped: &mut Stopped<'_>, reason: &str) -> String {
        let told = self.report(stopped, reason);
        told.unwrap_or_else(|error| {
            format!("inspected by the runner, because {reason}; the inspection failed: {error:#}\n")
        })
    }

    fn keep(&self, stopped: &mut Stopped<'_>, reason: &str) {
        let Some(keeper) = &self.keeper else {
            return;
        };
        let images = self.images();
        let kernel = (images.as_ref()).and_then(|images| images.as_ref().ok()?.first());
        let build = kernel.and_then(|kernel| kernel.symbolizer.build_id());
        let held = self.held.get();
        let held = held.and_then(|held| held.as_ref().ok()?.first().map(Held::path));
        let image = held.as_deref().unwrap_or(self.path);
        say_kept(keeper.keep(stopped, image, build, reason));
    }
}
