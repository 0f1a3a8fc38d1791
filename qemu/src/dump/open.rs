//! Opens dumps, as a source of walks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail};
use linker::symbols::printable;

use super::about::{About, FORMAT, length};
use super::pages::Pages;
use super::paging::translate;
use super::{ABOUT, IMAGE, MEMORY, Remains};
use crate::machine::{PIECE, Source};
use crate::stub::{Paging, State};

/// The most bytes of what a dump says of itself: the registers of hundreds of CPUs.
const LONGEST: u64 = 1 << 24;

/// A machine of which only the dump is left.
#[derive(Debug)]
pub struct Dump {
    about: About,
    folder: PathBuf,
    /// How each CPU translates addresses, or why that is not known.
    paging: Vec<Result<Paging>>,
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
        let is_none = || {
            format!(
                "{folder} is not a dump: cannot read the file {ABOUT} in this folder",
                folder = folder.display()
            )
        };
        let shown = path.display();
        if length(&path).with_context(is_none)? > LONGEST {
            bail!("dump file {shown} is damaged: it has more than {LONGEST} bytes");
        }
        let text = fs::read(&path).with_context(is_none)?;
        // What is wrong may quote the file, which somebody else may have written.
        let quoted = |error: serde_json::Error| anyhow!("{}", printable(&error.to_string()));
        let value: serde_json::Value = serde_json::from_slice(&text)
            .map_err(quoted)
            .with_context(|| format!("dump file {shown} is damaged or truncated"))?;
        let format = &value["format"];
        if *format != FORMAT {
            bail!(
                "dump file {shown} has format {format}, expected {FORMAT}",
                format = printable(&format.to_string())
            );
        }
        let about: About = serde_json::from_value(value)
            .map_err(quoted)
            .with_context(|| format!("dump file {shown} is damaged"))?;
        let is_id = |id: &String| id.bytes().all(|digit| digit.is_ascii_hexdigit());
        if about.sum()? != about.crc32 || !about.build.iter().all(is_id) {
            bail!("dump file {shown} is damaged");
        }
        if about.cpus.is_empty() {
            bail!("dump file {shown} lists no CPU");
        }
        let path = folder.join(MEMORY);
        about.memory.expect(&path)?;
        let pages = File::open(&path).map_err(Error::from);
        let processor = about.cpus[0].answers.processor();
        let pages = pages.and_then(|file| Pages::open(file, processor));
        let cpus = about.cpus.iter();
        Ok(Self {
            paging: cpus.map(|cpu| cpu.answers.paging()).collect(),
            folder: folder.to_owned(),
            pages: pages.with_context(|| format!("cannot read {}", path.display()))?,
            failed: None,
            about,
        })
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

    fn fail(&mut self, error: Error, what: impl FnOnce() -> String) {
        if self.failed.is_none() {
            self.failed = Some(error.context(what()));
        }
    }
}

impl Remains for Dump {
    fn reason(&self) -> &str {
        &self.about.reason
    }

    fn registers(&self, cpu: usize) -> Result<Vec<(String, u64)>> {
        let cpu = self.about.cpus.get(cpu).context("unknown CPU")?;
        Ok(cpu.answers.named())
    }

    fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Source for Dump {
    fn cpus(&mut self) -> Result<Vec<bool>> {
        Ok(self.about.cpus.iter().map(|cpu| cpu.is_halted).collect())
    }

    fn state(&mut self, cpu: usize) -> Result<State> {
        let cpu = self.about.cpus.get(cpu).context("unknown CPU")?;
        cpu.answers.state()
    }

    fn piece(&mut self, cpu: usize, address: u64) -> Option<Box<[u8; PIECE as usize]>> {
        let paging = match self.paging.get(cpu)? {
            Ok(paging) => *paging,
            Err(error) => {
                let error = anyhow!("{error:#}");
                self.fail(error, || {
                    format!("cannot read memory through the page tables of cpu {cpu}")
                });
                return None;
            }
        };
        let start = address & !(PIECE - 1);
        let bytes = translate(paging, &mut self.pages, start).and_then(|found| match found {
            Some(physical) => self.pages.bytes(physical),
            None => Ok(None),
        });
        bytes
            .unwrap_or_else(|error| {
                let path = self.folder.join(MEMORY);
                self.fail(error, || format!("{} is damaged", path.display()));
                None
            })
            .map(Box::new)
    }
}
