//! Re-Pair compression: repeatedly replaces the most frequent pair of symbols by a new symbol, a rule of a grammar (Larsson and
//! Moffat, "Offline Dictionary-Based Compression", 1999). `grammar` and `phrases`
//! write what it finds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::Text;

/// A less frequent pair costs more as a rule than it saves.
pub(super) const MIN_COUNT: u32 = 4;
/// The largest number of symbols for which two-byte codes leave enough one-byte codes.
pub(super) const MAX_SYMBOLS: usize = 20_000;

/// Symbols below this are bytes, the others rules.
pub(super) const BYTES: u32 = 256;

/// A property of rules that is limited.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub(super) of_byte: u32,
    /// Of a rule, by those of its symbols.
    pub(super) of_pair: fn(u32, u32) -> u32,
    pub(super) most: u32,
}

/// Rules, and the sequences that are made of them.
pub(super) struct Rules {
    /// What each rule stands for: two symbols, which come before it.
    pub(super) rules: Vec<(u32, u32)>,
    /// The measure of each symbol.
    pub(super) measures: Vec<u32>,
    pub(super) sequences: Vec<Vec<u32>>,
}

impl Rules {
    /// Finds those of all sequences together, none of which has more than the most of a measure.
    pub(super) fn of(sequences: &[Vec<u8>], measure: Measure) -> Self {
        let mut text = Text::new(sequences);
        let (rules, measures) = find_rules(&mut text, measure);
        Self {
            rules,
            measures,
            sequences: text.sequences(),
        }
    }
}

/// Expands the rules in sequences that are dropped.
pub(super) fn without(sequences: &mut [Vec<u32>], rules: &[(u32, u32)], dropped: &[bool]) {
    let mut out = Vec::new();
    for sequence in sequences {
        out.clear();
        for &symbol in &*sequence {
            put(symbol, rules, dropped, &mut out);
        }
        sequence.clone_from(&out);
    }
}

fn put(symbol: u32, rules: &[(u32, u32)], dropped: &[bool], out: &mut Vec<u32>) {
    match symbol.checked_sub(BYTES).map(|rule| rule as usize) {
        Some(rule) if dropped[rule] => {
            put(rules[rule].0, rules, dropped, out);
            put(rules[rule].1, rules, dropped, out);
        }
        _ => out.push(symbol),
    }
}

/// Replaces pairs by rules as long as that is worth it.
fn find_rules(text: &mut Text, measure: Measure) -> (Vec<(u32, u32)>, Vec<u32>) {
    // The most frequent pair comes first, of equally frequent ones the smallest.
    let entry = |text: &Text, id: u32| {
        let count = text.count(id);
        (count >= MIN_COUNT).then(|| (count, Reverse(text.pair(id)), id))
    };
    let all = 0..text.pair_count();
    let mut queue: BinaryHeap<_> = all.filter_map(|id| entry(text, id)).collect();
    let mut rules: Vec<(u32, u32)> = Vec::new();
    let mut measures = vec![measure.of_byte; BYTES as usize];
    while let Some((count, Reverse(pair), id)) = queue.pop() {
        if text.count(id) != count {
            queue.extend(entry(text, id));
            continue;
        }
        let measured = (measure.of_pair)(measures[pair.0 as usize], measures[pair.1 as usize]);
        if measured > measure.most {
            continue;
        }
        let first_new = text.pair_count();
        text.replace_all(id, BYTES + rules.len() as u32);
        rules.push(pair);
        measures.push(measured);
        if rules.len() + BYTES as usize >= MAX_SYMBOLS {
            break;
        }
        queue.extend((first_new..text.pair_count()).filter_map(|id| entry(text, id)));
    }
    (rules, measures)
}
