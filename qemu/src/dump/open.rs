//! Opens dumps, as a source of walks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};

use super::about::{About, FORMAT};
use super::pages::Pages;
use super::paging::translate;
use super::{ABOUT, IMAGE, MEMORY};
use crate::machine::{PIECE, Source};
use crate::stub::{Paging, State};

/// A machine of which only the dump is left.
#[derive(Debug)]
pub struct Dump {
    about: About,
    folder: PathBuf,
    /// How each CPU translates addresses; `None` if that is not known here.
    paging: Vec<Option<Paging>>,
    pages: Pages,
    /// What is wrong with it, if that was met.
    failed: Option<Error>,
}

impl Dump {
    /// Opens a dump.
    ///
    /// # Errors
    /// When it is none, or not whole.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(ABOUT);
        let text = fs::read(&path).with_context(|| {
            format!("{} is no dump: cannot read {ABOUT} there", folder.display())
        })?;
        let shown = path.display();
        let value: serde_json::Value = serde_json::from_slice(&text)
            .with_context(|| format!("{shown} is damaged or cut off"))?;
        if value["format"] != FORMAT {
            bail!("{shown} has format {}, not {FORMAT}", value["format"]);
        }
        let about: About =
            serde_json::from_value(value).with_context(|| format!("{shown} is damaged"))?;
        let path = folder.join(MEMORY);
        about.memory.expect(&path)?;
        let pages = File::open(&path).map_err(Error::from);
        let pages = pages.and_then(Pages::open);
        let cpus = about.cpus.iter();
        Ok(Self {
            paging: cpus.map(|cpu| cpu.answers.paging().ok()).collect(),
            folder: folder.to_owned(),
            pages: pages.with_context(|| format!("cannot read {}", path.display()))?,
            failed: None,
            about,
        })
    }

    /// Why the machine was asked where it is.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.about.reason
    }

    /// The build id of the image that ran, if it has one.
    #[must_use]
    pub fn build_id(&self) -> Option<&str> {
        self.about.build.as_deref()
    }

    /// The image that ran.
    ///
    /// # Errors
    /// When it is not there, or another one.
    pub fn image(&self) -> Result<PathBuf> {
        let path = self.folder.join(IMAGE);
        self.about.image.expect(&path)?;
        Ok(path)
    }

    /// That nothing was wrong with what was read, and that all could be.
    ///
    /// # Errors
    /// What was wrong.
    pub fn check(&mut self) -> Result<()> {
        let shown = self.folder.join(MEMORY);
        if let Some(error) = self.failed.take() {
            return Err(error).with_context(|| format!("{} is damaged", shown.display()));
        }
        for (number, cpu) in self.about.cpus.iter().enumerate() {
            let paging = cpu.answers.paging();
            paging.with_context(|| format!("no memory could be read for cpu {number}"))?;
        }
        Ok(())
    }
}

impl Source for Dump {
    fn cpus(&mut self) -> Result<Vec<bool>> {
        Ok(self.about.cpus.iter().map(|cpu| cpu.is_halted).collect())
    }

    fn state(&mut self, cpu: usize) -> Result<State> {
        let cpu = self.about.cpus.get(cpu).context("there is no such CPU")?;
        cpu.answers.state()
    }

    fn piece(&mut self, cpu: usize, address: u64) -> Option<Box<[u8; PIECE as usize]>> {
        let paging = (*self.paging.get(cpu)?)?;
        let start = address & !(PIECE - 1);
        let bytes = translate(paging, &mut self.pages, start).and_then(|found| match found {
            Some(physical) => self.pages.bytes(physical),
            None => Ok(None),
        });
        bytes
            .unwrap_or_else(|error| {
                self.failed.get_or_insert(error);
                None
            })
            .map(Box::new)
    }
}
