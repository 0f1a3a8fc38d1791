//! The damage, and what must come of it.

mod names;
mod stacks;
mod sums;
mod tables;
mod values;

use unwind::End;
use unwind::sframe::{Tables, Verified};

use crate::damage::capture::Situation;
use crate::damage::walk::{List, walk};
use sums::Sums;

/// How much to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Sample,
    All,
}

/// Whether a case is in the sample: one of so many, chosen by its number.
fn is_in_sample(case: u64, one_of: u64) -> bool {
    // Multiplied by the golden ratio, so that no period of the tables coincides.
    (case.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).is_multiple_of(one_of)
}

/// A situation, and what is true of it.
struct Trial<'a> {
    situation: &'a Situation,
    truth: List,
    /// The parts of the table that tell of the functions in the list, and its header.
    used: Vec<std::ops::Range<usize>>,
    table_sums: Sums,
    part: Part,
}

/// Tries all damage; returns how many other lists were possible ones.
pub fn try_all(situation: &Situation, part: Part) -> u64 {
    let trial = Trial::new(situation, part);
    trial.stack_bits();
    let possible = trial.return_addresses();
    trial.table_bits();
    trial.table_lengths();
    trial.table_fields();
    trial.table_order();
    trial.names();
    possible
}

/// Tries all damage of stacks; returns the same.
pub fn try_stacks(situation: &Situation, part: Part) -> u64 {
    let trial = Trial::new(situation, part);
    trial.stack_bits();
    trial.return_addresses()
}

impl<'a> Trial<'a> {
    /// The list without damage, which is complete.
    fn new(situation: &'a Situation, part: Part) -> Self {
        let tables = Tables::new(&situation.tables.bytes, situation.tables.address);
        assert_eq!(
            tables.verify(),
            Ok(Verified {
                checksum: true,
                code: false
            })
        );
        let truth = walk(
            situation,
            tables.verified(tables.verify()),
            &situation.words,
        );
        assert_eq!(truth.end, End::Complete, "{}: {truth:x?}", situation.name);
        assert!(truth.places.len() > 8, "{}: {truth:x?}", situation.name);
        let used = tables::used(&situation.tables.bytes, &tables, &truth);
        Self {
            situation,
            truth,
            used,
            table_sums: tables::sums(&situation.tables.bytes),
            part,
        }
    }

    fn name(&self) -> &str {
        &self.situation.name
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
}
