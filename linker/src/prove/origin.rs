//! Counts how many rows of a table come from call frame information, from the proof, from what a link declares,
//! and from an input `.sframe`.

use std::collections::HashSet;

use unwind::sframe::Row;

use super::world::row_of;
use crate::function::{Function, says_the_same};

/// Where a function or a row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provenance {
    Described,
    Mended,
    Made,
    Declared,
    Input,
}

/// Functions and rows of one origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Functions.
    pub functions: usize,
    /// Rows, also of functions that have rows of other origins.
    pub rows: usize,
}

/// How many functions and rows of a table come from where. Each is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// From call frame information, unchanged.
    pub described: Count,
    /// From the code, which contradicts call frame information.
    pub mended: Count,
    /// From the code, where call frame information has nothing.
    pub made: Count,
    /// From the link: functions that it declares to have no caller, which no code shows.
    pub declared: Count,
    /// From a `.sframe` section of the input.
    pub input: Count,
}

impl Origins {
    /// Finds out where `functions` come from. `described` are those of call frame information, and of an input `.sframe` if
    /// their start is in `merged`; `right` are the same after correction. The link has declared that functions have no caller whose
    /// starts are in `declared`. All ascend by start.
    #[must_use]
    pub fn of(
        functions: &[Function],
        described: &[Function],
        right: &[Function],
        merged: &HashSet<u64>,
        declared: &HashSet<u64>,
    ) -> Self {
        let sources = Sources {
            described,
            right,
            merged,
            declared,
        };
        let mut origins = Self::default();
        for function in functions {
            origins.count(sources.of_function(function)).functions += 1;
            for row in &function.rows {
                origins.count(sources.of_row(function, row)).rows += 1;
            }
        }
        origins
    }

    /// A name for each count, of rows in the section with this name.
    #[must_use]
    pub fn named(&self, table: &str) -> [(String, Count); 5] {
        let input = format!("only in {table}");
        [
            ("call frame information", self.described),
            ("corrected", self.mended),
            ("synthesized from the code", self.made),
            ("declared to have no caller", self.declared),
            (input.as_str(), self.input),
        ]
        .map(|(name, count)| (name.to_owned(), count))
    }

    const fn count(&mut self, provenance: Provenance) -> &mut Count {
        match provenance {
            Provenance::Described => &mut self.described,
            Provenance::Mended => &mut self.mended,
            Provenance::Made => &mut self.made,
            Provenance::Declared => &mut self.declared,
            Provenance::Input => &mut self.input,
        }
    }
}

struct Sources<'a> {
    described: &'a [Function],
    right: &'a [Function],
    merged: &'a HashSet<u64>,
    declared: &'a HashSet<u64>,
}

impl Sources<'_> {
    fn of_function(&self, function: &Function) -> Provenance {
        let has_same_rows =
            |other: &Function| other.start == function.start && other.rows == function.rows;
        let described = at(self.described, function.start);
        let right = at(self.right, function.start);
        self.provenance(
            described,
            described.is_some_and(has_same_rows),
            right.is_some_and(has_same_rows),
            self.declared.contains(&function.start),
        )
    }

    fn of_row(&self, function: &Function, row: &Row) -> Provenance {
        let address = function.start.wrapping_add(row.offset.into());
        let has_same_row = |other: &Function| {
            row_of(other, address).is_some_and(|other| says_the_same(&other, row))
        };
        let described = at(self.described, address);
        let right = at(self.right, address);
        self.provenance(
            described,
            described.is_some_and(has_same_row),
            right.is_some_and(has_same_row),
            self.declared.contains(&function.start),
        )
    }

    /// The origin of a row or function for which `described` is what the input has: `is_described` if that is the same,
    /// `is_right` if the corrected rows are the same, `is_declared` if the link has declared the function to have no caller.
    fn provenance(
        &self,
        described: Option<&Function>,
        is_described: bool,
        is_right: bool,
        is_declared: bool,
    ) -> Provenance {
        match described {
            Some(function) if is_described && self.merged.contains(&function.start) => {
                Provenance::Input
            }
            Some(_) if is_described => Provenance::Described,
            _ if is_declared => Provenance::Declared,
            Some(_) if is_right => Provenance::Mended,
            None if is_right => Provenance::Made,
            _ => Provenance::Input,
        }
    }
}

/// The function at an address.
fn at(functions: &[Function], address: u64) -> Option<&Function> {
    let after = functions.partition_point(|one| one.start <= address);
    let function = functions.get(after.checked_sub(1)?)?;
    (address < function.end()).then_some(function)
}
