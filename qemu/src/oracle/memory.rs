//! The machine's memory: a file that QEMU maps, and that is read and written here while the machine stands still.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Bytes that are read at once.
const BLOCK: u64 = 1024;

/// A part of the image: where it lies for the program, and where in memory.
#[derive(Clone, Copy, Debug)]
pub struct Mapped {
    /// Its first virtual address.
    pub start: u64,
    /// The address after the last one.
    pub end: u64,
    /// The offset of the first one in memory.
    pub offset: u64,
}

/// The machine's memory, as the image's own addresses reach it.
#[derive(Debug)]
pub struct Ram {
    file: File,
    mapped: Vec<Mapped>,
    /// What was read since the machine has last run.
    blocks: RefCell<HashMap<u64, [u8; BLOCK as usize]>>,
}

impl Ram {
    /// Opens the file, in which the image is `mapped` so.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(file: &Path, mapped: Vec<Mapped>) -> Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .open(file)
            .context("cannot open the file with the machine's memory")?;
        Ok(Self {
            file,
            mapped,
            blocks: RefCell::default(),
        })
    }

    /// Forgets what was read: the machine has run.
    pub fn changed(&self) {
        self.blocks.borrow_mut().clear();
    }

    /// The word at this address, which is a multiple of 8.
    #[must_use]
    pub fn word(&self, address: u64) -> Option<u64> {
        let at = self.offset(address)?;
        let mut blocks = self.blocks.borrow_mut();
        let start = at / BLOCK * BLOCK;
        let block = match blocks.entry(start) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(empty) => {
                let mut bytes = [0; BLOCK as usize];
                self.file.read_exact_at(&mut bytes, start).ok()?;
                empty.insert(bytes)
            }
        };
        let word = block.get((at - start) as usize..)?.first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }

    /// Writes words at this address.
    ///
    /// # Errors
    /// When they are not all in the image.
    pub fn write(&self, address: u64, words: &[u64]) -> Result<()> {
        let at = self
            .offset(address)
            .with_context(|| format!("no memory is mapped at {address:#x}"))?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.changed();
        self.file
            .write_all_at(&bytes, at)
            .context("cannot write to the machine's memory")
    }

    fn offset(&self, address: u64) -> Option<u64> {
        let mut mapped = self.mapped.iter();
        let part = mapped.find(|part| part.start <= address && address < part.end)?;
        Some(part.offset + (address - part.start))
    }
}
