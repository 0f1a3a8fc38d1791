//! Damage of stacks: bits, and return addresses of other functions.

use unwind::sframe::Tables;

use super::{Part, Trial, is_in_sample};
use crate::damage::history::History;
use crate::damage::tally::Tally;
use crate::damage::walk::walk;

impl Trial<'_> {
    /// Walks over damaged stacks.
    fn stacks(&self, what: &str, cases: impl Iterator<Item = (usize, usize, u64)>) -> Tally {
        let history = History::read(self.situation);
        let tables = Tables::new(&self.situation.tables.bytes, self.situation.tables.address);
        let tables = tables.verified(tables.verify());
        let mut words = self.situation.words.clone();
        let mut tally = Tally::default();
        for (stack, at, value) in cases {
            let old = std::mem::replace(&mut words[stack][at], value);
            let list = walk(self.situation, tables, &words);
            let case = || {
                let address = self.situation.stacks[stack].start + at as u64 * 8;
                format!(
                    "{old:#x} is {value:#x} at {address:#x}: {}",
                    self.difference(&list)
                )
            };
            tally.count(&list, &self.truth, case, || {
                history.explain(&list, &self.truth)
            });
            words[stack][at] = old;
        }
        tally.print(self.name(), what);
        assert!(tally.incomplete > 0, "{what}: no walk has used that");
        assert_eq!(tally.wrong, 0, "{}: {what}", self.name());
        tally
    }

    /// The words that a walk can use: of each stack those above the lowest stack pointer in it.
    fn live(&self) -> Vec<(usize, usize)> {
        let cfas = self.truth.cfas.iter().flatten().copied();
        let pointers: Vec<_> = cfas.chain([self.situation.registers[1]]).collect();
        let frames = self
            .truth
            .places
            .iter()
            .filter_map(|place| place.trap_frame);
        let pointers: Vec<_> = pointers.into_iter().chain(frames).collect();
        let mut live = Vec::new();
        for (index, range) in self.situation.stacks.iter().enumerate() {
            let inside = pointers.iter().filter(|sp| range.holds_stack_pointer(**sp));
            if let Some(lowest) = inside.min() {
                let first = (lowest - range.start) / 8;
                live.extend(
                    (first as usize..self.situation.words[index].len()).map(|at| (index, at)),
                );
            }
        }
        live
    }

    pub(super) fn stack_bits(&self) {
        let words = &self.situation.words;
        let cases = self.live().into_iter().flat_map(|(stack, at)| {
            (0..64).map(move |bit| (stack, at, words[stack][at] ^ 1 << bit))
        });
        self.stacks("a bit of the stack", cases);
    }

    /// Every word that is a return address of the list, or an interrupted program counter, becomes each other return address
    /// of the image: behind each call that there is. Returns how many other lists were possible ones.
    pub(super) fn return_addresses(&self) -> u64 {
        let words = &self.situation.words;
        let mut targets: Vec<_> = History::read(self.situation).calls.into_keys().collect();
        targets.sort_unstable();
        let one_of = targets.len() as u64 / 256 + 1;
        let is_listed = |word: u64| self.truth.places.iter().any(|place| place.pc == word);
        let slots = self
            .live()
            .into_iter()
            .filter(|(stack, at)| is_listed(words[*stack][*at]));
        let cases = slots.flat_map(|(stack, at)| {
            let old = words[stack][at];
            let part = self.part;
            let targets =
                targets
                    .iter()
                    .filter(move |target| **target != old)
                    .filter(move |target| {
                        part == Part::All || is_in_sample(**target ^ at as u64, one_of)
                    });
            targets.map(move |target| (stack, at, *target))
        });
        let tally = self.stacks("another return address", cases);
        tally.possible.values().sum()
    }
}
