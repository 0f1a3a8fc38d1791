//! Damage of `.symbols`.

use unwind::symbols::SymbolTable;

use super::Trial;
use crate::capture::Section;

impl Trial<'_> {
    /// `.symbols`: no other name comes out of it.
    pub(super) fn names(&self) {
        let Section { bytes, address } = &self.situation.symbols;
        let truth = self.names_of(bytes, *address).expect("names");
        let (mut refused, mut right) = (0_u64, 0_u64);
        let mut damaged = bytes.clone();
        let one_of = damaged.len() as u64 / 128 + 1;
        let mut check = |damaged: &[u8], case: &str| match self.names_of(damaged, *address) {
            None => refused += 1,
            Some(names) => {
                assert_eq!(names, truth, "{}: .symbols, {case}", self.name());
                right += 1;
            }
        };
        for at in 0..damaged.len() {
            for bit in 0..8 {
                if at < 64 || self.part.has((at * 8 + bit) as u64, one_of) {
                    damaged[at] ^= 1 << bit;
                    check(&damaged, &format!("byte {at}, bit {bit}"));
                    damaged[at] ^= 1 << bit;
                }
            }
        }
        for length in 0..bytes.len() {
            if length < 64 || self.part.has(length as u64, 64) {
                check(&bytes[..length], &format!("{length} bytes"));
            }
        }
        println!(
            "{}: .symbols: {refused} refused, {right} outside of what it says, with all names right",
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
