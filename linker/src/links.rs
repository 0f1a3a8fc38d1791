//! The list of places where trap code has the link register of what it interrupted (AArch64).

use row_checker::check::Verdict;
use unwind::sframe::{Tables, format};
use unwind::{Range, Rule};

use crate::function::Function;
use crate::unproven::{is_accepted, places};

/// Ranges of trap code, in ascending order, each with the place of the interrupted link register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterruptedLinks {
    ranges: Vec<(Range, Rule)>,
}

impl InterruptedLinks {
    /// Returns the places that follow from the code, by the accepted `verdicts` on the instructions of `functions`: both in ascending order.
    #[must_use]
    pub fn of(functions: &[Function], verdicts: &[Verdict]) -> Self {
        let mut links = Self::default();
        let trap_code = functions.iter().filter(|function| function.signal);
        let verdicts = trap_code.flat_map(|function| &verdicts[places(verdicts, function)]);
        for verdict in verdicts.filter(|verdict| is_accepted(verdict)) {
            if let Some(rule) = verdict.interrupted_link {
                let end = verdict.at.wrapping_add(verdict.length.into());
                links.add(Range::new(verdict.at, end), rule);
            }
        }
        links
    }

    fn add(&mut self, range: Range, rule: Rule) {
        match self.ranges.last_mut() {
            Some((last, of_last)) if last.end == range.start && *of_last == rule => {
                last.end = range.end;
            }
            _ => self.ranges.push((range, rule)),
        }
    }

    /// Returns the ranges as a table at address `table` stores them: the start relative to the table, the size in bytes, and the distance from
    /// the stack pointer, or [`format::LINK_IN_REGISTER`].
    #[must_use]
    pub fn stored(&self, table: u64) -> Vec<(u64, u32, u32)> {
        let stored = self.ranges.iter().map(|(range, rule)| {
            let place = match rule {
                Rule::Saved { offset, .. } => *offset as u32,
                _ => format::LINK_IN_REGISTER,
            };
            let size = range.end.wrapping_sub(range.start) as u32;
            (range.start.wrapping_sub(table), size, place)
        });
        let mut stored: Vec<_> = stored.collect();
        stored.sort_unstable_by_key(|(start, ..)| start.cast_signed());
        stored
    }

    /// Returns the number of ranges.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Returns the place for an address. `None` if it is not known.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<Rule> {
        let after = self
            .ranges
            .partition_point(|(range, _)| range.start <= address);
        let (range, rule) = self.ranges.get(after.checked_sub(1)?)?;
        (address < range.end).then_some(*rule)
    }

    /// Returns the places that `tables` contain for the code of `functions`. `longest` is a number of bytes that no function can exceed: see
    /// [`Unproven::listed`](crate::unproven::Unproven::listed).
    #[must_use]
    pub fn listed(tables: &Tables<'_>, functions: &[Function], longest: u64) -> Self {
        let mut links = Self::default();
        let sections: Vec<_> = tables.sections().flatten().collect();
        let trap_code = functions.iter().filter(|function| function.signal);
        let addresses = trap_code.flat_map(|function| {
            let size = longest.min(function.size.into());
            function.start..function.start.wrapping_add(size)
        });
        for at in addresses {
            let found = sections
                .iter()
                .find_map(|section| section.interrupted_link(at));
            if let Some(rule) = found {
                links.add(Range::new(at, at.wrapping_add(1)), rule);
            }
        }
        links
    }

    /// Returns the first address at which this list has another place than `other`.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Option<u64> {
        let places = self.ranges.iter().flat_map(|(range, rule)| {
            let inner = other
                .ranges
                .iter()
                .flat_map(|(range, _)| [range.start, range.end]);
            let inner = inner.filter(|at| (range.start..range.end).contains(at));
            inner.chain([range.start]).map(move |at| (at, rule))
        });
        let mut wrong = places.filter(|(at, rule)| other.at(*at).as_ref() != Some(rule));
        wrong.next().map(|(at, _)| at)
    }

    /// Returns the ranges, each with its place.
    #[must_use]
    pub fn ranges(&self) -> &[(Range, Rule)] {
        &self.ranges
    }
}
