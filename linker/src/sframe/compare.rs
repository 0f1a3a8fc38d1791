//! Compares a section, read back, with the functions that it was written from.

use std::fmt;

use unwind::sframe::{Function as WrittenFunction, LookupError, Row, Tables};
use unwind::{Found, Proof, Range, RowSource, Rules};

use crate::function::Function;
use crate::parallel::in_parts;
use crate::progress::Step;

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// How many functions are expected.
    pub functions: usize,
    /// How many rows they have.
    pub rows: usize,
    /// How many addresses were looked up: each row's first and last byte.
    pub addresses: usize,
    /// Where section and functions differ.
    pub differences: Vec<Difference>,
}

/// An address for which a section does not have what is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The address.
    pub address: u64,
    /// How they differ.
    pub what: Mismatch,
}

/// The kinds of [`Difference`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// There is no row, or a damaged one.
    Missing(LookupError),
    /// There is another row.
    Row {
        /// The row in the section.
        found: Box<Row>,
        /// The expected row.
        expected: Box<Row>,
    },
    /// The row is there, but a walk's look-up finds something else at this address, or nothing.
    Walk(Result<Found, LookupError>),
    /// The function has another start, size, block size or attribute than expected; the word says which.
    Function(&'static str),
    /// The section has a function that is not expected.
    Unexpected,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}: ", self.address)?;
        match &self.what {
            Mismatch::Missing(error) => write!(f, "{error}"),
            Mismatch::Row { found, expected } => {
                write!(
                    f,
                    "the unwind row is {found:?}, but {expected:?} was expected"
                )
            }
            Mismatch::Walk(Ok(found)) => {
                write!(
                    f,
                    "the unwind row exists, but a look-up of its address returns {found:?}"
                )
            }
            Mismatch::Walk(Err(error)) => {
                write!(
                    f,
                    "the unwind row exists, but a look-up of its address fails: {error}"
                )
            }
            Mismatch::Function(what) => write!(
                f,
                "the {what} of the function differs from the expected {what}"
            ),
            Mismatch::Unexpected => {
                f.write_str("the unwind table contains a function without call frame information")
            }
        }
    }
}

/// Compares the sections in `tables` with the functions that they should describe.
///
/// Each row is looked up at its first and its last byte. Look-up compares addresses only with starts of rows, so the bytes
/// between give the same.
#[must_use]
pub fn compare(tables: &Tables<'_>, functions: &[Function]) -> Comparison {
    let step = Step::new("comparing rows", functions.len());
    let mut all: Vec<&Function> = functions.iter().collect();
    let parts = in_parts(
        &mut all,
        |function| function.rows.len() as u64 + 1,
        |functions| compare_functions(tables, functions, &step),
    );
    let mut comparison = Comparison::default();
    for part in parts {
        comparison.functions += part.functions;
        comparison.rows += part.rows;
        comparison.addresses += part.addresses;
        comparison.differences.extend(part.differences);
    }
    comparison.differences.extend(unexpected(tables, functions));
    comparison
}

fn compare_functions(tables: &Tables<'_>, functions: &[&Function], step: &Step) -> Comparison {
    let mut comparison = Comparison {
        functions: functions.len(),
        ..Comparison::default()
    };
    for function in functions {
        step.one_more();
        comparison.rows += function.rows.len();
        let written = match compare_attributes(tables, function) {
            Ok(written) => written,
            Err(difference) => {
                comparison.differences.push(difference);
                continue;
            }
        };
        for (index, expected) in function.rows.iter().enumerate() {
            let end = match (function.rows.get(index + 1), function.block) {
                (Some(next), _) => next.offset,
                (None, Some(block)) => function.size.min(block.into()),
                (None, None) => function.size,
            };
            for offset in [expected.offset, end - 1] {
                let address = function.start.wrapping_add(offset.into());
                comparison.addresses += 1;
                let what = match written.lookup(address) {
                    Ok(found) if found == *expected => {
                        match a_walk_differs(tables, address, function, expected) {
                            None => continue,
                            Some(found) => Mismatch::Walk(found),
                        }
                    }
                    Ok(found) => Mismatch::Row {
                        found: Box::new(found),
                        expected: Box::new(*expected),
                    },
                    Err(error) => Mismatch::Missing(error),
                };
                comparison.differences.push(Difference { address, what });
            }
        }
    }
    comparison
}

/// What a walk's own way to look up, which is made for speed, finds at an address, unless that is this row of this function.
fn a_walk_differs(
    tables: &Tables<'_>,
    address: u64,
    function: &Function,
    row: &Row,
) -> Option<Result<Found, LookupError>> {
    let mut found = Found::EMPTY;
    let found = tables.look_up(address, &mut found).map(|()| found);
    let expected = Found {
        range: Range::new(function.start, function.end()),
        place: 0,
        is_trap: function.signal,
        rules: Rules::from(row),
        // Compared by `Unproven::difference`.
        proof: found.map_or(Proof::Unknown, |found| found.proof),
    };
    (found != Ok(expected)).then_some(found)
}

/// Compares everything about a function except its rows. Returns it as it was written.
fn compare_attributes<'data>(
    tables: &Tables<'data>,
    expected: &Function,
) -> Result<WrittenFunction<'data>, Difference> {
    let difference = |what| {
        Err(Difference {
            address: expected.start,
            what,
        })
    };
    let Some(found) = tables.function_at(expected.start) else {
        return difference(Mismatch::Missing(LookupError::NoFunction));
    };
    let block = found.is_pc_mask().then(|| found.block_size());
    for (same, what) in [
        (found.start() == expected.start, "start"),
        (found.size() == expected.size, "size"),
        (found.is_signal_frame() == expected.signal, "signal mark"),
        (found.uses_key_b() == expected.key_b, "key"),
        (block == expected.block.map(u32::from), "block size"),
    ] {
        if !same {
            return difference(Mismatch::Function(what));
        }
    }
    Ok(found)
}

/// Functions in the sections that are not among `functions`, which are ascending by start.
fn unexpected(tables: &Tables<'_>, functions: &[Function]) -> Vec<Difference> {
    tables
        .sections()
        .flatten()
        .flat_map(|section| section.functions())
        .filter(|found| {
            functions
                .binary_search_by_key(&found.start(), |function| function.start)
                .is_err()
        })
        .map(|found| Difference {
            address: found.start(),
            what: Mismatch::Unexpected,
        })
        .collect()
}
