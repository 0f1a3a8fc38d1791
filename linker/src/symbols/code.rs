//! An image's functions, and the source frames of each of their instructions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use gimli::Dwarf;

use super::agree::Disagreement;
use super::instructions::Coding;
use super::lines::{Frame, Texts};
use super::named::{choose, named};
use super::reader::Reader;
use super::removed::Live;
use super::sections::Sections;
use super::{Names, Symbol, Symbols, subprograms};
use crate::parallel::in_parts;

/// A range of code that belongs to one function. Most functions are one piece; a function with another one inside is several.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Index of the function in [`Code::functions`].
    pub function: usize,
    /// Address of the first byte.
    pub start: u64,
    /// Address after the last byte.
    pub end: u64,
    /// The instructions, which cover the piece; none without debug information.
    pub instructions: Vec<Traced>,
}

/// An instruction with its frames.
#[derive(Clone, Copy, Debug)]
pub struct Traced {
    /// Address.
    pub start: u64,
    /// Bytes.
    pub length: u32,
    /// It is a call.
    pub is_call: bool,
    /// It may raise an exception ([`Decoded::can_fault`](super::Decoded::can_fault)).
    pub can_fault: bool,
    /// Index of its frames in [`Code::stacks`].
    pub stack: u32,
}

impl Piece {
    /// The instructions, split where frames change.
    pub fn runs(&self) -> impl Iterator<Item = &[Traced]> {
        self.instructions
            .chunk_by(|before, after| before.stack == after.stack)
    }
}

impl Traced {
    /// It may appear in a trace of a crash: by a return address, or as the instruction that failed.
    #[must_use]
    pub const fn is_in_traces(&self) -> bool {
        self.is_call || self.can_fault
    }
}

/// A function by the symbol table.
#[derive(Clone, Debug)]
pub struct Function {
    /// Address of the first instruction.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Number of its name.
    pub name: u32,
}

/// The first code of a function that has no lines, because debug information there is not that of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlined {
    /// Index of the function in [`Code::functions`].
    pub function: usize,
    /// Address of the instruction.
    pub address: u64,
    /// The reason.
    pub why: Disagreement,
}

/// Code and its source.
#[derive(Debug, Default)]
pub struct Code {
    /// Ascending by start.
    pub functions: Vec<Function>,
    /// Ascending by start; they do not overlap.
    pub pieces: Vec<Piece>,
    /// Distinct stacks of frames, outermost first. The first one is empty, for instructions without debug information.
    pub stacks: Vec<Vec<Frame>>,
    /// Names of functions, demangled.
    pub names: Texts,
    /// Paths of files; number 0 stands for no file.
    pub files: Texts,
    /// How names are written.
    pub style: Names,
    /// There was debug information.
    pub has_lines: bool,
    /// Functions with code whose lines are left out.
    pub unlined: Vec<Unlined>,
    /// The `.dwo` files that the debug information names, and that could not be read.
    pub missing: Vec<PathBuf>,
    /// Which instructions are calls, and which can fault, is known.
    pub knows_instructions: bool,
}

impl Code {
    /// Takes names from `symbols`, and frames from debug information if `with_lines` is set and there is any. `package` is the path of the
    /// image's `.dwp` file, which need not exist.
    ///
    /// # Errors
    /// Returns an error if a section of debug information is damaged.
    pub fn of(
        file: &object::File<'_>,
        symbols: &Symbols,
        names: Names,
        with_lines: bool,
        package: Option<&Path>,
    ) -> Result<Self> {
        let mut code = Self {
            style: names,
            ..Self::default()
        };
        code.files.number("");
        // Number 0 is for functions that debug information does not name.
        code.names.number("");
        code.stacks.push(Vec::new());
        let live = Live::of(file, symbols);
        let mut sections = if with_lines {
            Sections::of(file, live.as_ref())?
        } else {
            None
        };
        let symbols = match &mut sections {
            Some(sections) => {
                let symbols = bounded(&sections.open(), symbols.clone())?;
                sections.leave_out_folded(&symbols)?;
                // Symbols take names from these functions, too.
                sections.leave_out_dropped(live.as_ref())?;
                symbols
            }
            None => named(file, symbols.clone())?,
        };
        let dwarf = sections.as_ref().map(|sections| Arc::new(sections.open()));
        let mut all: Vec<&Symbol> = symbols.0.iter().collect();
        let names = in_parts(
            &mut all,
            |symbol| symbol.name.len() as u64,
            |symbols| -> Vec<String> { symbols.iter().map(|symbol| names.of(symbol)).collect() },
        );
        for (symbol, name) in symbols.0.iter().zip(names.iter().flatten()) {
            let name = code.names.number(name);
            code.functions.push(Function {
                start: symbol.start,
                size: symbol.size,
                name,
            });
        }
        code.pieces = pieces(&code.functions);
        let coding = Coding::of(file);
        code.knows_instructions = coding.is_known();
        if let Some(dwarf) = dwarf {
            code.has_lines = true;
            code.trace(file, coding, &dwarf, package)?;
        }
        Ok(code)
    }
}

/// Lets code without a size end where debug information has another function, and takes the names that debug information prefers.
fn bounded(dwarf: &Dwarf<Reader<'_>>, mut symbols: Symbols) -> Result<Symbols> {
    if symbols.0.iter().any(|symbol| !symbol.is_sized) {
        let mut starts = subprograms::of(dwarf)?;
        starts.sort_unstable();
        symbols.end_before(&starts);
    }
    choose(&mut symbols, dwarf)?;
    Ok(symbols)
}

/// Splits functions into pieces. Of functions that are nested, an address belongs to the innermost one.
fn pieces(functions: &[Function]) -> Vec<Piece> {
    let end = |index: usize| functions[index].start.saturating_add(functions[index].size);
    let mut pieces = Vec::with_capacity(functions.len());
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    let mut add = |function: usize, start: u64, end: u64| {
        if start < end {
            pieces.push(Piece {
                function,
                start,
                end,
                instructions: Vec::new(),
            });
        }
    };
    for (index, function) in functions.iter().enumerate() {
        while let Some(&inner) = open.last()
            && end(inner) <= function.start
        {
            add(inner, at, end(inner));
            at = at.max(end(inner));
            open.pop();
        }
        if let Some(&inner) = open.last() {
            add(inner, at, function.start);
        }
        at = function.start;
        open.push(index);
    }
    while let Some(inner) = open.pop() {
        add(inner, at, end(inner));
        at = at.max(end(inner));
    }
    pieces
}
