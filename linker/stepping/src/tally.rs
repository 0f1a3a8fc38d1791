//! Counts the results of a run.

use std::collections::BTreeMap;

use crate::claim::Wrong;
use crate::lists::Outcome;
use crate::module::Judged;
use crate::truth::Unknown;

/// The result at a boundary between two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The code belongs to no image with rows.
    Outside,
    /// There is no row.
    NoRow,
    /// The truth is not known.
    Unknown(Unknown),
    /// The row leads to the caller.
    Right,
    /// The row does not lead to the caller.
    Wrong(Wrong),
}

/// Results at one instruction.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Boundaries with this result: outside, no row, unknown, right, wrong.
    pub counts: [u64; 5],
    /// The first wrong part, and the text of the example.
    pub wrong: Option<(Wrong, String)>,
    /// Why the truth was first not known.
    pub unknown: Option<Unknown>,
    /// The checker's verdict.
    pub judged: Option<Judged>,
}

impl Site {
    /// Counts a boundary. `example` describes a wrong row.
    pub fn count(&mut self, found: Found, example: impl FnOnce() -> String) {
        let index = match found {
            Found::Outside => 0,
            Found::NoRow => 1,
            Found::Unknown(why) => {
                self.unknown.get_or_insert(why);
                2
            }
            Found::Right => 3,
            Found::Wrong(wrong) => {
                // The most severe part decides.
                if self.wrong.as_ref().is_none_or(|(known, _)| wrong < *known) {
                    self.wrong = Some((wrong, example()));
                }
                4
            }
        };
        self.counts[index] += 1;
    }

    /// Whether the checker accepts the row although the row is wrong.
    #[must_use]
    pub fn is_wrongly_accepted(&self) -> bool {
        match (&self.wrong, &self.judged) {
            (Some((wrong, _)), Some(judged)) => judged.accepts(*wrong),
            _ => false,
        }
    }
}

/// Results of one program.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Results by file and address.
    pub sites: BTreeMap<(String, u64), (String, Site)>,
    /// Boundaries.
    pub boundaries: u64,
    /// Whole lists, by outcome.
    pub lists: BTreeMap<Outcome, u64>,
    /// Lists that are not called complete, by reason and last function.
    pub incomplete: BTreeMap<(String, String), u64>,
    /// The first lists that are wrongly called complete.
    pub lies: Vec<String>,
    /// Switches between stacks.
    pub switches: u64,
    /// How the run ended.
    pub ended: String,
}

/// Sums over all sites of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Right rows that are proven.
    pub right_proven: u64,
    /// Right rows that are not proven.
    pub right_unproven: u64,
    /// Wrong rows that are proven.
    pub wrong_proven: u64,
    /// Wrong rows that are not proven.
    pub wrong_unproven: u64,
    /// No row.
    pub no_row: u64,
    /// Code of no image with rows.
    pub outside: u64,
    /// Truth unknown.
    pub unknown: u64,
}

impl Sums {
    /// All boundaries.
    #[must_use]
    pub const fn boundaries(&self) -> u64 {
        self.right_proven
            + self.right_unproven
            + self.wrong_proven
            + self.wrong_unproven
            + self.no_row
            + self.outside
            + self.unknown
    }

    /// Adds other sums.
    pub const fn add(&mut self, other: &Self) {
        self.right_proven += other.right_proven;
        self.right_unproven += other.right_unproven;
        self.wrong_proven += other.wrong_proven;
        self.wrong_unproven += other.wrong_unproven;
        self.no_row += other.no_row;
        self.outside += other.outside;
        self.unknown += other.unknown;
    }
}

impl Tally {
    /// Adds the results of a site.
    pub fn add(&mut self, file: String, address: u64, name: String, site: Site) {
        match self.sites.entry((file, address)) {
            std::collections::btree_map::Entry::Vacant(new) => {
                new.insert((name, site));
            }
            std::collections::btree_map::Entry::Occupied(mut known) => {
                let known = &mut known.get_mut().1;
                for (sum, count) in known.counts.iter_mut().zip(site.counts) {
                    *sum += count;
                }
                known.wrong = known.wrong.take().or(site.wrong);
                known.unknown = known.unknown.or(site.unknown);
                known.judged = known.judged.take().or(site.judged);
            }
        }
    }

    /// Sums over all sites.
    #[must_use]
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for (_, site) in self.sites.values() {
            let [outside, no_row, unknown, right, wrong] = site.counts;
            let is_proven = site.judged.as_ref().is_some_and(Judged::is_proven);
            *if is_proven {
                &mut sums.right_proven
            } else {
                &mut sums.right_unproven
            } += right;
            let is_accepted = site.is_wrongly_accepted();
            *if is_accepted {
                &mut sums.wrong_proven
            } else {
                &mut sums.wrong_unproven
            } += wrong;
            sums.no_row += no_row;
            sums.outside += outside;
            sums.unknown += unknown;
        }
        sums
    }

    /// Lists with an outcome.
    #[must_use]
    pub fn lists(&self, is_right: bool, is_proven: bool) -> u64 {
        self.lists
            .get(&Outcome::Complete {
                is_right,
                is_proven,
            })
            .copied()
            .unwrap_or(0)
    }

    /// Whether no proven row is wrong, and no list by proven rows is wrongly called complete.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.sums().wrong_proven == 0 && self.lists(false, true) == 0
    }
}
