//! A file that was written to a pipe, where nobody can go back: records, each with its place in the file that is meant. It is
//! makedumpfile's "flattened" format, which QEMU writes.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result, bail};

/// The bytes of the header, and how it begins.
const HEADER: u64 = 4096;
const SIGNATURE: &[u8] = b"makedumpfile\0\0\0\0";

/// The file that is meant.
#[derive(Debug)]
pub(super) struct Flat {
    file: File,
    /// By the place that is meant: the place in this file, and how many bytes.
    records: BTreeMap<u64, (u64, u64)>,
}

impl Flat {
    pub(super) fn open(file: File) -> Result<Self> {
        let mut signature = [0; SIGNATURE.len()];
        let read = file.read_exact_at(&mut signature, 0);
        if read.is_err() || signature != SIGNATURE {
            bail!("the file is not a memory dump in QEMU's format");
        }
        let mut records = BTreeMap::new();
        let mut at = HEADER;
        loop {
            let mut head = [0; 16];
            let read = file.read_exact_at(&mut head, at);
            read.context("the memory dump has no end marker")?;
            let [place, count] = [0, 8].map(|from| number(&head, from));
            at += head.len() as u64;
            // Both are -1 at the end.
            if place == u64::MAX {
                return Ok(Self { file, records });
            }
            records.insert(place, (at, count));
            at = at
                .checked_add(count)
                .context("a record of the memory dump has an invalid size")?;
        }
    }

    /// How many bytes of the file that is meant are here at most.
    pub(super) fn length(&self) -> u64 {
        let counts = self.records.values().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }

    /// Reads from the place that is meant; all of it, or it is an error.
    pub(super) fn read(&self, place: u64, bytes: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let wanted = place.checked_add(done as u64);
            let wanted = wanted.context("an offset in the memory dump is too large")?;
            let before = self.records.range(..=wanted).next_back();
            let inside = before.and_then(|(start, (at, count))| {
                let into = wanted - start;
                (into < *count).then(|| (at + into, count - into))
            });
            let (at, count) = inside.with_context(|| format!("byte {wanted:#x} is missing"))?;
            let end = bytes.len().min(done.saturating_add(count as usize));
            self.file
                .read_exact_at(&mut bytes[done..end], at)
                .context("the memory dump ends inside the data of a record")?;
            done = end;
        }
        Ok(())
    }
}

/// The number there, the highest byte first.
fn number(head: &[u8; 16], from: usize) -> u64 {
    let bytes = head[from..].first_chunk();
    bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}
