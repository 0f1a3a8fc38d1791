//! A cache for looking up the rows of adjacent instructions.

use std::ops::Range;

use unwind::sframe::Row;

use super::world::{World, row_of};
use crate::function::Function;

/// Looks up rows in call frame information, and keeps the last one for the addresses where it holds.
#[derive(Debug)]
pub struct RowsOf<'a> {
    world: &'a World,
    /// The function of the last address, which the next one is mostly in.
    function: Option<&'a Function>,
    last: Option<Row>,
    /// The addresses for which `last` is the answer.
    holds: Range<u64>,
}

impl<'a> RowsOf<'a> {
    /// An empty cache.
    pub fn new(world: &'a World) -> Self {
        Self {
            world,
            function: None,
            last: None,
            holds: 0..0,
        }
    }

    /// The addresses that have the row of the last one, as far as that is known.
    pub fn holds(&self) -> Range<u64> {
        self.holds.clone()
    }

    /// The row for an address.
    pub fn at(&mut self, address: u64) -> Option<Row> {
        if !self.holds.contains(&address) {
            let is_inside =
                |function: &Function| (function.start..function.end()).contains(&address);
            if !self.function.is_some_and(is_inside) {
                self.function = self.world.function_at(address);
            }
            (self.last, self.holds) = match self.function {
                Some(function) => find(function, address),
                None => (None, address..address),
            };
        }
        self.last
    }
}

/// The row for an address in a function, and the addresses that have the same one.
fn find(function: &Function, address: u64) -> (Option<Row>, Range<u64>) {
    // The rows of a PLT repeat for each of its entries.
    if function.block.is_some() {
        return (row_of(function, address), address..address);
    }
    let offset = |at: u64| (at - function.start) as u32;
    let after = function
        .rows
        .partition_point(|row| row.offset <= offset(address));
    let row = after.checked_sub(1).map(|row| function.rows[row]);
    let start = row.map_or(0, |row| row.offset);
    let end = match function.rows.get(after) {
        Some(row) => function.start + u64::from(row.offset),
        None => function.end(),
    };
    (row, function.start + u64::from(start)..end)
}
