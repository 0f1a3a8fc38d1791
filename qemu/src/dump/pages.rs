//! A machine's memory in a file of makedumpfile's format, which QEMU calls `kdump-zlib`: a header, a bit for each page that is
//! there, what is known of each of them, and their bytes, compressed.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result, bail};
use flate2::read::ZlibDecoder;

use super::flat::Flat;
use crate::hardware::Processor;

/// How the header begins.
const SIGNATURE: &[u8] = b"KDUMP   ";
/// How much less of it a processor of 32 bits has: the time, before its numbers, is shorter.
const NARROWER: usize = 12;
/// All of the header that is read.
const HEADER: usize = 440;
/// The most that each of them can be in a file that is no nonsense: 64 KiB, the largest page that any machine has, and the bits
/// of 2^40 pages.
const LARGEST: [u64; 3] = [1 << 16, 1 << 16, 1 << 26];

/// What is known of a page: where its bytes are, how many, and how they are compressed; its size.
const PAGE: u64 = 24;
const PLAIN: u32 = 0;
const ZLIB: u32 = 1;

/// Bytes of bits of which is known how many pages there are before.
const STEP: usize = 64;

/// Memory by physical address.
#[derive(Debug)]
pub(super) struct Pages {
    file: Flat,
    /// Bytes of a page.
    size: u64,
    /// A bit for each page: it is there.
    there: Vec<u8>,
    /// How many pages are there before each step.
    before: Vec<u64>,
    /// Where the list of what is known of pages begins.
    list: u64,
    /// Pages that were read: a walk reads few.
    read: HashMap<u64, Vec<u8>>,
}

impl Pages {
    /// Those of a machine with this processor.
    pub(super) fn open(file: File, processor: Processor) -> Result<Self> {
        let file = Flat::open(file)?;
        let mut header = [0; HEADER];
        file.read(0, &mut header)?;
        if !header.starts_with(SIGNATURE) {
            bail!("the file is not a makedumpfile dump");
        }
        let numbers = numbers(processor).map(|at| u64::from(number(&header, at)));
        let is_sane = numbers.iter().zip(LARGEST).all(|(is, most)| *is <= most);
        let [size, second, bits] = numbers;
        if !is_sane || !size.is_power_of_two() || size < SMALLEST {
            bail!("the memory dump has an invalid header");
        }
        if bits * size > file.length() {
            bail!("the memory dump ends inside its page bitmap");
        }
        // Two sets of bits: the pages that the machine has, and those that are here.
        let mut there = vec![0; (bits / 2 * size) as usize];
        file.read((1 + second + bits / 2) * size, &mut there)?;
        let mut count = 0;
        let steps = there.chunks(STEP).map(|step| {
            let before = count;
            count += ones(step);
            before
        });
        Ok(Self {
            before: steps.collect(),
            list: (1 + second + bits) * size,
            file,
            size,
            there,
            read: HashMap::new(),
        })
    }

    /// The bytes from a physical address on, which are in one page; `None` if that is not here.
    pub(super) fn bytes<const COUNT: usize>(
        &mut self,
        address: u64,
    ) -> Result<Option<[u8; COUNT]>> {
        let (page, from) = (address / self.size, (address % self.size) as usize);
        if !self.read.contains_key(&page) {
            let Some(index) = self.index(page) else {
                return Ok(None);
            };
            let bytes = self.page(index);
            let bytes = bytes.with_context(|| format!("page {:#x}", page * self.size))?;
            self.read.insert(page, bytes);
        }
        let bytes = self.read.get(&page).and_then(|bytes| bytes.get(from..));
        Ok(bytes.and_then(|bytes| bytes.first_chunk()).copied())
    }

    /// The number of a page among those that are here.
    fn index(&self, page: u64) -> Option<u64> {
        let byte = usize::try_from(page / 8).ok()?;
        let bit = page % 8;
        let here = *self.there.get(byte)?;
        if here >> bit & 1 == 0 {
            return None;
        }
        let step = byte / STEP;
        let others = ones(&self.there[step * STEP..byte]);
        let lower = here & ((1 << bit) - 1);
        Some(self.before[step] + others + u64::from(lower.count_ones()))
    }

    fn page(&self, index: u64) -> Result<Vec<u8>> {
        let mut known = [0; PAGE as usize];
        self.file.read(self.list + index * PAGE, &mut known)?;
        let at = u64::from_le_bytes(*known.first_chunk().unwrap_or(&[0; 8]));
        let (count, kind) = (number(&known, 8), number(&known, 12));
        if u64::from(count) > self.size {
            bail!("the data of this page in the dump is larger than the page size");
        }
        let mut bytes = vec![0; count as usize];
        self.file.read(at, &mut bytes)?;
        let page = match kind {
            PLAIN => bytes,
            ZLIB => {
                let mut page = Vec::new();
                let mut decoder = ZlibDecoder::new(&*bytes).take(self.size + 1);
                decoder
                    .read_to_end(&mut page)
                    .context("cannot be decompressed")?;
                page
            }
            _ => bail!("unknown compression ({kind})"),
        };
        if page.len() as u64 != self.size {
            bail!(
                "the page in the dump has {length} bytes, expected {size}",
                length = page.len(),
                size = self.size
            );
        }
        Ok(page)
    }
}

/// Where the header's numbers are: bytes of a block, which is a page; and how many blocks the second header and the bits have.
const fn numbers(processor: Processor) -> [usize; 3] {
    let first = match processor {
        Processor::X86_64 | Processor::Aarch64 => 428,
        Processor::Armv7a => 428 - NARROWER,
    };
    [first, first + 4, first + 8]
}

/// The smallest page that any machine has.
const SMALLEST: u64 = crate::machine::PAGE;

/// The number there.
fn number(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

fn ones(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(byte.count_ones())).sum()
}

#[cfg(test)]
mod tests;
