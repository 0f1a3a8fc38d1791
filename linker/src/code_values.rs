//! A list of code ranges, each with a value, as tables contain it.

use row_checker::check::Verdict;
use unwind::Range;

use crate::function::Function;
use crate::unproven::{is_accepted, places};

/// Ranges of code in ascending order, each with a value that holds at each address of the range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeValues<T> {
    ranges: Vec<(Range, T)>,
}

impl<T> Default for CodeValues<T> {
    fn default() -> Self {
        Self { ranges: Vec::new() }
    }
}

impl<T: Copy + PartialEq> CodeValues<T> {
    /// Returns the values of the accepted `verdicts` on the instructions of `functions`: both in ascending order.
    pub(crate) fn of_verdicts<'a>(
        functions: impl Iterator<Item = &'a Function>,
        verdicts: &[Verdict],
        value: impl Fn(&Verdict) -> Option<T>,
    ) -> Self {
        let mut values = Self::default();
        let verdicts = functions.flat_map(|function| &verdicts[places(verdicts, function)]);
        for verdict in verdicts.filter(|verdict| is_accepted(verdict)) {
            if let Some(value) = value(verdict) {
                let end = verdict.at.wrapping_add(verdict.length.into());
                values.add(Range::new(verdict.at, end), value);
            }
        }
        values
    }

    /// Returns the values that tables contain for the code of `functions`. `longest` is a number of bytes that no function can exceed: see
    /// [`Unproven::listed`](crate::unproven::Unproven::listed).
    pub(crate) fn listed_by<'a>(
        functions: impl Iterator<Item = &'a Function>,
        longest: u64,
        value: impl Fn(u64) -> Option<T>,
    ) -> Self {
        let mut values = Self::default();
        let addresses = functions.flat_map(|function| {
            let size = longest.min(function.size.into());
            function.start..function.start.wrapping_add(size)
        });
        for at in addresses {
            if let Some(value) = value(at) {
                values.add(Range::new(at, at.wrapping_add(1)), value);
            }
        }
        values
    }

    fn add(&mut self, range: Range, value: T) {
        match self.ranges.last_mut() {
            Some((last, of_last)) if last.end == range.start && *of_last == value => {
                last.end = range.end;
            }
            _ => self.ranges.push((range, value)),
        }
    }

    /// Returns the ranges as a table at address `table` stores them: the start relative to the table, the size in bytes, and the value.
    pub(crate) fn stored(&self, table: u64) -> Vec<(u64, u32, T)> {
        let stored = self.ranges.iter().map(|(range, value)| {
            let size = range.end.wrapping_sub(range.start) as u32;
            (range.start.wrapping_sub(table), size, *value)
        });
        let mut stored: Vec<_> = stored.collect();
        stored.sort_unstable_by_key(|(start, ..)| start.cast_signed());
        stored
    }

    /// Returns a list of the same ranges, with other values.
    pub(crate) fn try_map<U, E>(
        &self,
        value: impl Fn(Range, T) -> Result<U, E>,
    ) -> Result<CodeValues<U>, E> {
        let ranges = self.ranges.iter();
        let ranges = ranges.map(|(range, old)| Ok((*range, value(*range, *old)?)));
        Ok(CodeValues {
            ranges: ranges.collect::<Result<_, E>>()?,
        })
    }

    /// Returns the number of ranges.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Returns the value for an address. `None` if it is not known.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<T> {
        let after = self
            .ranges
            .partition_point(|(range, _)| range.start <= address);
        let (range, value) = self.ranges.get(after.checked_sub(1)?)?;
        (address < range.end).then_some(*value)
    }

    /// Returns the first address at which this list has another value than `other`.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Option<u64> {
        let places = self.ranges.iter().flat_map(|(range, value)| {
            let inner = other
                .ranges
                .iter()
                .flat_map(|(range, _)| [range.start, range.end]);
            let inner = inner.filter(|at| (range.start..range.end).contains(at));
            inner.chain([range.start]).map(move |at| (at, *value))
        });
        let mut wrong = places.filter(|(at, value)| other.at(*at) != Some(*value));
        wrong.next().map(|(at, _)| at)
    }

    /// Returns the ranges, each with its value.
    #[must_use]
    pub fn ranges(&self) -> &[(Range, T)] {
        &self.ranges
    }
}
