//! All loaded images of a process, found by the map of its memory.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result};

use crate::module::{Module, RowsFrom};
use crate::truth::Places;

/// Images that were read, by path. Several processes use the same libraries.
#[derive(Debug, Default)]
pub struct Library {
    /// Source of the rows.
    pub from: RowsFrom,
    /// A part of the rows is made wrong, as this seed chooses.
    pub spoiled: Option<u64>,
    read: RefCell<HashMap<PathBuf, Option<Rc<Module>>>>,
}

impl Library {
    /// An empty library.
    #[must_use]
    pub fn new(from: RowsFrom, spoiled: Option<u64>) -> Self {
        Self {
            from,
            spoiled,
            read: RefCell::default(),
        }
    }

    /// Reads an image, or returns it again. `None`, with a message: the image has nothing to make rows from.
    pub fn get(&self, path: &Path) -> Option<Rc<Module>> {
        let known = self.read.borrow().get(path).cloned();
        known.unwrap_or_else(|| {
            let module = Module::read(path, self.from, self.spoiled).map(Rc::new);
            let module = module
                .inspect_err(|error| eprintln!("{}: no rows: {error:#}", path.display()))
                .ok();
            self.read
                .borrow_mut()
                .insert(path.to_owned(), module.clone());
            module
        })
    }
}

/// An image in memory.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Executable addresses.
    pub start: u64,
    /// The end of them.
    pub end: u64,
    /// Distance of the image from the addresses that it was linked for.
    pub moved_by: u64,
    /// The image.
    pub module: Rc<Module>,
}

/// The images of a process.
#[derive(Debug, Default)]
pub struct Modules {
    /// Ascending by address.
    pub loaded: Vec<Loaded>,
}

impl Modules {
    /// Reads the map of a process.
    ///
    /// # Errors
    /// Returns an error if the map cannot be read.
    pub fn read(id: i32, library: &Library) -> Result<Self> {
        let map = fs::read_to_string(format!("/proc/{id}/maps"))?;
        let loaded = map.lines().filter_map(|line| line_of(line, library));
        Ok(Self {
            loaded: loaded.collect(),
        })
    }

    /// One image, loaded where it was linked for.
    ///
    /// # Errors
    /// Returns an error if the image has nothing to make rows from.
    pub fn of(path: &Path, library: &Library) -> Result<Self> {
        let module = library.get(path).context("no rows")?;
        let segments = module.segments();
        let loaded = segments.map(|range| Loaded {
            start: range.start,
            end: range.end,
            moved_by: 0,
            module: module.clone(),
        });
        Ok(Self {
            loaded: loaded.collect(),
        })
    }

    /// The image at an address.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&Loaded> {
        let after = self.loaded.partition_point(|one| one.start <= address);
        let loaded = &self.loaded[after.checked_sub(1)?];
        (address < loaded.end).then_some(loaded)
    }

    /// Name of an address.
    #[must_use]
    pub fn name(&self, address: u64) -> String {
        let Some(loaded) = self.at(address) else {
            return format!("{address:#x} ?");
        };
        let linked = address.wrapping_sub(loaded.moved_by);
        let file = loaded
            .module
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        format!("{linked:#x} {}, {file}", loaded.module.name(linked))
    }
}

/// A line of the map, if its memory is executable and an image with rows.
fn line_of(line: &str, library: &Library) -> Option<Loaded> {
    let mut words = line.split_ascii_whitespace();
    let (range, flags, offset) = (words.next()?, words.next()?, words.next()?);
    let path = Path::new(words.nth(2)?);
    if !flags.contains('x') || !path.is_absolute() {
        return None;
    }
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = range.split_once('-')?;
    let (start, end, offset) = (number(start)?, number(end)?, number(offset)?);
    let module = library.get(path)?;
    let moved_by = start.wrapping_sub(module.address_of(offset)?);
    Some(Loaded {
        start,
        end,
        moved_by,
        module,
    })
}

impl Places for Modules {
    fn is_local(&self, from: u64, to: u64) -> bool {
        self.at(from).is_some_and(|loaded| {
            let linked = |address: u64| address.wrapping_sub(loaded.moved_by);
            loaded.module.is_local(linked(from), linked(to))
        })
    }

    fn is_code(&self, address: u64) -> bool {
        self.at(address)
            .is_some_and(|loaded| loaded.module.is_code(address.wrapping_sub(loaded.moved_by)))
    }
}
