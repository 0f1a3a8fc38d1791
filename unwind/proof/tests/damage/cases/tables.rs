//! Damage of `.sframe`: bits and lengths, and what must come of any.

use std::ops::Range;

use unwind::sframe::{Damage, Tables, Verified};

use super::sums::Sums;
use super::{Part, Trial, is_in_sample};
use crate::damage::tally::Tally;
use crate::damage::walk::{List, walk};

pub(super) fn word(bytes: &[u8], at: usize) -> usize {
    let word = bytes[at..].first_chunk().expect("it lies in the table");
    u32::from_le_bytes(*word) as usize
}

/// A table of version 3: the header; then a list of entries of [`ENTRY`] bytes; then rows.
pub(super) const HEADER: usize = 28;
pub(super) const ENTRY: usize = 16;

/// The header, and the entries and rows of the list's functions.
pub(super) fn used(bytes: &[u8], tables: &Tables<'_>, truth: &List) -> Vec<Range<usize>> {
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

/// The checksums of a table, which stands before the last 8 bytes, with a magic number.
pub(super) fn sums(bytes: &[u8]) -> Sums {
    let end = bytes.len() - 8;
    Sums::new(bytes, 0..end, word(bytes, end) as u32)
}

/// What came of damage to the table: before it is verified, as a kernel meets it that does so when a report begins, and after.
#[derive(Default)]
pub(super) struct Outcomes {
    before: Tally,
    after: Tally,
    /// Cases in which the library has verified the whole table.
    verified: u64,
    /// Those in which it finds no checksum any more, as in a table of another tool, and nothing else wrong.
    unsealed: u64,
}

impl Trial<'_> {
    /// Damage of the table, of the bytes `at` only; if that is empty, anywhere. Of a sample, the library says what the sums say.
    pub(super) fn table(
        &self,
        damaged: &[u8],
        at: Range<usize>,
        is_sampled: bool,
        outcomes: &mut Outcomes,
        case: &dyn Fn() -> String,
    ) {
        let tables = Tables::new(damaged, self.situation.tables.address);
        // The header says what the checksum covers. Behind it, verification begins with the checksum.
        let is_noticed =
            at.start >= HEADER && self.table_sums.notice(at.start, &damaged[at.clone()]);
        let outcome = if is_noticed && !is_sampled {
            Err(Damage::Checksum)
        } else {
            outcomes.verified += 1;
            tables.verify()
        };
        if is_noticed {
            assert_eq!(outcome, Err(Damage::Checksum), "{}: {at:?}", self.name());
        }
        // That is lost with two bytes of the last four, its magic number, or more. A report says so.
        if outcome
            == Ok(Verified {
                checksum: false,
                code: false,
            })
        {
            outcomes.unsealed += 1;
            let magic = damaged.len() - 4;
            assert!(at.end > magic + 1, "{}: {at:?}", self.name());
        }
        let never = || Err("by a damaged table".to_owned());
        let words = &self.situation.words;
        let list = walk(self.situation, tables.verified(outcome), words);
        outcomes.before.count(&list, &self.truth, case, never);
        let list = walk(self.situation, tables, words);
        let explain = || Err(self.difference(&list));
        outcomes.after.count(&list, &self.truth, case, explain);
    }

    pub(super) fn finish(&self, what: &str, outcomes: &Outcomes) {
        let Outcomes {
            before,
            after,
            verified,
            unsealed,
        } = outcomes;
        before.print(self.name(), &format!("{what}, before it is verified"));
        println!(
            "    {verified} of them verified as a whole, {unsealed} found to have no checksum"
        );
        after.print(self.name(), &format!("{what}, after it was verified"));
        assert_eq!(before.wrong, 0, "{}: {what}", self.name());
        // Without the checksum, the proof of the rows is not found either, so that no list is complete.
        assert_eq!(before.same, 0, "{}: {what} not noticed", self.name());
    }

    pub(super) fn table_bits(&self) {
        let mut outcomes = Outcomes::default();
        let mut bytes = self.situation.tables.bytes.clone();
        for at in 0..bytes.len() {
            let is_used = self.used.iter().any(|part| part.contains(&at));
            for bit in 0..8 {
                let is_sampled = is_used || is_in_sample((at * 8 + bit) as u64, 512);
                if is_sampled || self.part == Part::All {
                    bytes[at] ^= 1 << bit;
                    self.table(&bytes, at..at + 1, is_sampled, &mut outcomes, &|| {
                        format!("byte {at}, bit {bit}")
                    });
                    bytes[at] ^= 1 << bit;
                }
            }
        }
        self.finish("a bit of .sframe", &outcomes);
        // With the verification switched off there are wrong lists, and they are seen.
        let name = self.name();
        assert!(outcomes.after.wrong > 0, "{name}: nothing can be wrong");
    }

    pub(super) fn table_lengths(&self) {
        let mut outcomes = Outcomes::default();
        let bytes = &self.situation.tables.bytes;
        for length in 0..bytes.len() {
            if length < 256 || self.part == Part::All || is_in_sample(length as u64, 64) {
                self.table(&bytes[..length], 0..0, true, &mut outcomes, &|| {
                    format!("{length} bytes")
                });
            }
        }
        self.finish("a length of .sframe", &outcomes);
    }
}
