//! Finds function entries from call frame information and symbols, before any code is followed.

use std::collections::BTreeMap;

use unwind::sframe::{Base, Row, Rule};

use super::outcome::Entry;
use super::text::Text;
use super::world::World;
use crate::architecture::Architecture;
use crate::symbols::{Symbol, Symbols};

/// The functions to follow: how each is entered, by address.
pub type Entries = BTreeMap<u64, Entry>;

/// The row that holds at the first instruction of a function that was called.
#[must_use]
pub fn entry_row(architecture: &Architecture) -> Row {
    let pushed = architecture
        .fixed_return_address
        .map_or(0, |offset| -i64::from(offset));
    Row {
        offset: 0,
        cfa: Rule::Value {
            base: Base::StackPointer,
            offset: pushed,
        },
        return_address: architecture.default_return_address(),
        frame_pointer: Rule::Same,
        signed: false,
        kept: unwind::Kept::ALL,
    }
}

/// How LLVM's outliner begins the names of the functions that it makes.
const BY_OUTLINER: &str = "OUTLINED_FUNCTION_";

/// Finds the entries that call frame information and symbols give. Code whose first row is not [`entry_row`] is trap code if
/// its FDE is marked as a signal frame; otherwise it is a part of a function, and entered by jumps.
pub fn find(
    architecture: &Architecture,
    text: &Text<'_>,
    symbols: &Symbols,
    world: &mut World,
) -> Entries {
    let called = entry_row(architecture);
    let mut entries = Entries::new();
    for function in &world.rows {
        // The rows of a PLT repeat for each of its entries; they are not compared with the code.
        let Some(first) = function.rows.first().filter(|_| function.block.is_none()) else {
            continue;
        };
        let symbol = symbols
            .at(function.start)
            .filter(|symbol| symbol.start == function.start);
        let entry = match first {
            row if function.signal => Entry::Declared(*row),
            // Before the next arm: the first row of a part of a function without a frame is that of a call.
            _ if symbol.is_some_and(Symbol::is_outlined) => {
                world.pieces.insert(function.start);
                continue;
            }
            row if *row == called => Entry::Call,
            // An outermost function, which nobody called: its code is otherwise like any other's.
            row if row.is_outermost() => Entry::Call,
            // Its first row may be wrong. Following it decides whether it is a function.
            _ if symbol.is_some() => {
                world.assumed.insert(function.start);
                Entry::Call
            }
            _ => continue,
        };
        entries.insert(function.start, entry);
    }
    world.symbols = symbols
        .0
        .iter()
        .map(|symbol| (symbol.start, symbol.start.saturating_add(symbol.size)))
        .collect();
    for symbol in &symbols.0 {
        if symbol.name.starts_with(BY_OUTLINER) {
            world.by_outliner.insert(symbol.start);
        }
        let is_described = world.function_at(symbol.start).is_some();
        if !is_described && text.code_at(symbol.start).is_some() {
            world.assumed.insert(symbol.start);
            entries.insert(symbol.start, Entry::Call);
        }
    }
    world.entries.extend(entries.keys().copied());
    entries
}
