//! Looks up single addresses in an image's debug information, for programs that print reports.

use std::path::Path;

use anyhow::{Context, Result};
use self_cell::self_cell;

use super::Symbols;
use super::agree::{Agreement, Disagreement};
use super::reader::{Addresses, Reader};
use super::removed::Live;
use super::sections::Sections;
use super::split::{Files, Split, package_of};

/// The debug information of an image, which is looked up by address.
pub struct DebugLookup(Lookup);

/// A function at an address, inlined or not, with the line in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFrame {
    /// Its name, mangled; `None`: not known, as in assembly.
    pub name: Option<String>,
    /// Path, line and column (0: not known).
    pub place: Option<(String, u32, u32)>,
}

/// What was read of the files.
struct Read {
    sections: Sections<'static>,
    files: Files,
}

/// What is looked up in.
struct Opened<'a> {
    addresses: Addresses<Reader<'a>>,
    split: Split<'a>,
}

self_cell! {
    struct Lookup {
        owner: Read,
        #[not_covariant]
        dependent: Opened,
    }
}

impl std::fmt::Debug for DebugLookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DebugLookup").finish_non_exhaustive()
    }
}

impl DebugLookup {
    /// Reads the debug information of an image, and the `.dwp` and `.dwo` files that belong to it. `None`: there is none. `path` is that of
    /// the image.
    ///
    /// # Errors
    /// Returns an error if debug information is damaged.
    pub fn of(file: &object::File<'_>, path: &Path, symbols: &Symbols) -> Result<Option<Self>> {
        let live = Live::of(file, symbols);
        let Some(mut sections) = Sections::copied(file, live.as_ref())? else {
            return Ok(None);
        };
        sections.leave_out_folded(symbols)?;
        sections.leave_out_dropped(live.as_ref())?;
        let files = Files::of(&sections.open(), Some(&package_of(path)))?;
        let lookup = Lookup::try_new(Read { sections, files }, |read| {
            let dwarf = read.sections.open();
            let split = read.files.open(&dwarf);
            let addresses = Addresses::from_dwarf(dwarf).context("damaged debug information")?;
            Ok::<_, anyhow::Error>(Opened { addresses, split })
        })?;
        Ok(Some(Self(lookup)))
    }

    /// The frames at an address, innermost first; none if nothing is known. `function` is the start of the function that the symbol table has
    /// there, and its name: the lines must be of the same function. `None`: the symbol table has none.
    ///
    /// # Errors
    /// Returns why the lines at the address are not those of the function.
    pub fn frames(
        &self,
        address: u64,
        function: Option<(u64, &str)>,
    ) -> Result<Vec<SourceFrame>, Disagreement> {
        self.0.with_dependent(|_, opened| {
            let context = (&opened.addresses, &opened.split);
            let start = function.map(|(start, _)| start);
            let frames = Agreement::default().frames(context, address, start, |outermost| {
                let of_symbol = function.map(|(_, name)| name);
                raw(outermost).as_deref() == of_symbol
            })?;
            Ok(frames.iter().map(source).collect())
        })
    }
}

fn source(frame: &addr2line::Frame<'_, Reader<'_>>) -> SourceFrame {
    let place = frame.location.as_ref().and_then(|location| {
        let line = location.line.filter(|line| *line > 0)?;
        let file = location.file?.to_owned();
        Some((file, line, location.column.unwrap_or(0)))
    });
    SourceFrame {
        name: raw(frame),
        place,
    }
}

fn raw(frame: &addr2line::Frame<'_, Reader<'_>>) -> Option<String> {
    let function = frame.function.as_ref()?;
    Some(String::from_utf8_lossy(function.name.slice()).into_owned())
}
