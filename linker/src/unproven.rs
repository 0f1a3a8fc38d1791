//! The list of code ranges whose rows the checker has not accepted. The tables contain it, so that no walk that uses such a row is complete.

use row_checker::check::{Reason, Verdict};
use row_checker::value::Why;
use unwind::sframe::{Row, format};
use unwind::{Found, Proof, Range, RowSource};

use crate::function::Function;

/// Ranges of code whose rows are unproven, in ascending order, with a gap between any two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unproven {
    ranges: Vec<Range>,
    /// The parts of these ranges whose rows are proven if the processor entered their function.
    entered: Vec<Range>,
}

impl Unproven {
    /// Returns the ranges that `verdicts`, in ascending order, leave unproven. A byte with a row is proven if it belongs to an accepted
    /// instruction and to no instruction that was not accepted.
    #[must_use]
    pub fn of(functions: &[Function], verdicts: &[Verdict]) -> Self {
        let mut unproven = Self::default();
        for function in functions
            .iter()
            .filter(|function| !function.rows.is_empty())
        {
            let own = &verdicts[places(verdicts, function)];
            // A damaged table can claim gigabytes. Behind the last instruction nothing is proven.
            let ends = own
                .iter()
                .map(|one| one.at - function.start + u64::from(one.length));
            let known = ends.max().unwrap_or_default().min(function.size.into());
            let mut is_proven = vec![false; known as usize];
            for accepted in [true, false] {
                let of_these = own
                    .iter()
                    .filter(|verdict| is_accepted(verdict) == accepted);
                for verdict in of_these {
                    let start = (verdict.at - function.start) as usize;
                    let end = (start + usize::from(verdict.length)).min(is_proven.len());
                    is_proven[start..end].fill(accepted);
                }
            }
            // A walk looks for what the processor pushed only in trap code.
            let assuming = own
                .iter()
                .filter(|verdict| function.signal && assumes_entry(verdict));
            for verdict in assuming {
                let end = verdict.at + u64::from(verdict.length);
                add(
                    &mut unproven.entered,
                    Range::new(verdict.at, end.min(function.end())),
                );
            }
            let mut start = function.start;
            for part in is_proven.chunk_by(|before, after| before == after) {
                let end = start.wrapping_add(part.len() as u64);
                if part.first() == Some(&false) {
                    unproven.add(Range::new(start, end));
                }
                start = end;
            }
            if start != function.end() {
                unproven.add(Range::new(start, function.end()));
            }
        }
        unproven
    }

    /// Returns the ranges in `functions` whose rows the tables report as unproven; `None` if the tables contain no proof. `longest` is a number
    /// of bytes that no function can exceed, for example the size of its file. Of a function that claims more, only so many bytes are listed.
    #[must_use]
    pub fn listed(tables: &impl RowSource, functions: &[Function], longest: u64) -> Option<Self> {
        let mut listed = Self::default();
        let mut found = Found::EMPTY;
        for at in functions.iter().flat_map(|function| {
            let size = longest.min(function.size.into());
            function.start..function.start.wrapping_add(size)
        }) {
            match tables.look_up(at, &mut found).map(|()| found.proof) {
                Ok(proof @ (Proof::Unproven | Proof::IfEntered)) => {
                    let range = Range::new(at, at.wrapping_add(1));
                    listed.add(range);
                    if proof == Proof::IfEntered {
                        add(&mut listed.entered, range);
                    }
                }
                Ok(Proof::Unknown) => return None,
                _ => {}
            }
        }
        Some(listed)
    }

    /// Returns the number of bytes in this list that are not in `other`, and the first address; `None` if there are no such bytes.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Option<(u64, u64)> {
        let (mut count, mut first) = (0, None);
        for range in &self.ranges {
            let borders = other.changes(range.start, range.end);
            let borders = borders.chain([range.end]);
            let mut start = range.start;
            for end in borders {
                if !other.contains(start) && start < end {
                    first.get_or_insert(start);
                    count += end - start;
                }
                start = end;
            }
        }
        first.map(|first| (count, first))
    }

    /// Returns the first address that this list marks as proven if the processor entered its function, and that `right` contains without this mark.
    #[must_use]
    pub fn wrongly_entered(&self, right: &Self) -> Option<u64> {
        let mut addresses = self.entered.iter().flat_map(|range| range.start..range.end);
        addresses.find(|at| right.contains(*at) && !contains(&right.entered, *at))
    }

    /// Adds a range after all others.
    fn add(&mut self, range: Range) {
        add(&mut self.ranges, range);
    }

    /// Returns the parts of one of the ranges whose rows are proven if the processor entered their function.
    fn entered_in(&self, range: &Range) -> &[Range] {
        let place = |address| self.entered.partition_point(|one| one.start < address);
        &self.entered[place(range.start)..place(range.end)]
    }

    /// Returns the ranges in pieces, with whether their rows are proven if the processor entered their function.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (Range, bool)> {
        self.ranges.iter().flat_map(|range| {
            let mut pieces = Vec::new();
            let mut start = range.start;
            for one in self.entered_in(range) {
                pieces.push((Range::new(start, one.start), false));
                pieces.push((*one, true));
                start = one.end;
            }
            pieces.push((Range::new(start, range.end), false));
            pieces.retain(|(piece, _)| piece.start != piece.end);
            pieces
        })
    }

    /// Returns the ranges as a table at address `table` stores them: the start relative to the table, modulo 2^32, and the size in bytes with
    /// [`format::IF_ENTERED`]. Their number does not depend on the address.
    #[must_use]
    pub fn stored(&self, table: u64) -> Vec<(u32, u16)> {
        const MARK: u16 = (format::IF_ENTERED as u16) << 8;
        let mut stored = Vec::new();
        for (range, is_entered) in self.pieces() {
            let (mut at, mut left) = (range.start, range.end.wrapping_sub(range.start));
            while left > 0 {
                let size = left.min((!MARK).into());
                let mark = if is_entered { MARK } else { 0 };
                stored.push((at.wrapping_sub(table) as u32, size as u16 | mark));
                (at, left) = (at.wrapping_add(size), left - size);
            }
        }
        stored.sort_unstable();
        stored
    }

    /// Returns the ranges.
    #[must_use]
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Returns the number of bytes in all ranges.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let sizes = self
            .ranges
            .iter()
            .map(|range| range.end.wrapping_sub(range.start));
        sizes.sum()
    }

    /// Whether an address is in one of the ranges.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        contains(&self.ranges, address)
    }

    /// Returns the addresses between `start` and `end`, both excluded, at which the proof may change, in ascending order.
    pub(crate) fn changes(&self, start: u64, end: u64) -> impl Iterator<Item = u64> + use<'_> {
        let first = self.ranges.partition_point(|range| range.end <= start);
        let ends = self.ranges[first..].iter().flat_map(|range| {
            let inner = self.entered_in(range).iter();
            let inner = inner.flat_map(|one| [one.start, one.end]);
            let inner = inner.filter(|at| ![range.start, range.end].contains(at));
            std::iter::once(range.start).chain(inner).chain([range.end])
        });
        ends.skip_while(move |at| *at <= start)
            .take_while(move |at| *at < end)
    }

    /// Removes the rows of this code. The remaining parts of a function count as one function.
    #[must_use]
    pub fn without(&self, functions: Vec<Function>) -> Vec<Function> {
        let mut left = Vec::with_capacity(functions.len());
        for function in functions {
            let (start, end) = (function.start, function.end());
            if self.changes(start, end).next().is_none() && !self.contains(start) {
                left.push(function);
                continue;
            }
            // A part of a function cannot start in the middle of a repeated block.
            if function.block.is_some() || function.rows.is_empty() {
                continue;
            }
            let mut borders: Vec<u64> = self.changes(start, end).collect();
            borders.insert(0, start);
            borders.push(end);
            let mut is_first = true;
            for pair in borders.windows(2) {
                if !self.contains(pair[0]) {
                    let continues = function.continues || !is_first;
                    left.push(part(&function, pair[0], pair[1], continues));
                    is_first = false;
                }
            }
        }
        left
    }

    /// Returns the proof that tables with this list, or without one, report for an address.
    #[must_use]
    pub fn proof(list: Option<&Self>, address: u64) -> Proof {
        match list {
            None => Proof::Unknown,
            Some(list) if contains(&list.entered, address) => Proof::IfEntered,
            Some(list) if list.contains(address) => Proof::Unproven,
            Some(_) => Proof::Proven,
        }
    }

    /// Returns the first address at which `tables` report another proof than `list`. Compares both ends of each row and of each range.
    #[must_use]
    pub fn difference(
        list: Option<&Self>,
        functions: &[Function],
        tables: &impl RowSource,
    ) -> Option<u64> {
        let rows = functions.iter().flat_map(|function| {
            let starts = function.rows.iter().map(|row| u64::from(row.offset));
            let starts = starts.map(|offset| function.start.wrapping_add(offset));
            starts.chain([function.end()])
        });
        let ranges = list.map_or([&[][..]; 2], |list| [&list.ranges, &list.entered]);
        let ranges = ranges
            .into_iter()
            .flatten()
            .flat_map(|range| [range.start, range.end]);
        let mut places = rows.chain(ranges).flat_map(|at| [at.wrapping_sub(1), at]);
        places.find(|at| {
            let mut found = Found::EMPTY;
            let has_row = tables.look_up(*at, &mut found).is_ok();
            has_row && found.proof != Self::proof(list, *at)
        })
    }
}

/// Adds a range after all others.
fn add(ranges: &mut Vec<Range>, range: Range) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// Whether an address is in one of the ranges, which are in ascending order.
fn contains(ranges: &[Range], address: u64) -> bool {
    let behind = ranges.partition_point(|range| range.start <= address);
    let range = behind.checked_sub(1).and_then(|number| ranges.get(number));
    range.is_some_and(|range| address < range.end)
}

/// Whether the checker accepts the row if the processor entered the function.
fn assumes_entry(verdict: &Verdict) -> bool {
    matches!(
        verdict.unproven[..],
        [(
            _,
            Reason {
                why: Some(Why::NotEntered),
                ..
            }
        )]
    )
}

/// Whether the checker accepts the row.
pub(crate) fn is_accepted(verdict: &Verdict) -> bool {
    verdict.unproven.is_empty() && !verdict.is_padding
}

/// Returns the indices of the verdicts for a function's instructions.
pub(crate) fn places(verdicts: &[Verdict], function: &Function) -> std::ops::Range<usize> {
    let before = |address: u64| verdicts.partition_point(|verdict| verdict.at < address);
    before(function.start)..before(function.end()).max(before(function.start))
}

/// Returns the part of a function from `start` to `end`.
fn part(function: &Function, start: u64, end: u64, continues: bool) -> Function {
    let offset = (start - function.start) as u32;
    let size = (end - start) as u32;
    let first = function.rows.partition_point(|row| row.offset <= offset);
    let rows = function.rows[first.saturating_sub(1)..]
        .iter()
        .map(|row| Row {
            offset: row.offset.saturating_sub(offset),
            ..*row
        });
    Function {
        start,
        size,
        rows: rows.take_while(|row| row.offset < size).collect(),
        continues,
        ..function.clone()
    }
}
