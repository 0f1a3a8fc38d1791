//! The walk from outside: where the CPUs of a machine are that says nothing itself.
//!
//! ```text
//! stopped machine ───► walk ───► tell ─────────────► decode
//! registers, memory    by what   a report's text,    names, files,
//!                      the image CPUs, then tasks    lines
//!                      has
//! ```
//!
//! It needs nothing of the guest: not one line of code, no heap that is whole, and no page tables.

mod callers;
mod image;
mod memory;
mod moved;
mod tasks;
mod tell;
mod walk;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Result, anyhow};

use crate::decode::Symbolizer;
use crate::machine::{Stopped, Witness};
pub use callers::{Callers, Stack};
use image::Image;

/// Says where the CPUs of a machine are that runs this image.
#[derive(Debug)]
pub struct Outside<'a> {
    path: &'a Path,
    /// Read when it is needed, as most boots end with a verdict.
    image: Mutex<Option<Result<(Image, Symbolizer)>>>,
}

impl<'a> Outside<'a> {
    /// For the ELF image at `path`.
    #[must_use]
    pub const fn new(path: &'a Path) -> Self {
        Self {
            path,
            image: Mutex::new(None),
        }
    }

    fn image(&self) -> MutexGuard<'_, Option<Result<(Image, Symbolizer)>>> {
        let mut image = self.image.lock().unwrap_or_else(PoisonError::into_inner);
        image.get_or_insert_with(|| Ok((Image::read(self.path)?, Symbolizer::open(self.path)?)));
        image
    }
}

impl Witness for Outside<'_> {
    fn prepare(&self) {
        drop(self.image());
    }

    fn tell(&self, stopped: &mut Stopped<'_>, reason: &str) -> String {
        let told = match &*self.image() {
            Some(Ok((image, symbolizer))) => tell::tell(image, symbolizer, stopped, reason),
            Some(Err(error)) => Err(anyhow!("{error:#}")),
            None => Err(anyhow!("no image")),
        };
        told.unwrap_or_else(|error| format!("asked from outside, as {reason}: {error:#}\n"))
    }
}
