//! Re-Pair compression: repeatedly replaces the most frequent pair of symbols by a new symbol, a rule of a grammar (Larsson and
//! Moffat, "Offline Dictionary-Based Compression", 1999).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use unwind::symbols::format::{FIRST_RULE, MAX_RULE_DEPTH};

use super::pairs::Text;

/// A less frequent pair costs more as a rule, 4 bytes, than it saves.
pub(super) const MIN_COUNT: u32 = 4;
/// About how many symbols have one-byte codes, if there are many symbols.
const SHORT_CODES: usize = 200;
/// The largest number of symbols for which two-byte codes leave enough one-byte codes.
pub(super) const MAX_SYMBOLS: usize = 20_000;

/// A grammar's part of a blob, and the codes of each sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Compressed {
    pub(super) grammar: Vec<u8>,
    pub(super) codes: Vec<Vec<u8>>,
}

/// Symbols below this are bytes, the others rules.
pub(super) const BYTES: u32 = FIRST_RULE as u32;

/// Compresses sequences together.
pub(super) fn compress(sequences: &[Vec<u8>]) -> Compressed {
    let mut text = Text::new(sequences);
    let rules = find_rules(&mut text);
    let mut sequences = text.sequences();
    drop_useless(&mut sequences, &rules);
    write(&sequences, &rules)
}

/// Replaces pairs by rules as long as that is worth it.
fn find_rules(text: &mut Text) -> Vec<(u32, u32)> {
    // The most frequent pair comes first, of equally frequent ones the smallest.
    let entry = |text: &Text, id: u32| {
        let count = text.count(id);
        (count >= MIN_COUNT).then(|| (count, Reverse(text.pair(id)), id))
    };
    let all = 0..text.pair_count();
    let mut queue: BinaryHeap<_> = all.filter_map(|id| entry(text, id)).collect();
    let mut rules: Vec<(u32, u32)> = Vec::new();
    let mut depths: Vec<u8> = Vec::new();
    let depth = |symbol: u32, depths: &[u8]| match symbol.checked_sub(BYTES) {
        Some(rule) => depths[rule as usize],
        None => 0,
    };
    while let Some((count, Reverse(pair), id)) = queue.pop() {
        if text.count(id) != count {
            queue.extend(entry(text, id));
            continue;
        }
        let nested = depth(pair.0, &depths).max(depth(pair.1, &depths)) + 1;
        if usize::from(nested) > MAX_RULE_DEPTH {
            continue;
        }
        let first_new = text.pair_count();
        text.replace_all(id, BYTES + rules.len() as u32);
        rules.push(pair);
        depths.push(nested);
        if rules.len() + BYTES as usize >= MAX_SYMBOLS {
            break;
        }
        queue.extend((first_new..text.pair_count()).filter_map(|id| entry(text, id)));
    }
    rules
}

/// Expands rules that save nothing: the text hardly uses them, and no other rule does.
fn drop_useless(sequences: &mut [Vec<u32>], rules: &[(u32, u32)]) {
    let symbols = BYTES as usize + rules.len();
    let mut in_text = vec![0_u32; symbols];
    for symbol in sequences.iter().flatten() {
        in_text[*symbol as usize] += 1;
    }
    let mut in_rules = vec![0_u32; symbols];
    for (first, second) in rules {
        in_rules[*first as usize] += 1;
        in_rules[*second as usize] += 1;
    }
    // Symbols used more often than `least_short` probably get one-byte codes.
    let mut most_used = in_text.clone();
    most_used.sort_unstable_by_key(|uses| Reverse(*uses));
    let least_short = most_used.get(SHORT_CODES).copied().unwrap_or(0);
    let mut dropped = vec![false; rules.len()];
    for (index, (first, second)) in rules.iter().enumerate().rev() {
        let symbol = BYTES as usize + index;
        let size = |symbol: usize| 2 - u32::from(in_text[symbol] > least_short);
        let without = size(*first as usize) + size(*second as usize);
        // A rule costs 4 bytes, and its code for each use.
        if in_rules[symbol] == 0 && in_text[symbol] * without <= 4 + in_text[symbol] * size(symbol)
        {
            dropped[index] = true;
            for part in [*first as usize, *second as usize] {
                in_rules[part] -= 1;
                in_text[part] += in_text[symbol];
            }
        }
    }
    let mut out = Vec::new();
    for sequence in sequences {
        out.clear();
        for &symbol in &*sequence {
            put(symbol, rules, &dropped, &mut out);
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

/// Gives short codes to the symbols that the text uses most, and writes grammar and codes.
fn write(sequences: &[Vec<u32>], rules: &[(u32, u32)]) -> Compressed {
    let symbols = BYTES as usize + rules.len();
    let mut uses = vec![0_u32; symbols];
    for symbol in sequences.iter().flatten() {
        uses[*symbol as usize] += 1;
    }
    // A rule may be used by rules only.
    let mut used: Vec<bool> = uses.iter().map(|uses| *uses > 0).collect();
    for (index, (first, second)) in rules.iter().enumerate().rev() {
        if used[BYTES as usize + index] {
            used[*first as usize] = true;
            used[*second as usize] = true;
        }
    }
    // A byte's number is itself; the used rules follow in the order in which they were made.
    let mut numbers: Vec<u16> = (0..FIRST_RULE).collect();
    let mut grammar_rules = Vec::new();
    for (index, (first, second)) in rules.iter().enumerate() {
        let next = FIRST_RULE as usize + grammar_rules.len() / 4;
        numbers.push(u16::try_from(next).expect("fewer symbols than numbers"));
        if used[BYTES as usize + index] {
            grammar_rules.extend(numbers[*first as usize].to_le_bytes());
            grammar_rules.extend(numbers[*second as usize].to_le_bytes());
        }
    }
    // A first byte of a two-byte code stands for 256 symbols; the other bytes are one-byte codes.
    let pages = (FIRST_RULE as usize + grammar_rules.len() / 4).div_ceil(256);
    let mut order: Vec<u32> = (0..symbols as u32)
        .filter(|symbol| uses[*symbol as usize] > 0)
        .collect();
    order.sort_by_key(|symbol| (Reverse(uses[*symbol as usize]), *symbol));
    // With fewer symbols than that, all have one-byte codes.
    order.truncate(256 - pages);
    let short = order.len();
    let mut grammar = (short as u16).to_le_bytes().to_vec();
    for symbol in &order {
        grammar.extend(numbers[*symbol as usize].to_le_bytes());
    }
    grammar.extend(grammar_rules);
    let mut codes: Vec<Option<u8>> = vec![None; symbols];
    for (code, symbol) in order.iter().enumerate() {
        codes[*symbol as usize] = Some(code as u8);
    }
    let coded = |sequence: &Vec<u32>| {
        let mut out = Vec::with_capacity(sequence.len() * 2);
        for symbol in sequence {
            match codes[*symbol as usize] {
                Some(short) => out.push(short),
                None => {
                    let number = numbers[*symbol as usize];
                    out.extend([short as u8 + (number >> 8) as u8, number as u8]);
                }
            }
        }
        out
    };
    Compressed {
        grammar,
        codes: sequences.iter().map(coded).collect(),
    }
}
