//! Writes `--sframe-stats=FILE.json`: statistics of the link's tables and of the proof, for programs.
//!
//! Addresses are strings in hex: as JSON numbers, addresses of kernels would lose their last digits in readers that parse
//! numbers as floating point.

use serde_json::{Value, json};

use super::report::{place_of, without_frames};
use super::tables::Tables;
use crate::covered::Covered;
use crate::map::Map;
use crate::prove::contradiction::Contradiction;
use crate::prove::origin::{Count, Origins};
use crate::prove::tally::Tally;
use crate::sframe::rule;

/// The version of the file's format. It grows if a field changes its meaning or is removed, not if one is added.
const FORM: u32 = 1;

/// The file's text.
#[must_use]
pub fn json(tables: &Tables) -> String {
    let value = json!({
        "form": FORM,
        "sframe_link": env!("CARGO_PKG_VERSION"),
        "sframe": sframe(tables),
        "rule_map": tables.loaded_map().map(|map| rule_map(tables, map)),
        "symbols": symbols(tables),
        "covered": tables.has_rows().then(|| covered(&tables.covered)),
        "code": tables.proof.as_ref().map(|proof| code(&proof.tally)),
        "unproven": tables.unproven.as_ref().map(|unproven| list(unproven.ranges(), |range| json!({
            "address": hex(range.start),
            "size": range.end.wrapping_sub(range.start),
            "function": place_of(tables, range.start),
        }))),
        "contradictions": list(&tables.contradictions, |one| contradiction(tables, one)),
        "left_out": list(&tables.frames.left_out, |left| json!({
            "address": hex(left.start),
            "size": left.size,
            "function": place_of(tables, left.start),
            "reason": left.why.to_string(),
        })),
        "without_unwind_information": match tables.has_rows() {
            true => list(&without_frames(tables), |symbol| json!({
                "address": hex(symbol.start),
                "size": symbol.size,
                "function": tables.names.name(&symbol.name),
            })),
            false => Value::Null,
        },
    });
    // One line for each number, so that `diff` can compare two files.
    format!("{value:#}\n")
}

fn sframe(tables: &Tables) -> Option<Value> {
    let table = tables.table.as_ref()?;
    Some(json!({
        "version": table.version().number(),
        "bytes": table.size(),
        "functions": table.function_count(),
        "rows": tables.frames.row_count(),
        "rows_stored": table.stored_row_count(),
        "from": from(tables),
    }))
}

/// The size of a map; and where it is all that has rows, what it has.
fn rule_map(tables: &Tables, map: &Map) -> Value {
    match tables.table {
        Some(_) => json!({ "bytes": map.size() }),
        None => json!({
            "bytes": map.size(),
            "functions": tables.frames.functions.len(),
            "rows": tables.frames.row_count(),
            "from": from(tables),
        }),
    }
}

/// Where rows come from.
fn from(tables: &Tables) -> Value {
    let Origins {
        described,
        mended,
        made,
        declared,
        input,
    } = tables.origins();
    json!({
        "call_frame_information": count(described),
        "mended": count(mended),
        "made_from_code": count(made),
        "declared": count(declared),
        "input_sframe": count(input),
    })
}

fn symbols(tables: &Tables) -> Option<Value> {
    let blob = tables.blob.as_ref()?;
    Some(json!({
        "level": blob.level().to_string(),
        "bytes": blob.size(),
        "functions": blob.function_count(),
        "rows": blob.row_count(),
    }))
}

/// Bytes of functions that have rows, of how many; and whose functions have none.
fn covered(covered: &Covered) -> Value {
    json!({
        "bytes": covered.covered,
        "of": covered.code,
        "without_rows": list(&covered.missing, |group| json!({
            "crate": Some(&group.name).filter(|name| !name.is_empty()),
            "functions": group.functions,
            "bytes": group.bytes,
        })),
    })
}

/// Bytes of code by result of the proof: `decided` is the sum of the four fields after it, and `bytes` the sum of `decided`,
/// all `undecided` and all `no_row`. Padding between functions is not code.
fn code(tally: &Tally) -> Value {
    json!({
        "bytes": tally.code(),
        "decided": tally.decided(),
        "agrees": tally.agrees,
        "mended": tally.mended,
        "withdrawn": tally.withdrawn,
        "made": tally.made,
        "undecided": tally.undecided,
        "no_row": tally.missing,
        "filling": tally.filling,
    })
}

fn contradiction(tables: &Tables, one: &Contradiction) -> Value {
    json!({
        "address": hex(one.start),
        "size": one.end - one.start,
        "function": place_of(tables, one.start),
        "before": one.before,
        "instruction": one.instruction,
        "said": rule::line(&one.said),
        "is": one.found.as_ref().ok().map(rule::line),
        "reason": one.found.as_ref().err().map(ToString::to_string),
    })
}

fn count(count: Count) -> Value {
    json!({ "functions": count.functions, "rows": count.rows })
}

fn list<T>(items: &[T], each: impl Fn(&T) -> Value) -> Value {
    items.iter().map(each).collect()
}

fn hex(address: u64) -> String {
    format!("{address:#x}")
}
