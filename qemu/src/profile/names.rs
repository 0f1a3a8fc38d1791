//! Stacks of addresses to folded lines: the names of all frames, the outermost first, with those that were inlined.

use std::collections::{BTreeMap, HashMap};

use super::samples::Samples;
use crate::decode::Symbolizer;
use crate::outside::{Callers, Stack};
use crate::stub::Level;

/// The root of what is not complete.
const INCOMPLETE: &str = "[incomplete]";

/// Looks names up.
#[derive(Debug)]
pub(super) struct Names<'a> {
    symbolizer: &'a Symbolizer,
    callers: &'a Callers,
    /// Of each address: the functions there, the outermost first.
    known: HashMap<u64, Vec<String>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(symbolizer: &'a Symbolizer, callers: &'a Callers) -> Self {
        Self {
            symbolizer,
            callers,
            known: HashMap::new(),
        }
    }

    /// A line for all samples whose frames have the same names, with their count, in order.
    pub(super) fn lines(&mut self, samples: &Samples) -> Vec<String> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (stack, count) in &samples.stacks {
            *counts.entry(self.folded(stack)).or_default() += count;
        }
        let counts = counts.into_iter();
        counts
            .map(|(stack, count)| format!("{stack} {count}"))
            .collect()
    }

    fn folded(&mut self, stack: &Stack) -> String {
        let mut names = Vec::new();
        if !stack.is_complete {
            names.push(INCOMPLETE.to_owned());
        }
        match stack.level {
            Level::Kernel => {}
            Level::User => names.push("[user mode]".to_owned()),
            Level::Narrow => names.push("[not in 64-bit mode]".to_owned()),
        }
        for address in stack.frames.iter().rev() {
            match self.callers.is_code(*address) {
                true => names.extend_from_slice(self.at(*address)),
                false => names.push("[outside the image]".to_owned()),
            }
        }
        names.join(";")
    }

    fn at(&mut self, address: u64) -> &[String] {
        self.known.entry(address).or_insert_with(|| {
            let sources = self.symbolizer.answer(address).sources;
            let names = sources.iter().rev().map(|source| plain(&source.name));
            let names: Vec<_> = names.collect();
            match names.is_empty() {
                true => vec![format!("{address:#018x}")],
                false => names,
            }
        })
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
