//! Where functions are entered, before anything was followed.

use std::collections::BTreeMap;

use unwind::sframe::{Base, Row, Rule};

use super::outcome::Entry;
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

/// Whether a name is that of a part of a function. It is entered by jumps, with the stack that they have, unless somebody is
/// seen to call it: taken for a function, its right rows would be replaced by wrong ones.
fn is_piece(name: &str) -> bool {
    PIECES.iter().any(|piece| name.contains(piece))
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
        let name = symbols
            .at(function.start)
            .filter(|symbol| symbol.start == function.start)
            .map(|symbol| &*symbol.name);
        let entry = match first {
            row if function.signal => Entry::Declared(*row),
            // Also one of a function without a frame, whose first row is that of a call.
            _ if name.is_some_and(is_piece) => {
                world.pieces.insert(function.start);
                continue;
            }
            row if *row == called => Entry::Call,
            // Nobody called it; what it calls and what it keeps is like in any other function.
            row if row.is_outermost() => Entry::Call,
            // Its first row may be wrong, too. Whether it is a function shows when it is followed.
            _ if name.is_some() => {
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
