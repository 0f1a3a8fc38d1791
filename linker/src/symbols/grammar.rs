//! Compresses names and paths: by a grammar, whose rules nest, because names have long pieces in common.

use std::cmp::Reverse;

use unwind::symbols::format::{FIRST_RULE, MAX_RULE_DEPTH};

use super::repair::{BYTES, Measure, Rules, without};

/// About how many symbols have one-byte codes, if there are many symbols.
const SHORT_CODES: usize = 200;

/// How deep rules nest.
const DEPTH: Measure = Measure {
    of_byte: 0,
    of_pair: |first, second| first.max(second) + 1,
    most: MAX_RULE_DEPTH as u32,
};

/// A grammar's part of a blob, and the codes of each sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Compressed {
    pub(super) grammar: Vec<u8>,
    pub(super) codes: Vec<Vec<u8>>,
}

/// Compresses sequences together.
pub(super) fn compress(sequences: &[Vec<u8>]) -> Compressed {
    let Rules {
        rules,
        mut sequences,
        ..
    } = Rules::of(sequences, DEPTH);
    drop_useless(&mut sequences, &rules);
    write(&sequences, &rules)
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
    without(sequences, rules, &dropped);
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
