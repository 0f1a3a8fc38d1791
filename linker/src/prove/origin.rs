//! Where the rows of a table come from.

use std::collections::HashSet;

use unwind::sframe::Row;

use super::world::row_of;
use crate::function::{Function, says_the_same};

/// Where a function or a row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Described,
    Mended,
    Made,
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
    /// As call frame information has them.
    pub described: Count,
    /// Call frame information has others, which the code contradicts.
    pub mended: Count,
    /// Call frame information has none; found in the code.
    pub made: Count,
    /// Neither says so: they come from a `.sframe` that was there before.
    pub input: Count,
}

impl Origins {
    /// Finds out where `functions` come from. `described` is what call frame information says, `right` what the code makes of
    /// that; what is in `described` and starts in `merged` comes from a `.sframe`. All ascend by start.
    #[must_use]
    pub fn of(
        functions: &[Function],
        described: &[Function],
        right: &[Function],
        merged: &HashSet<u64>,
    ) -> Self {
        let sources = Sources {
            described,
            right,
            merged,
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

    /// Each origin in words, and how much comes from there.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, Count); 4] {
        [
            ("call frame information", self.described),
            ("mended", self.mended),
            ("made from the code", self.made),
            ("only in .sframe", self.input),
        ]
    }

    const fn count(&mut self, origin: Origin) -> &mut Count {
        match origin {
            Origin::Described => &mut self.described,
            Origin::Mended => &mut self.mended,
            Origin::Made => &mut self.made,
            Origin::Input => &mut self.input,
        }
    }
}

struct Sources<'a> {
    described: &'a [Function],
    right: &'a [Function],
    merged: &'a HashSet<u64>,
}

impl Sources<'_> {
    fn of_function(&self, function: &Function) -> Origin {
        let has_same_rows =
            |other: &Function| other.start == function.start && other.rows == function.rows;
        let described = at(self.described, function.start);
        let right = at(self.right, function.start);
        self.origin(
            described,
            described.is_some_and(has_same_rows),
            right.is_some_and(has_same_rows),
        )
    }

    fn of_row(&self, function: &Function, row: &Row) -> Origin {
        let address = function.start.wrapping_add(row.offset.into());
        let has_same_row = |other: &Function| {
            row_of(other, address).is_some_and(|other| says_the_same(&other, row))
        };
        let described = at(self.described, address);
        let right = at(self.right, address);
        self.origin(
            described,
            described.is_some_and(has_same_row),
            right.is_some_and(has_same_row),
        )
    }

    /// The origin of what `described` is said of: whether it says the same, and whether the code does.
    fn origin(&self, described: Option<&Function>, is_described: bool, is_right: bool) -> Origin {
        match described {
            Some(function) if is_described && self.merged.contains(&function.start) => {
                Origin::Input
            }
            Some(_) if is_described => Origin::Described,
            Some(_) if is_right => Origin::Mended,
            None if is_right => Origin::Made,
            _ => Origin::Input,
        }
    }
}

/// The function at an address.
fn at(functions: &[Function], address: u64) -> Option<&Function> {
    let after = functions.partition_point(|one| one.start <= address);
    let function = functions.get(after.checked_sub(1)?)?;
    (address < function.end()).then_some(function)
}
