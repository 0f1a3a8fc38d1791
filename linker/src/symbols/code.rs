//! An image's functions, and the source frames of each of their instructions.

use std::sync::Arc;

use anyhow::Result;
use object::{Object, ObjectSection, SectionFlags, elf};
use rustc_hash::FxHashMap;

use super::instructions::{Coding, Decoded};
use super::lines::{Frame, Lines, Sections, Texts, paths};
use super::{Names, Symbol, Symbols};
use crate::parallel::{in_parts, in_parts_beside};
use crate::progress::Step;

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
    /// Which instructions are calls, and which can fault, is known.
    pub knows_instructions: bool,
}

impl Code {
    /// Takes names from `symbols`, and frames from debug information if `with_lines` is set and there is any.
    ///
    /// # Errors
    /// A section of debug information is damaged.
    pub fn of(
        file: &object::File<'_>,
        symbols: &Symbols,
        names: Names,
        with_lines: bool,
    ) -> Result<Self> {
        let mut code = Self {
            style: names,
            ..Self::default()
        };
        code.files.number("");
        // Number 0 is for functions that debug information does not name.
        code.names.number("");
        code.stacks.push(Vec::new());
        let mut all: Vec<&Symbol> = symbols.0.iter().collect();
        let names = in_parts(
            &mut all,
            |symbol| symbol.name.len() as u64,
            |symbols| -> Vec<String> {
                symbols
                    .iter()
                    .map(|symbol| names.name(&symbol.name))
                    .collect()
            },
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
        let sections = if with_lines {
            Sections::of(file)?
        } else {
            None
        };
        let Some(sections) = sections else {
            return Ok(code);
        };
        code.has_lines = true;
        code.trace(file, coding, &sections)?;
        Ok(code)
    }

    fn trace(
        &mut self,
        file: &object::File<'_>,
        coding: Coding,
        sections: &Sections<'_>,
    ) -> Result<()> {
        let contents: Vec<(u64, &[u8])> = file
            .sections()
            .filter(|section| {
                matches!(section.flags(), SectionFlags::Elf { sh_flags, .. }
                    if sh_flags.contains(elf::SHF_EXECINSTR))
            })
            .filter_map(|section| Some((section.address(), section.data().ok()?)))
            .collect();
        let dwarf = sections.open();
        let paths = paths(&dwarf)?;
        let mut pieces = std::mem::take(&mut self.pieces);
        let step = Step::new("looking lines up", pieces.len());
        // Each part reads which code each unit of debug information is about; and the rows are made at the same time.
        let parts = in_parts_beside(
            &mut pieces,
            |piece| piece.end - piece.start,
            |pieces| -> Result<Traces> {
                let lines = Lines::new(Arc::clone(&dwarf), &paths, self.style)?;
                let mut traces = Traces::default();
                traces.add(pieces, self, &contents, coding, lines, &step);
                Ok(traces)
            },
        );
        // In the order of parts, and in each in the order of first use, so that the numbers do not depend on the split.
        let mut stacks: FxHashMap<Vec<Frame>, u32> = FxHashMap::from_iter([(Vec::new(), 0)]);
        let mut of_parts = Vec::with_capacity(parts.len());
        for part in parts {
            let part = part?;
            let names: Vec<u32> = part
                .names
                .iter()
                .map(|name| self.names.number(name))
                .collect();
            let files: Vec<u32> = part
                .files
                .iter()
                .map(|file| self.files.number(file))
                .collect();
            let mut numbers = Vec::with_capacity(part.stacks.len());
            for mut stack in part.stacks {
                for frame in &mut stack {
                    frame.name = names[frame.name as usize];
                    frame.file = files[frame.file as usize];
                }
                let next = u32::try_from(self.stacks.len()).expect("less than 2^32 stacks");
                let number = *stacks.entry(stack).or_insert_with_key(|stack| {
                    self.stacks.push(stack.clone());
                    next
                });
                numbers.push(number);
            }
            of_parts.push((part.pieces, numbers));
        }
        let numbers = of_parts
            .iter()
            .flat_map(|(pieces, numbers)| std::iter::repeat_n(numbers, *pieces));
        let mut renumbered: Vec<(&mut Piece, &Vec<u32>)> = pieces.iter_mut().zip(numbers).collect();
        in_parts(
            &mut renumbered,
            |(piece, _)| piece.end - piece.start,
            |pieces| {
                for (piece, numbers) in pieces {
                    for instruction in &mut piece.instructions {
                        instruction.stack = numbers[instruction.stack as usize];
                    }
                }
            },
        );
        self.pieces = pieces;
        Ok(())
    }
}

/// The frames of some pieces, with local numbers of names, files and stacks.
#[derive(Debug)]
struct Traces {
    names: Texts,
    files: Texts,
    stacks: Vec<Vec<Frame>>,
    pieces: usize,
}

impl Default for Traces {
    fn default() -> Self {
        let (mut names, mut files) = (Texts::default(), Texts::default());
        names.number("");
        files.number("");
        Self {
            names,
            files,
            stacks: vec![Vec::new()],
            pieces: 0,
        }
    }
}

impl Traces {
    fn add(
        &mut self,
        pieces: &mut [Piece],
        code: &Code,
        contents: &[(u64, &[u8])],
        coding: Coding,
        mut lines: Lines<'_>,
        step: &Step,
    ) {
        self.pieces += pieces.len();
        let mut numbers: FxHashMap<Vec<Frame>, u32> = FxHashMap::from_iter([(Vec::new(), 0)]);
        let mut frames = Vec::new();
        let mut last = 0;
        for piece in pieces {
            step.one_more();
            let Some(bytes) = bytes(contents, piece.start, piece.end) else {
                continue;
            };
            let name = code.names.text(code.functions[piece.function].name);
            let name = self.names.number(name);
            let decoded = coding.decode(bytes, piece.start);
            piece.instructions.reserve_exact(decoded.len());
            for decoded in decoded {
                let Decoded {
                    offset,
                    length,
                    is_call,
                    can_fault,
                } = decoded;
                let start = piece.start + u64::from(offset);
                lines.at(start, name, &mut self.names, &mut self.files, &mut frames);
                // Most instructions have the frames of the one before.
                if self.stacks[last as usize] != frames {
                    last = match numbers.get(&frames) {
                        Some(&stack) => stack,
                        None => {
                            let stack =
                                u32::try_from(self.stacks.len()).expect("less than 2^32 stacks");
                            self.stacks.push(frames.clone());
                            numbers.insert(frames.clone(), stack);
                            stack
                        }
                    };
                }
                piece.instructions.push(Traced {
                    start,
                    length,
                    is_call,
                    can_fault,
                    stack: last,
                });
            }
        }
    }
}

fn bytes<'data>(sections: &[(u64, &'data [u8])], start: u64, end: u64) -> Option<&'data [u8]> {
    sections.iter().find_map(|&(address, data)| {
        let from = usize::try_from(start.checked_sub(address)?).ok()?;
        let to = usize::try_from(end.checked_sub(address)?).ok()?;
        data.get(from..to)
    })
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
