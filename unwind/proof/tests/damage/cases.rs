//! The damage, and what must come of it.

use unwind::End;
use unwind::sframe::{Tables, Verified};
use unwind::symbols::SymbolTable;

use crate::capture::{Section, Situation};
use crate::history::History;
use crate::tally::Tally;
use crate::walk::{List, walk};

/// How much to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Sample,
    All,
}

impl Part {
    /// Whether a case is tried: in a sample one of so many, chosen by its number.
    fn has(self, case: u64, one_of: u64) -> bool {
        // Multiplied by the golden ratio, so that no period of the tables coincides.
        self == Self::All || (case.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).is_multiple_of(one_of)
    }
}

/// A situation, and what is true of it.
struct Trial<'a> {
    situation: &'a Situation,
    truth: List,
    /// The parts of the table that tell of the functions in the list, and its header.
    used: Vec<std::ops::Range<usize>>,
    part: Part,
}

/// Tries all damage.
pub fn try_all(situation: &Situation, part: Part) {
    let tables = Tables::new(&situation.tables.bytes, situation.tables.address);
    assert_eq!(tables.verify(), Ok(Verified { checksum: true }));
    let truth = walk(
        situation,
        tables.verified(tables.verify()),
        &situation.words,
    );
    assert_eq!(truth.end, End::Complete, "{}: {truth:x?}", situation.name);
    assert!(truth.places.len() > 8, "{}: {truth:x?}", situation.name);
    let used = used(&situation.tables.bytes, &tables, &truth);
    let trial = Trial {
        situation,
        truth,
        used,
        part,
    };
    trial.stack_bits();
    trial.return_addresses();
    trial.table_bits();
    trial.table_lengths();
    trial.table_fields();
    trial.table_order();
    trial.names();
}

fn word(bytes: &[u8], at: usize) -> usize {
    let word = bytes[at..].first_chunk().expect("it lies in the table");
    u32::from_le_bytes(*word) as usize
}

/// A table of version 3: the header; then a list of entries of [`ENTRY`] bytes; then rows.
const HEADER: usize = 28;
const ENTRY: usize = 16;

/// The header, and the entries and rows of the list's functions.
fn used(bytes: &[u8], tables: &Tables<'_>, truth: &List) -> Vec<std::ops::Range<usize>> {
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
    fn name(&self) -> &str {
        &self.situation.name
    }

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

    /// The first difference from the truth.
    fn difference(&self, list: &List) -> String {
        let (found, truth) = (&list.places, &self.truth.places);
        let differs = |index: &usize| found.get(*index) != truth.get(*index);
        let index = (0..).find(differs).expect("it is another list");
        let (lengths, places) = (
            (found.len(), truth.len()),
            (found.get(index), truth.get(index)),
        );
        format!("frame {index} of {lengths:?}: {places:x?}")
    }

    fn finish(&self, what: &str, before: &Tally, after: &Tally) {
        before.print(self.name(), &format!("{what}, before it is verified"));
        after.print(self.name(), &format!("{what}, after it was verified"));
        assert_eq!(before.wrong, 0, "{}: {what}", self.name());
        assert_eq!(before.same, 0, "{}: {what} not noticed", self.name());
    }

    fn table_bits(&self) {
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

    fn table_lengths(&self) {
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
    fn table_fields(&self) {
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
    fn table_order(&self) {
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

    fn stack_bits(&self) {
        let words = &self.situation.words;
        let cases = self.live().into_iter().flat_map(|(stack, at)| {
            (0..64).map(move |bit| (stack, at, words[stack][at] ^ 1 << bit))
        });
        self.stacks("a bit of the stack", cases);
    }

    /// Every word that is a return address of the list, or an interrupted program counter, becomes each other return address
    /// of the image: behind each call that there is.
    fn return_addresses(&self) {
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
            let targets = targets
                .iter()
                .filter(move |target| **target != old && part.has(**target ^ at as u64, one_of));
            targets.map(move |target| (stack, at, *target))
        });
        let tally = self.stacks("another return address", cases);
        // Other lists are seen, and only their explanation makes them possible ones.
        assert!(!tally.possible.is_empty(), "{}: no other list", self.name());
    }

    /// `.symbols`: no other name comes out of it.
    fn names(&self) {
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
