//! Compresses rows: phrases that occur often are replaced by codes of one or two bytes.
//!
//! The phrases are what the rules of a grammar stand for. They are pieces of one text: a rule's two halves lie in its own phrase, so that
//! of nested rules only the outermost takes room in the text.
//!
//! Names are not compressed this way. They share long pieces, which a nested rule stores once: with phrases, names and paths are half as
//! large again.

use std::cmp::Reverse;

use unwind::symbols::format::{LENGTH_SHIFT, PHRASE_MAX, PHRASE_SIZE, PHRASES_TEXT_MAX};

use super::repair::{BYTES, Measure, Rules, without};

/// About how many phrases have one-byte codes, if there are many.
const SHORT_CODES: usize = 200;

/// How many bytes a rule stands for.
const LENGTH: Measure = Measure {
    of_byte: 1,
    of_pair: |first, second| first + second,
    most: PHRASE_MAX as u32,
};

/// A part of phrases of a blob, and the codes of each sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Compressed {
    pub(super) phrases: Vec<u8>,
    pub(super) codes: Vec<Vec<u8>>,
}

/// Compresses sequences together.
pub(super) fn compress(sequences: &[Vec<u8>]) -> Compressed {
    let mut grammar = Rules::of(sequences, LENGTH);
    let uses = keep_useful(&mut grammar);
    write(&grammar, &uses)
}

/// Replaces symbols that save less than they cost by what they stand for. How often each symbol is used then.
fn keep_useful(grammar: &mut Rules) -> Vec<u32> {
    let symbols = grammar.measures.len();
    let mut in_sequences = vec![0_u32; symbols];
    for symbol in grammar.sequences.iter().flatten() {
        in_sequences[*symbol as usize] += 1;
    }
    let mut in_rules = vec![0_u32; symbols];
    for (first, second) in &grammar.rules {
        in_rules[*first as usize] += 1;
        in_rules[*second as usize] += 1;
    }
    // Symbols used more often than `least_short` probably get one-byte codes.
    let mut most_used = in_sequences.clone();
    most_used.sort_unstable_by_key(|uses| Reverse(*uses));
    let least_short = most_used.get(SHORT_CODES).copied().unwrap_or(0);
    let size = |uses: u32| 2 - u32::from(uses > least_short);
    let mut dropped = vec![false; grammar.rules.len()];
    // Room in the text: the bytes themselves may have to lie there, too.
    let mut room = (PHRASES_TEXT_MAX - BYTES as usize) as u32;
    for (index, &(first, second)) in grammar.rules.iter().enumerate().rev() {
        let symbol = BYTES as usize + index;
        let uses = in_sequences[symbol];
        let parts = [first as usize, second as usize];
        // What it takes in the text, where no other rule that lies there contains it: its halves may have to lie there without it, too.
        let text: u32 = match in_rules[symbol] {
            0 => {
                let elsewhere = parts.iter().filter(|part| in_rules[**part] > 1);
                elsewhere.map(|part| grammar.measures[*part]).sum()
            }
            _ => 0,
        };
        let without: u32 = parts.iter().map(|part| size(in_sequences[*part])).sum();
        let saved = uses * (without - size(uses).min(without));
        let length = match in_rules[symbol] {
            0 => grammar.measures[symbol],
            _ => 0,
        };
        if saved > PHRASE_SIZE as u32 + text && length <= room {
            room -= length;
        } else {
            dropped[index] = true;
            in_sequences[symbol] = 0;
            for part in parts {
                in_sequences[part] += uses;
            }
            if in_rules[symbol] == 0 {
                parts.iter().for_each(|part| in_rules[*part] -= 1);
            }
        }
    }
    without(&mut grammar.sequences, &grammar.rules, &dropped);
    in_sequences
}

/// The text of all phrases, and where each used symbol lies in it.
fn lay_out(grammar: &Rules, uses: &[u32]) -> (Vec<u8>, Vec<Option<u32>>) {
    let mut text = Vec::new();
    let mut starts: Vec<Option<u32>> = vec![None; grammar.measures.len()];
    for symbol in (0..grammar.measures.len()).rev() {
        if uses[symbol] > 0 && starts[symbol].is_none() {
            starts[symbol] = Some(text.len() as u32);
            expand(symbol as u32, &grammar.rules, &mut text);
        }
        let rule = symbol.checked_sub(BYTES as usize);
        if let (Some(start), Some(rule)) = (starts[symbol], rule) {
            let (first, second) = grammar.rules[rule];
            starts[first as usize].get_or_insert(start);
            let behind = start + grammar.measures[first as usize];
            starts[second as usize].get_or_insert(behind);
        }
    }
    (text, starts)
}

fn expand(symbol: u32, rules: &[(u32, u32)], text: &mut Vec<u8>) {
    match symbol.checked_sub(BYTES) {
        Some(rule) => {
            let (first, second) = rules[rule as usize];
            expand(first, rules, text);
            expand(second, rules, text);
        }
        None => text.push(symbol as u8),
    }
}

/// Gives short codes to the symbols that the sequences use most, and writes phrases and codes.
fn write(grammar: &Rules, uses: &[u32]) -> Compressed {
    let (text, starts) = lay_out(grammar, uses);
    assert!(
        text.len() <= PHRASES_TEXT_MAX,
        "the compression phrases of .symbols are longer than PHRASES_TEXT_MAX bytes in total"
    );
    let mut order: Vec<u32> = (0..uses.len() as u32)
        .filter(|symbol| uses[*symbol as usize] > 0)
        .collect();
    order.sort_by_key(|symbol| (Reverse(uses[*symbol as usize]), *symbol));
    // A first byte of a two-byte code stands for 256 symbols; the other bytes are one-byte codes.
    let short = match order.len() {
        few @ ..=256 => few,
        many => 256 - (many - 256).div_ceil(255),
    };
    let mut phrases = (short as u16).to_le_bytes().to_vec();
    phrases.extend((order.len() as u16).to_le_bytes());
    for &symbol in &order {
        let start = starts[symbol as usize].expect("each used symbol lies in the text");
        let length = grammar.measures[symbol as usize];
        let entry = start | ((length - 1) << LENGTH_SHIFT);
        phrases.extend(&entry.to_le_bytes()[..PHRASE_SIZE]);
    }
    phrases.extend(text);
    let mut numbers = vec![0; uses.len()];
    for (number, symbol) in order.iter().enumerate() {
        numbers[*symbol as usize] = number;
    }
    let coded = |sequence: &Vec<u32>| {
        let mut out = Vec::with_capacity(sequence.len() * 2);
        for symbol in sequence {
            let number = numbers[*symbol as usize];
            match number.checked_sub(short) {
                Some(long) => out.extend([(short + (long >> 8)) as u8, long as u8]),
                None => out.push(number as u8),
            }
        }
        out
    };
    Compressed {
        phrases,
        codes: grammar.sequences.iter().map(coded).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of codes, as `FORMAT.md` says.
    fn expanded(part: &[u8], codes: &[u8]) -> Vec<u8> {
        let word = |at: usize| usize::from(u16::from_le_bytes([part[at], part[at + 1]]));
        let (short, count) = (word(0), word(2));
        let text = &part[4 + 3 * count..];
        let mut codes = codes.iter().map(|code| usize::from(*code));
        let mut bytes = Vec::new();
        while let Some(code) = codes.next() {
            let number = match code.checked_sub(short) {
                Some(page) => short + page * 256 + codes.next().expect("a second byte"),
                None => code,
            };
            assert!(number < count, "{number} of {count}");
            let entry = &part[4 + 3 * number..][..3];
            let start = u32::from_le_bytes([entry[0], entry[1], entry[2] & 3, 0]) as usize;
            bytes.extend(&text[start..][..usize::from(entry[2] >> 2) + 1]);
        }
        bytes
    }

    #[test]
    fn what_is_compressed_expands_to_the_same() {
        let sequences: Vec<Vec<u8>> = (0..300_u32)
            .map(|at| (0..at % 70).map(|byte| (byte * at / 7) as u8).collect())
            .collect();
        let compressed = compress(&sequences);
        for (codes, sequence) in compressed.codes.iter().zip(&sequences) {
            assert_eq!(expanded(&compressed.phrases, codes), *sequence);
        }
    }

    /// All pairs of 70 halves of 32 bytes, which would take 313,600 bytes, each often enough to be worth it.
    #[test]
    fn phrases_without_room_are_replaced_by_their_halves() {
        let mut grammar = Rules {
            rules: Vec::new(),
            measures: vec![1; BYTES as usize],
            sequences: Vec::new(),
        };
        let add = |grammar: &mut Rules, first: u32, second: u32| {
            let length = grammar.measures[first as usize] + grammar.measures[second as usize];
            grammar.rules.push((first, second));
            grammar.measures.push(length);
            grammar.measures.len() as u32 - 1
        };
        let halves: Vec<u32> = (0..70)
            .map(|half| {
                (0..31).fold(half, |symbol, at| {
                    add(&mut grammar, symbol, (half + at) % 256)
                })
            })
            .collect();
        for first in &halves {
            for second in &halves {
                let whole = add(&mut grammar, *first, *second);
                grammar.sequences.extend(vec![vec![whole]; 40]);
            }
        }
        let expected: Vec<Vec<u8>> = grammar
            .sequences
            .iter()
            .map(|sequence| {
                let mut bytes = Vec::new();
                expand(sequence[0], &grammar.rules, &mut bytes);
                bytes
            })
            .collect();
        let uses = keep_useful(&mut grammar);
        let compressed = write(&grammar, &uses);
        let lengths: Vec<usize> = grammar.sequences.iter().map(Vec::len).collect();
        assert!(lengths.contains(&1) && lengths.contains(&2));
        for (codes, expected) in compressed.codes.iter().zip(&expected) {
            assert_eq!(expanded(&compressed.phrases, codes), *expected);
        }
    }
}
