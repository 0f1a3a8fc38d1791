//! The machine's memory, page by page as a walk needs it.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::machine::{PAGE, Stopped};

/// The most pages that are read for a CPU: some stacks are long, and the machine waits.
const MOST: usize = 256;

type Page = Option<Box<[u8; PAGE as usize]>>;

/// Memory as one CPU sees it.
#[derive(Debug)]
pub(super) struct Memory<'s, 'm> {
    stopped: RefCell<&'s mut Stopped<'m>>,
    cpu: usize,
    pages: RefCell<HashMap<u64, Page>>,
}

impl<'s, 'm> Memory<'s, 'm> {
    pub(super) fn new(stopped: &'s mut Stopped<'m>, cpu: usize) -> Self {
        Self {
            stopped: RefCell::new(stopped),
            cpu,
            pages: RefCell::default(),
        }
    }

    /// The word at this address, which is a multiple of 8.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let mut pages = self.pages.borrow_mut();
        let count = pages.len();
        let page = pages.entry(address / PAGE).or_insert_with(|| {
            let mut stopped = self.stopped.borrow_mut();
            (count < MOST).then(|| stopped.page(self.cpu, address))?
        });
        let word = page
            .as_ref()?
            .get((address % PAGE) as usize..)?
            .first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }
}
