//! Damage of `.sframe`: bits, lengths, extreme values, functions in another order.

use unwind::sframe::Tables;

use super::Trial;
use crate::tally::Tally;
use crate::walk::{List, walk};

fn word(bytes: &[u8], at: usize) -> usize {
    let word = bytes[at..].first_chunk().expect("it lies in the table");
    u32::from_le_bytes(*word) as usize
}

/// A table of version 3: the header; then a list of entries of [`ENTRY`] bytes; then rows.
const HEADER: usize = 28;
const ENTRY: usize = 16;

/// The header, and the entries and rows of the list's functions.
pub(super) fn used(bytes: &[u8], tables: &Tables<'_>, truth: &List) -> Vec<std::ops::Range<usize>> {
    let section = tables.first().expect("a table");
    let (entries, rows) = (HEADER + word(bytes, 20), HEADER + word(bytes, 24));
    let count = word(bytes, 8);
    let mut parts: Vec<_> = std::iter::once(0..HEADER).collect();
    let mut starts: Vec<_> = (0..count)
        .map(|index| word(bytes, entries + index * ENTRY + 12))
        .collect();
    let row_starts = starts.clone();
    starts.push(word(bytes, 16));
    starts.sort_unstable();
    for place in &truth.places {
        let pc = place.lookup_pc();
        let index = (0..section.function_count())
            .find(|index| section.function(*index).is_some_and(|one| one.contains(pc)));
        let index = index.expect("the list is complete") as usize;
        let entry = entries + index * ENTRY;
        parts.push(entry..entry + ENTRY);
        let start = row_starts[index];
        let next = starts.iter().find(|next| **next > start).expect("an end");
        parts.push(rows + start..rows + next);
    }
    parts
}

impl Trial<'_> {
    /// Damage of the table: as a kernel meets it that verifies its tables when a report begins, and as one that did so before the damage.
    fn table(
        &self,
        damaged: &[u8],
        before: &mut Tally,
        after: &mut Tally,
        case: &dyn Fn() -> String,
    ) {
        let tables = Tables::new(damaged, self.situation.tables.address);
        let never = || Err("by a damaged table".to_owned());
        let list = walk(
            self.situation,
            tables.verified(tables.verify()),
            &self.situation.words,
        );
        before.count(&list, &self.truth, case, never);
        self.table_after(&tables, after, case);
    }

    fn table_after(&self, tables: &Tables<'_>, after: &mut Tally, case: &dyn Fn() -> String) {
        let list = walk(self.situation, *tables, &self.situation.words);
        after.count(&list, &self.truth, case, || Err(self.difference(&list)));
    }

    fn finish(&self, what: &str, before: &Tally, after: &Tally) {
        before.print(self.name(), &format!("{what}, before it is verified"));
        after.print(self.name(), &format!("{what}, after it was verified"));
        assert_eq!(before.wrong, 0, "{}: {what}", self.name());
        assert_eq!(before.same, 0, "{}: {what} not noticed", self.name());
    }

    pub(super) fn table_bits(&self) {
        let (mut before, mut after) = (Tally::default(), Tally::default());
        let mut bytes = self.situation.tables.bytes.clone();
        for at in 0..bytes.len() {
            let is_used = self.used.iter().any(|part| part.contains(&at));
            for bit in 0..8 {
                if !is_used && !self.part.has((at * 8 + bit) as u64, 512) {
                    continue;
                }
                bytes[at] ^= 1 << bit;
                self.table(&bytes, &mut before, &mut after, &|| {
                    format!("byte {at}, bit {bit}")
                });
                bytes[at] ^= 1 << bit;
            }
        }
        self.finish("a bit of .sframe", &before, &after);
        // With the verification switched off there are wrong lists, and they are seen.
        assert!(after.wrong > 0, "{}: nothing can be wrong", self.name());
    }

    pub(super) fn table_lengths(&self) {
        let (mut before, mut after) = (Tally::default(), Tally::default());
        let bytes = &self.situation.tables.bytes;
        for length in 0..bytes.len() {
            if length < 256 || self.part.has(length as u64, 64) {
                self.table(&bytes[..length], &mut before, &mut after, &|| {
                    format!("{length} bytes")
                });
            }
        }
        self.finish("a length of .sframe", &before, &after);
    }

    /// Extreme values in every field and at every other place.
    pub(super) fn table_fields(&self) {
        let (mut before, mut after) = (Tally::default(), Tally::default());
        let mut bytes = self.situation.tables.bytes.clone();
        let length = bytes.len() as u64;
        let values = [
            0,
            1,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0x8000,
            0xffff,
            0x7fff_ffff,
            1 << 31,
            u64::from(u32::MAX),
            i64::MAX as u64,
            1 << 63,
            u64::MAX,
            length,
            length - 1,
        ];
        for at in 0..bytes.len() {
            let is_used = self.used.iter().any(|part| part.contains(&at));
            for (nth, value) in values.into_iter().enumerate() {
                for size in [1, 2, 4, 8] {
                    let case = (at * 64 + nth * 4) as u64 + size as u64 % 5;
                    let fits = size == 8 || value >> (8 * size) == 0;
                    if at + size > bytes.len()
                        || !fits
                        || !self.part.has(case, if is_used { 8 } else { 4096 })
                    {
                        continue;
                    }
                    let old: Vec<_> = bytes[at..at + size].to_vec();
                    let new = &value.to_le_bytes()[..size];
                    if old != new {
                        bytes[at..at + size].copy_from_slice(new);
                        self.table(&bytes, &mut before, &mut after, &|| {
                            format!("{size} bytes at {at}: {value:#x}")
                        });
                        bytes[at..at + size].copy_from_slice(&old);
                    }
                }
            }
        }
        self.finish("an extreme value in .sframe", &before, &after);
    }

    /// Entries of functions in other places: neighbours, any two, all.
    pub(super) fn table_order(&self) {
        let (mut before, mut after) = (Tally::default(), Tally::default());
        let bytes = &self.situation.tables.bytes;
        let (entries, count) = (HEADER + word(bytes, 20), word(bytes, 8));
        // A start counts from the place of its field, and goes along with its entry or not.
        let swap = |bytes: &mut [u8], one: usize, other: usize, moves: bool| {
            for byte in 0..ENTRY {
                bytes.swap(entries + one * ENTRY + byte, entries + other * ENTRY + byte);
            }
            let distance = ((other as i64) - (one as i64)) * ENTRY as i64;
            for (entry, distance) in [(one, distance), (other, -distance)] {
                if moves {
                    let field = &mut bytes[entries + entry * ENTRY..][..8];
                    let start = i64::from_le_bytes(field.try_into().expect("8 bytes"));
                    field.copy_from_slice(&start.wrapping_add(distance).to_le_bytes());
                }
            }
        };
        for one in 0..count - 1 {
            for (nth, other) in [one + 1, one / 2, count - 1].into_iter().enumerate() {
                for moves in [false, true] {
                    let case = (one * 6 + nth * 2) as u64 + u64::from(moves);
                    if one == other || !self.part.has(case, 16) {
                        continue;
                    }
                    let mut bytes = bytes.clone();
                    swap(&mut bytes, one, other, moves);
                    // Neighbours can have the same bytes, as starts count from where they are.
                    if bytes == self.situation.tables.bytes {
                        continue;
                    }
                    self.table(&bytes, &mut before, &mut after, &|| {
                        format!("entries {one} and {other}, {moves}")
                    });
                }
            }
        }
        for seed in 1..200_u64 {
            let mut shuffled = bytes.clone();
            let mut random = seed;
            for one in (1..count).rev() {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                swap(
                    &mut shuffled,
                    one,
                    (random >> 33) as usize % (one + 1),
                    seed % 2 == 0,
                );
            }
            self.table(&shuffled, &mut before, &mut after, &|| {
                format!("shuffled, seed {seed}")
            });
        }
        self.finish("functions of .sframe in another order", &before, &after);
    }
}
