//! The text of Re-Pair: a linked list of symbols, with an index of the positions of each pair of adjacent symbols.
//!
//! The index needs no hash table. Each position stores the pair that starts there, and pairs that a replacement creates all
//! contain its new symbol, so that an array over the other symbol finds them. All positions of a pair appear in one pass, in
//! the order of the text, so that its list needs no sorting.

use std::ops::Range;

use super::repair::{BYTES, MAX_SYMBOLS, MIN_COUNT};

/// No symbol, no position, no pair.
pub(super) const NONE: u32 = u32::MAX;

/// A position of the text. One array of structs, because a replacement reads all fields of neighbours.
#[derive(Clone, Copy)]
struct Node {
    /// [`NONE`] for a separator, and for a removed symbol.
    symbol: u32,
    next: u32,
    previous: u32,
    /// The pair that starts here, by its index.
    pair: u32,
}

/// A pair of symbols.
struct Pair {
    symbols: (u32, u32),
    /// Its positions in [`Text::lists`]; some may be out of date.
    list: Range<u32>,
}

/// Sequences of symbols, with a separator after each.
pub(super) struct Text {
    nodes: Vec<Node>,
    pairs: Vec<Pair>,
    /// How often each pair is in the text.
    counts: Vec<u32>,
    lists: Vec<u32>,
    /// New pairs and their positions, before they are in a list.
    new: Vec<(u32, u32)>,
    /// The index of each new pair that contains the symbol being inserted, by the other symbol: the first one or the second.
    before: Vec<u32>,
    after: Vec<u32>,
}

impl Text {
    pub(super) fn new(sequences: &[Vec<u8>]) -> Self {
        let length = sequences.iter().map(|sequence| sequence.len() + 1).sum();
        let mut nodes: Vec<Node> = Vec::with_capacity(length);
        let mut add = |symbol| {
            let at = u32::try_from(nodes.len()).expect("less than 4 GiB of text");
            nodes.push(Node {
                symbol,
                next: at + 1,
                previous: at.wrapping_sub(1),
                pair: NONE,
            });
        };
        for sequence in sequences {
            sequence.iter().for_each(|&byte| add(byte.into()));
            add(NONE);
        }
        let mut text = Self {
            pairs: Vec::new(),
            counts: Vec::new(),
            lists: Vec::with_capacity(nodes.len()),
            new: Vec::with_capacity(nodes.len()),
            nodes,
            before: vec![NONE; MAX_SYMBOLS + 1],
            after: vec![NONE; MAX_SYMBOLS + 1],
        };
        let mut known = vec![NONE; (BYTES * BYTES) as usize];
        for at in 0..text.nodes.len() as u32 {
            if let Some(symbols) = text.symbols(at) {
                let id = &mut known[(symbols.0 * BYTES + symbols.1) as usize];
                if *id == NONE {
                    *id = text.new_pair(symbols);
                }
                text.add(*id, at);
            }
        }
        text.list_new(0);
        text
    }

    /// The sequences after all replacements.
    pub(super) fn sequences(&self) -> Vec<Vec<u32>> {
        let mut sequences = Vec::new();
        let mut current = Vec::new();
        let mut at = 0;
        while let Some(node) = self.nodes.get(at as usize) {
            match node.symbol {
                NONE => {
                    sequences.push(current.clone());
                    current.clear();
                }
                symbol => current.push(symbol),
            }
            at = node.next;
        }
        sequences
    }

    /// The number of pairs so far.
    pub(super) fn pair_count(&self) -> u32 {
        self.pairs.len() as u32
    }

    /// The symbols of a pair.
    pub(super) fn pair(&self, id: u32) -> (u32, u32) {
        self.pairs[id as usize].symbols
    }

    /// How often a pair is in the text.
    pub(super) fn count(&self, id: u32) -> u32 {
        self.counts[id as usize]
    }

    /// Replaces all occurrences of a pair by a new symbol, from the start of the text on.
    pub(super) fn replace_all(&mut self, id: u32, symbol: u32) {
        let first_new = self.pair_count();
        self.counts[id as usize] = 0;
        for index in self.pairs[id as usize].list.clone() {
            let at = self.lists[index as usize];
            if self.nodes[at as usize].pair == id {
                self.replace(at, symbol);
            }
        }
        self.list_new(first_new);
        // Reset the arrays for the next symbol.
        for pair in &self.pairs[first_new as usize..] {
            self.before[pair.symbols.0 as usize] = NONE;
            self.after[pair.symbols.1 as usize] = NONE;
        }
    }

    /// The two symbols at a position, unless one of them is a separator.
    fn symbols(&self, at: u32) -> Option<(u32, u32)> {
        let first = self.nodes.get(at as usize)?;
        let second = self.nodes.get(first.next as usize)?;
        (first.symbol != NONE && second.symbol != NONE).then_some((first.symbol, second.symbol))
    }

    fn new_pair(&mut self, symbols: (u32, u32)) -> u32 {
        self.pairs.push(Pair {
            symbols,
            list: 0..0,
        });
        self.counts.push(0);
        self.pair_count() - 1
    }

    fn add(&mut self, id: u32, at: u32) {
        self.counts[id as usize] += 1;
        self.nodes[at as usize].pair = id;
        self.new.push((id, at));
    }

    /// Removes the pair at a position.
    fn remove(&mut self, at: u32) {
        let id = std::mem::replace(&mut self.nodes[at as usize].pair, NONE);
        if let Some(count) = self.counts.get_mut(id as usize) {
            // Saturating: the count of the pair being replaced is 0 already.
            *count = count.saturating_sub(1);
        }
    }

    fn replace(&mut self, at: u32, symbol: u32) {
        let Node {
            next: second,
            previous: before,
            ..
        } = self.nodes[at as usize];
        if before != NONE {
            self.remove(before);
        }
        self.remove(second);
        let after = self.nodes[second as usize].next;
        // A removed symbol must not count as the start of a pair.
        self.nodes[second as usize].symbol = NONE;
        self.nodes[at as usize] = Node {
            symbol,
            next: after,
            previous: before,
            pair: NONE,
        };
        if let Some(after) = self.nodes.get_mut(after as usize) {
            after.previous = at;
        }
        if before != NONE
            && let Some(symbols) = self.symbols(before)
        {
            self.add_beside(symbols, symbol, before);
        }
        if let Some(symbols) = self.symbols(at) {
            self.add_beside(symbols, symbol, at);
        }
    }

    /// Adds a pair that contains the new symbol.
    fn add_beside(&mut self, symbols: (u32, u32), new: u32, at: u32) {
        // The new symbol twice is one pair: only `before` has it.
        let known = match symbols.1 == new {
            true => self.before[symbols.0 as usize],
            false => self.after[symbols.1 as usize],
        };
        let id = match known {
            NONE => {
                let id = self.new_pair(symbols);
                match symbols.1 == new {
                    true => self.before[symbols.0 as usize] = id,
                    false => self.after[symbols.1 as usize] = id,
                }
                id
            }
            id => id,
        };
        self.add(id, at);
    }

    /// Makes the lists of positions of the pairs from index `first` on, except of rare ones: a pair never becomes more frequent.
    fn list_new(&mut self, first: u32) {
        let mut end = self.lists.len() as u32;
        let new = first as usize..;
        for (pair, &count) in self.pairs[new.clone()].iter_mut().zip(&self.counts[new]) {
            pair.list = end..end;
            end += if count < MIN_COUNT { 0 } else { count };
        }
        self.lists.resize(end as usize, NONE);
        for (id, at) in self.new.drain(..) {
            let is_there = self.nodes[at as usize].pair == id;
            if is_there && self.counts[id as usize] >= MIN_COUNT {
                // `new` has each position of a pair once, so there are as many as `counts` says.
                let end = &mut self.pairs[id as usize].list.end;
                self.lists[*end as usize] = at;
                *end += 1;
            }
        }
    }
}
