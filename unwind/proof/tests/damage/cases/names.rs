//! Damage of `.symbols`.

use unwind::symbols::SymbolTable;
use unwind::symbols::format::CRC_FROM;

use super::sums::Sums;
use super::{Part, Trial, is_in_sample};
use crate::damage::capture::Section;

impl Trial<'_> {
    /// `.symbols`: no other name comes out of it.
    pub(super) fn names(&self) {
        let Section { bytes, address } = &self.situation.symbols;
        let truth = self.names_of(bytes, *address).expect("names");
        let word = |at| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a header"));
        let sums = Sums::new(bytes, CRC_FROM..word(12) as usize, word(16));
        let (mut refused, mut right, mut parsed) = (0_u64, 0_u64, 0_u64);
        // Nothing that the checksum covers is read before it.
        let mut check = |damaged: &[u8], is_noticed: bool, is_sampled: bool, case: &str| {
            let names = if is_noticed && !is_sampled {
                None
            } else {
                parsed += 1;
                self.names_of(damaged, *address)
            };
            if let Some(names) = names {
                assert!(!is_noticed, "{}: {case}", self.name());
                assert_eq!(names, truth, "{}: .symbols, {case}", self.name());
                right += 1;
            } else {
                refused += 1;
            }
        };
        let mut damaged = bytes.clone();
        let one_of = damaged.len() as u64 / 128 + 1;
        for at in 0..damaged.len() {
            for bit in 0..8 {
                let is_sampled = at < 64 || is_in_sample((at * 8 + bit) as u64, one_of);
                if is_sampled || self.part == Part::All {
                    damaged[at] ^= 1 << bit;
                    let is_noticed = sums.notice(at, &damaged[at..=at]);
                    let case = format!("byte {at}, bit {bit}");
                    check(&damaged, is_noticed, is_sampled, &case);
                    damaged[at] ^= 1 << bit;
                }
            }
        }
        for length in 0..bytes.len() {
            if length < 64 || self.part == Part::All || is_in_sample(length as u64, 64) {
                check(&bytes[..length], false, true, &format!("{length} bytes"));
            }
        }
        println!(
            "{}: .symbols: {refused} refused, {right} outside of what it says, with all names right; {parsed} of them parsed as a whole",
            self.name()
        );
        assert!(refused > right);
    }

    /// The names of all frames, with places and what was inlined.
    fn names_of(&self, bytes: &[u8], address: u64) -> Option<Vec<String>> {
        let table = SymbolTable::parse(bytes, address).ok()?;
        let names = self.truth.places.iter().map(|place| {
            let Some(answer) = table.resolve(place.lookup_pc()) else {
                return "no name".to_owned();
            };
            let frames = answer.frames().map(|frame| {
                let place = frame.place().map(|(file, line)| format!("{file}:{line}"));
                format!("{} {place:?}", frame.name)
            });
            frames.collect::<Vec<_>>().join(", ")
        });
        Some(names.collect())
    }
}
