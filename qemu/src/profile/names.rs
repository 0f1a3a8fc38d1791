//! Stacks of addresses to frames: the names of all, the outermost first, with those that were inlined.

use std::collections::{BTreeMap, HashMap};

use super::samples::Samples;
use crate::decode::Symbolizer;
use crate::outside::{Base, Callers, Stack};
use crate::stub::Level;

/// The root of what is not complete.
const INCOMPLETE: &str = "[incomplete]";
/// The root of what is complete if the outermost function's stack begins where its frame ends.
const UNDECLARED: &str = "[undeclared stack]";
/// The root of the same, if frames are in doubt.
const UNDECLARED_IN_DOUBT: &str = "[undeclared stack, in doubt]";
/// The root of what ends at the outermost function, if frames are in doubt.
const IN_DOUBT: &str = "[in doubt]";

/// Code that runs, or that waits for what it has called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    /// The function, inlined or not.
    pub(super) name: String,
    /// The file and the line (0: not known) where it is at work.
    pub(super) place: Option<(String, u32)>,
}

/// Samples by name.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) frames: Vec<Frame>,
    /// Numbers of frames, the outermost first, by the number of the stack.
    pub(super) stacks: Vec<Vec<usize>>,
    /// Numbers of stacks, one for each sample, in the order of time.
    pub(super) order: Vec<usize>,
}

impl Named {
    /// Looks the names up of all samples.
    pub(super) fn new(samples: Samples, symbolizer: &Symbolizer, callers: &Callers) -> Self {
        let mut names = Names {
            symbolizer,
            callers,
            known: HashMap::new(),
        };
        let mut numbers = HashMap::new();
        let mut named = Self {
            frames: Vec::new(),
            stacks: vec![Vec::new(); samples.stacks.len()],
            order: samples.order,
        };
        for (stack, number) in &samples.stacks {
            let frames = names.frames(stack).into_iter();
            let frames = frames.map(|frame| {
                *numbers.entry(frame).or_insert_with_key(|frame| {
                    named.frames.push(frame.clone());
                    named.frames.len() - 1
                })
            });
            named.stacks[*number] = frames.collect();
        }
        named
    }

    /// A line for all samples whose frames have the same names, with their count, in order.
    pub(super) fn lines(&self) -> Vec<String> {
        let name = |frame: &usize| plain(&self.frames[*frame].name);
        let folded = self.stacks.iter().map(|frames| {
            let names: Vec<_> = frames.iter().map(name).collect();
            names.join(";")
        });
        let folded: Vec<String> = folded.collect();
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for stack in &self.order {
            *counts.entry(&folded[*stack]).or_default() += 1;
        }
        let counts = counts.into_iter();
        counts
            .map(|(stack, count)| format!("{stack} {count}"))
            .collect()
    }
}

/// Looks names up.
struct Names<'a> {
    symbolizer: &'a Symbolizer,
    callers: &'a Callers,
    /// Of each address: the functions there, the outermost first.
    known: HashMap<u64, Vec<Frame>>,
}

impl Names<'_> {
    fn frames(&mut self, stack: &Stack) -> Vec<Frame> {
        let mut frames = Vec::new();
        match stack.base {
            Base::Complete => {}
            Base::Undeclared => frames.push(Frame::without_place(UNDECLARED)),
            Base::UndeclaredInDoubt => frames.push(Frame::without_place(UNDECLARED_IN_DOUBT)),
            Base::InDoubt => frames.push(Frame::without_place(IN_DOUBT)),
            Base::Incomplete => frames.push(Frame::without_place(INCOMPLETE)),
        }
        match stack.level {
            Level::Kernel => {}
            Level::User => frames.push(Frame::without_place("[user mode]")),
            Level::Narrow => frames.push(Frame::without_place("[not in 64-bit mode]")),
        }
        for address in stack.frames.iter().rev() {
            match self.callers.is_code(*address) {
                true => frames.extend_from_slice(self.at(*address)),
                false => frames.push(Frame::without_place("[outside the image]")),
            }
        }
        frames
    }

    fn at(&mut self, address: u64) -> &[Frame] {
        self.known.entry(address).or_insert_with(|| {
            let sources = self.symbolizer.answer(address).sources;
            let frames = sources.into_iter().rev().map(|source| Frame {
                name: source.name,
                place: source.place.map(|(file, line, _)| (file, line)),
            });
            let frames: Vec<_> = frames.collect();
            match frames.is_empty() {
                true => vec![Frame::without_place(&format!("{address:#018x}"))],
                false => frames,
            }
        })
    }
}

impl Frame {
    fn without_place(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            place: None,
        }
    }
}

/// A name as a folded line can have it: `;` is between frames, a number behind a space is a count, and a picture is XML, which
/// does not have all characters. What acts on a terminal is escaped already.
fn plain(name: &str) -> String {
    let allowed = |c: char| match c {
        ';' => ':',
        '\u{fffe}' | '\u{ffff}' => '?',
        c if c.is_control() => '?',
        c => c,
    };
    let mut name: String = name.trim().chars().map(allowed).collect();
    let last = name.rsplit_once(char::is_whitespace);
    if let Some((before, word)) = last
        && word.chars().all(|c| c.is_ascii_digit() || c == '.')
    {
        name = format!("{before}_{word}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_frame_and_no_count() {
        for (name, shown) in [
            ("a::b", "a::b"),
            ("<[u8; 4] as A>::f", "<[u8: 4] as A>::f"),
            ("f::<[u8; 4]>", "f::<[u8: 4]>"),
            ("f 12", "f_12"),
            ("f 12 7", "f 12_7"),
            ("a\nb\u{ffff}", "a?b?"),
        ] {
            assert_eq!(plain(name), shown);
        }
    }
}
