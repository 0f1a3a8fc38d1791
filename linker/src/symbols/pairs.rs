//! Text whose symbols are replaced, and where its pairs of symbols are.
//!
//! No hash table: a place knows which pair starts there, and pairs that come up while one is replaced differ in one
//! symbol only. They come up then or never, and in the order of the text: so where they are is one list for each, which
//! needs no sorting.

use std::ops::Range;

use super::repair::{BYTES, LEAST, MOST_SYMBOLS};

/// No symbol, no place, no pair.
pub(super) const NONE: u32 = u32::MAX;

/// A place of the text. What belongs together lies together: a replacement is all about neighbours.
#[derive(Clone, Copy)]
struct Place {
    /// [`NONE`] for a separator, and for what was cut out.
    symbol: u32,
    next: u32,
    previous: u32,
    /// The pair that starts here, by its index.
    pair: u32,
}

/// A pair of symbols.
struct Pair {
    symbols: (u32, u32),
    /// Its places, in [`Text::lists`]; it may not be at all of them any more.
    list: Range<u32>,
}

/// Sequences of symbols, one behind the other, a separator behind each.
pub(super) struct Text {
    places: Vec<Place>,
    pairs: Vec<Pair>,
    /// How often each pair is in the text.
    counts: Vec<u32>,
    lists: Vec<u32>,
    /// Pairs that have come up, and where, that are in no list yet.
    new: Vec<(u32, u32)>,
    /// Of the pairs with the symbol that is being put in: the index by the other symbol, which comes before it, or after.
    before: Vec<u32>,
    after: Vec<u32>,
}

impl Text {
    pub(super) fn new(sequences: &[Vec<u8>]) -> Self {
        let length = sequences.iter().map(|sequence| sequence.len() + 1).sum();
        let mut places: Vec<Place> = Vec::with_capacity(length);
        let mut add = |symbol| {
            let at = u32::try_from(places.len()).expect("less than 4 GiB of text");
            places.push(Place {
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
            lists: Vec::with_capacity(places.len()),
            new: Vec::with_capacity(places.len()),
            places,
            before: vec![NONE; MOST_SYMBOLS + 1],
            after: vec![NONE; MOST_SYMBOLS + 1],
        };
        let mut known = vec![NONE; (BYTES * BYTES) as usize];
        for at in 0..text.places.len() as u32 {
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

    /// What the sequences have come to.
    pub(super) fn sequences(&self) -> Vec<Vec<u32>> {
        let mut sequences = Vec::new();
        let mut current = Vec::new();
        let mut at = 0;
        while let Some(place) = self.places.get(at as usize) {
            match place.symbol {
                NONE => {
                    sequences.push(current.clone());
                    current.clear();
                }
                symbol => current.push(symbol),
            }
            at = place.next;
        }
        sequences
    }

    /// How many pairs have come up.
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

    /// Puts a new symbol in the place of a pair, from the start of the text on.
    pub(super) fn replace_all(&mut self, id: u32, symbol: u32) {
        let first_new = self.pair_count();
        self.counts[id as usize] = 0;
        for index in self.pairs[id as usize].list.clone() {
            let at = self.lists[index as usize];
            if self.places[at as usize].pair == id {
                self.replace(at, symbol);
            }
        }
        self.list_new(first_new);
        // The symbol is not new any more.
        for pair in &self.pairs[first_new as usize..] {
            self.before[pair.symbols.0 as usize] = NONE;
            self.after[pair.symbols.1 as usize] = NONE;
        }
    }

    /// The two symbols at a place, unless one of them is a separator.
    fn symbols(&self, at: u32) -> Option<(u32, u32)> {
        let first = self.places.get(at as usize)?;
        let second = self.places.get(first.next as usize)?;
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
        self.places[at as usize].pair = id;
        self.new.push((id, at));
    }

    /// The pair at a place is not there any more.
    fn remove(&mut self, at: u32) {
        let id = std::mem::replace(&mut self.places[at as usize].pair, NONE);
        if let Some(count) = self.counts.get_mut(id as usize) {
            // That of the pair that is being replaced is 0.
            *count = count.saturating_sub(1);
        }
    }

    fn replace(&mut self, at: u32, symbol: u32) {
        let Place {
            next: second,
            previous: before,
            ..
        } = self.places[at as usize];
        if before != NONE {
            self.remove(before);
        }
        self.remove(second);
        let after = self.places[second as usize].next;
        // What is cut out must not be taken for a pair any more.
        self.places[second as usize].symbol = NONE;
        self.places[at as usize] = Place {
            symbol,
            next: after,
            previous: before,
            pair: NONE,
        };
        if let Some(after) = self.places.get_mut(after as usize) {
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

    /// Adds a pair that has the new symbol in it.
    fn add_beside(&mut self, symbols: (u32, u32), new: u32, at: u32) {
        // Twice the new symbol is one pair, from whichever side it is seen.
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

    /// Makes lists of the places of those new pairs that are frequent enough; they do not become more frequent. The first
    /// new one is given.
    fn list_new(&mut self, first: u32) {
        let mut end = self.lists.len() as u32;
        let new = first as usize..;
        for (pair, &count) in self.pairs[new.clone()].iter_mut().zip(&self.counts[new]) {
            pair.list = end..end;
            end += if count < LEAST { 0 } else { count };
        }
        self.lists.resize(end as usize, NONE);
        for (id, at) in self.new.drain(..) {
            let is_there = self.places[at as usize].pair == id;
            if is_there && self.counts[id as usize] >= LEAST {
                // No place has the same pair twice, so there are as many as are counted.
                let end = &mut self.pairs[id as usize].list.end;
                self.lists[*end as usize] = at;
                *end += 1;
            }
        }
    }
}
