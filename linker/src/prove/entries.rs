//! Where functions are entered, before anything was followed.

use std::collections::BTreeMap;

use unwind::sframe::{Base, Row, Rule};

use super::follow::Entry;
use super::text::Text;
use super::world::World;
use crate::architecture::Architecture;
use crate::symbols::Symbols;

/// What is to be followed, by address.
pub type Entries = BTreeMap<u64, Entry>;

/// The row that holds where a function was just called.
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
    }
}

/// What GCC, LLVM and BOLT append to a function's name for a part of it that they have moved away: `.cold`, `.cold.1`, `.warm`.
const PIECES: [&str; 2] = [".cold", ".warm"];

/// Whether a symbol says that a function starts at an address, and not a part of one. A part is entered by jumps, with the
/// stack that they have: taken for a function that is called, its right rows would be replaced by wrong ones.
fn is_function(symbols: &Symbols, start: u64) -> bool {
    let symbol = symbols.at(start).filter(|symbol| symbol.start == start);
    symbol.is_some_and(|symbol| !PIECES.iter().any(|piece| symbol.name.contains(piece)))
}

/// Where call frame information and symbols say that functions are entered. Code whose first row is another than that of
/// a call is a piece of a function, and entered by the jumps that lead to it, unless it is trap code.
pub fn find(
    architecture: &Architecture,
    text: &Text<'_>,
    symbols: &Symbols,
    world: &mut World,
) -> Entries {
    let called = entry_row(architecture);
    let mut entries = Entries::new();
    for function in &world.rows {
        // Entries of linkage tables say of themselves what is right at each of their bytes.
        let Some(first) = function.rows.first().filter(|_| function.block.is_none()) else {
            continue;
        };
        let entry = match first {
            row if function.signal => Entry::Declared(*row),
            row if *row == called => Entry::Call,
            // Nobody called it; what it calls and what it keeps is like in any other function.
            row if row.is_outermost() => Entry::Call,
            // Its first row may be wrong, too. Whether it is a function shows when it is followed.
            _ if is_function(symbols, function.start) => {
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
        let is_described = world.function_at(symbol.start).is_some();
        if !is_described && text.code_at(symbol.start).is_some() {
            world.assumed.insert(symbol.start);
            entries.insert(symbol.start, Entry::Call);
        }
    }
    world.entries.extend(entries.keys());
    entries
}
