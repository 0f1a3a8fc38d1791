//! Looks up the source frames of addresses in debug information.

use std::collections::BTreeSet;
use std::sync::Arc;

use addr2line::Frame as Found;
use anyhow::{Context, Result};
use gimli::Dwarf;
use rustc_hash::FxHashMap;

use super::agree::{Agreement, Disagreement};
use super::path::Paths;
use super::reader::{Addresses, Reader};
use super::split::Split;
use super::{Names, printable, short, without_others};

/// The folders that paths of files are relative to, and the files whose short paths would be the same.
///
/// # Errors
/// Returns an error if debug information is damaged.
pub fn paths(dwarf: &Dwarf<Reader<'_>>) -> Result<Paths> {
    let (mut folders, mut files) = (BTreeSet::new(), BTreeSet::new());
    let mut units = dwarf.units();
    while let Some(header) = units.next().context("damaged section .debug_info")? {
        let unit = dwarf.unit(header).context("damaged section .debug_info")?;
        if let Some(folder) = unit.comp_dir {
            folders.insert(folder.to_string_lossy().into_owned());
        }
        add_files(dwarf, &unit, &mut files)?;
    }
    Ok(Paths::new(&folders).of_files(files.into_iter()))
}

/// Adds the paths of a unit's files, as `addr2line` puts them together.
fn add_files(
    dwarf: &Dwarf<Reader<'_>>,
    unit: &gimli::Unit<Reader<'_>>,
    files: &mut BTreeSet<String>,
) -> Result<()> {
    let Some(program) = &unit.line_program else {
        return Ok(());
    };
    let header = program.header();
    let text = |value| {
        dwarf
            .attr_string(unit, value)
            .context("damaged section .debug_line")
    };
    for file in header.file_names() {
        let mut path = unit
            .comp_dir
            .map(|it| it.to_string_lossy().into_owned())
            .unwrap_or_default();
        if file.directory_index() != 0
            && let Some(directory) = file.directory(header)
        {
            push(&mut path, &text(directory)?.to_string_lossy());
        }
        push(&mut path, &text(file.path_name())?.to_string_lossy());
        files.insert(path);
    }
    Ok(())
}

/// Adds a part to a path; an absolute one replaces it.
fn push(path: &mut String, part: &str) {
    if part.starts_with('/') {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(part);
}

/// A source frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Number of the function's name.
    pub name: u32,
    /// Number of the file; 0 when it is not known.
    pub file: u32,
    /// Line; 0 when it is not known.
    pub line: u32,
}

/// Texts by number, each once.
#[derive(Debug, Default)]
pub struct Texts {
    numbers: FxHashMap<String, u32>,
    texts: Vec<String>,
}

impl Texts {
    /// The number of a text, as it is when [`printable`]. A text longer than readers support, which compilers do not make, is
    /// truncated.
    pub fn number(&mut self, text: &str) -> u32 {
        let text = &*printable(text);
        let text = &text[..text.floor_char_boundary(unwind::symbols::format::TEXT_MAX)];
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = u32::try_from(self.texts.len()).expect("less than 2^32 texts");
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    /// The number of a text, if it has one.
    pub(super) fn known(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// All texts, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// The text of a number.
    #[must_use]
    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

/// Looks up frames in debug information, with caches of texts.
pub struct Lines<'a> {
    addresses: Addresses<Reader<'a>>,
    split: &'a Split<'a>,
    agreement: Agreement,
    paths: &'a Paths,
    names: Names,
    /// The numbers of names and paths, by address and length: addr2line has one copy of each.
    seen: FxHashMap<(usize, usize), u32>,
    /// The texts of the last frames, by depth from the innermost one.
    last: Vec<LastFrame>,
}

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("paths", &self.paths)
            .finish_non_exhaustive()
    }
}

impl<'a> Lines<'a> {
    /// Opens debug information.
    ///
    /// # Errors
    /// Returns an error if it is damaged.
    pub fn new(
        dwarf: Arc<Dwarf<Reader<'a>>>,
        split: &'a Split<'a>,
        paths: &'a Paths,
        names: Names,
    ) -> Result<Self> {
        let addresses = Addresses::from_arc_dwarf(dwarf);
        Ok(Self {
            addresses: addresses.context("damaged debug information")?,
            split,
            agreement: Agreement::default(),
            paths,
            names,
            seen: FxHashMap::default(),
            last: Vec::new(),
        })
    }

    /// The frames at an address in the function that starts at `start` and has the name `own`, outermost first. Their texts are
    /// added to `names` and `files`, where 0 is no file. The outermost frame has the name `own`, from the symbol table.
    ///
    /// # Errors
    /// Returns why there are no frames, if the debug information is not that of the function.
    pub fn at(
        &mut self,
        address: u64,
        (start, own): (u64, u32),
        names: &mut Texts,
        files: &mut Texts,
        found: &mut Vec<Frame>,
    ) -> Result<(), Disagreement> {
        found.clear();
        let is_name = |outermost: &Found<'_, _>| {
            shown(outermost, self.names).as_deref() == Some(without_others(names.text(own)))
        };
        let context = (&self.addresses, self.split);
        let frames = self
            .agreement
            .frames(context, address, Some(start), is_name)?;
        for (depth, frame) in frames.iter().enumerate() {
            if depth == self.last.len() {
                self.last.push(LastFrame::default());
            }
            let last = &mut self.last[depth];
            let name = match &frame.function {
                _ if depth + 1 == frames.len() => own,
                // Assembly has lines without functions.
                None => 0,
                Some(function) => {
                    let shown = || names.number(&shown(frame, self.names).unwrap_or_default());
                    last.name
                        .number(function.name.slice(), &mut self.seen, shown)
                }
            };
            let place = frame.location.as_ref().and_then(|location| {
                let line = location.line.filter(|line| *line != 0)?;
                let path = location.file?;
                let shown = || files.number(&self.paths.shown(path));
                let file = last.file.number(path.as_bytes(), &mut self.seen, shown);
                Some((file, line))
            });
            let (file, line) = place.unwrap_or((0, 0));
            found.push(Frame { name, file, line });
        }
        found.reverse();
        Ok(())
    }
}

/// The name of a frame's function, as reports print it; `None` if it is not known.
fn shown(frame: &Found<'_, Reader<'_>>, names: Names) -> Option<String> {
    let function = frame.function.as_ref()?;
    let raw = String::from_utf8_lossy(function.name.slice());
    let rust = function.language == Some(gimli::DW_LANG_Rust);
    Some(name(&raw, rust, names))
}

/// A text's address and length, and its number.
#[derive(Clone, Copy, Default)]
struct LastText {
    place: (usize, usize),
    number: u32,
}

/// The texts of the last frame at one depth.
#[derive(Clone, Copy, Default)]
struct LastFrame {
    name: LastText,
    file: LastText,
}

impl LastText {
    /// The number of a text. Most instructions have the texts of the one before, and most others a text in `seen`.
    fn number(
        &mut self,
        text: &[u8],
        seen: &mut FxHashMap<(usize, usize), u32>,
        new: impl FnOnce() -> u32,
    ) -> u32 {
        let place = (text.as_ptr().addr(), text.len());
        if self.place != place {
            let number = *seen.entry(place).or_insert_with(new);
            *self = Self { place, number };
        }
        self.number
    }
}

/// A function's name, by its linkage name. Line-tables-only debug information has plain names instead.
pub(super) fn name(raw: &str, rust: bool, names: Names) -> String {
    let name = names.name(raw);
    if rust && names == Names::Short && name == raw {
        return short(raw);
    }
    name
}
