//! Looks up the source frames of each instruction of an image's code, in debug information.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use gimli::Dwarf;
use object::{Object, ObjectSection};
use rustc_hash::{FxHashMap, FxHashSet};

use super::code::{Code, Piece, Traced, Unlined};
use super::instructions::{Coding, Decoded};
use super::lines::{Frame, Lines, Texts, paths};
use super::reader::Reader;
use super::split::Files;
use crate::image::is_code;
use crate::parallel::{in_parts, in_parts_beside};
use crate::progress::Step;

impl Code {
    pub(super) fn trace(
        &mut self,
        file: &object::File<'_>,
        coding: Coding,
        dwarf: &Arc<Dwarf<Reader<'_>>>,
        package: Option<&Path>,
    ) -> Result<()> {
        let contents: Vec<(u64, &[u8])> = file
            .sections()
            .filter(|section| is_code(section.flags()))
            .filter_map(|section| Some((section.address(), section.data().ok()?)))
            .collect();
        let files = Files::of(dwarf, package)?;
        let split = files.open(dwarf);
        let paths = paths(dwarf)?;
        let mut pieces = std::mem::take(&mut self.pieces);
        let step = Step::new("looking up lines", pieces.len());
        // Each part reads which code each unit of debug information is about; and the rows are made at the same time.
        let parts = in_parts_beside(
            &mut pieces,
            |piece| piece.end - piece.start,
            |pieces| -> Result<Traces> {
                let dwarf = Arc::clone(dwarf);
                let lines = Lines::new(dwarf, &split, &paths, self.style)?;
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
            self.unlined.extend(part.unlined);
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
        // A function with another one inside has several pieces.
        let mut seen = FxHashSet::default();
        self.unlined.retain(|one| seen.insert(one.function));
        self.missing = files.missing;
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
    unlined: Vec<Unlined>,
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
            unlined: Vec::new(),
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
            let function = &code.functions[piece.function];
            let name = self.names.number(code.names.text(function.name));
            let own = (function.start, name);
            let mut is_unlined = false;
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
                let (names, files) = (&mut self.names, &mut self.files);
                if let Err(why) = lines.at(start, own, names, files, &mut frames)
                    && !std::mem::replace(&mut is_unlined, true)
                {
                    self.unlined.push(Unlined {
                        function: piece.function,
                        address: start,
                        why,
                    });
                }
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
