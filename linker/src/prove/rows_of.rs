//! A cache for looking up the rows of adjacent instructions.

use std::ops::Range;

use unwind::sframe::Row;

use super::world::{World, row_of};
use crate::function::Function;

/// Looks up rows in call frame information, and keeps the last one for the addresses where it holds.
#[derive(Debug)]
pub struct RowsOf<'a> {
    world: &'a World,
    last: Option<Row>,
    /// The addresses for which `last` is the answer.
    holds: Range<u64>,
}

impl<'a> RowsOf<'a> {
    /// An empty cache.
    pub fn new(world: &'a World) -> Self {
        Self {
            world,
            last: None,
            holds: 0..0,
        }
    }

    /// The row for an address.
    pub fn at(&mut self, address: u64) -> Option<Row> {
        if !self.holds.contains(&address) {
            let function = self.world.function_at(address);
            self.last = function.and_then(|function| row_of(function, address));
            self.holds = function.map_or(address..address, |function| extent(function, address));
        }
        self.last
    }
}

/// The addresses in a function that have the same row as this one.
fn extent(function: &Function, address: u64) -> Range<u64> {
    // The rows of a PLT repeat for each of its entries.
    if function.block.is_some() {
        return address..address;
    }
    let offset = |at: u64| (at - function.start) as u32;
    let after = function
        .rows
        .partition_point(|row| row.offset <= offset(address));
    let start = match after.checked_sub(1) {
        Some(row) => function.rows[row].offset,
        None => 0,
    };
    let end = match function.rows.get(after) {
        Some(row) => function.start + u64::from(row.offset),
        None => function.end(),
    };
    function.start + u64::from(start)..end
}
