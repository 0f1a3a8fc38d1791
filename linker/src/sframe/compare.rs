//! What a section says against what it should say, instruction by instruction.

use std::fmt;

use unwind::sframe::{LookupError, Row, Tables};

use crate::function::Function;
use crate::progress::Step;

/// The outcome.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Functions that should be there.
    pub functions: usize,
    /// Their rows.
    pub rows: usize,
    /// Addresses at which both were asked: each row's first and last byte.
    pub addresses: usize,
    /// Where they differ.
    pub differences: Vec<Difference>,
}

/// An address at which a section does not say what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The address.
    pub address: u64,
    /// What is wrong.
    pub what: What,
}

/// The kinds of [`Difference`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// There is no row, or a damaged one.
    Missing(LookupError),
    /// There is another row.
    Row {
        /// What the section says.
        found: Box<Row>,
        /// What it should say.
        expected: Box<Row>,
    },
    /// The function has another start, size, block size, or another mark than it should.
    Function(&'static str),
    /// The section has a function that should not be there.
    Unexpected,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}: ", self.address)?;
        match &self.what {
            What::Missing(error) => write!(f, "{error}"),
            What::Row { found, expected } => write!(f, "{found:?}, expected {expected:?}"),
            What::Function(what) => write!(f, "the function's {what} is another"),
            What::Unexpected => f.write_str("a function that is not in .eh_frame"),
        }
    }
}

/// Compares the sections in `tables` with the functions that they should describe.
///
/// A row holds from its first byte to the byte before the next row, and look-up only ever compares addresses with
/// first bytes; so the first and the last byte of each row stand for all between them.
#[must_use]
pub fn compare(tables: &Tables<'_>, functions: &[Function]) -> Comparison {
    let mut comparison = Comparison {
        functions: functions.len(),
        ..Comparison::default()
    };
    let step = Step::new("comparing rows", functions.len());
    for (done, function) in functions.iter().enumerate() {
        step.at(done);
        comparison.rows += function.rows.len();
        if let Some(difference) = marks(tables, function) {
            comparison.differences.push(difference);
            continue;
        }
        for (index, expected) in function.rows.iter().enumerate() {
            let end = match (function.rows.get(index + 1), function.block) {
                (Some(next), _) => next.offset,
                (None, Some(block)) => function.size.min(block.into()),
                (None, None) => function.size,
            };
            for offset in [expected.offset, end - 1] {
                let address = function.start.wrapping_add(offset.into());
                comparison.addresses += 1;
                let what = match tables.lookup(address) {
                    Ok((_, found)) if found == *expected => continue,
                    Ok((_, found)) => What::Row {
                        found: Box::new(found),
                        expected: Box::new(*expected),
                    },
                    Err(error) => What::Missing(error),
                };
                comparison.differences.push(Difference { address, what });
            }
        }
    }
    comparison.differences.extend(unexpected(tables, functions));
    comparison
}

/// What is not in the rows.
fn marks(tables: &Tables<'_>, expected: &Function) -> Option<Difference> {
    let difference = |what| {
        Some(Difference {
            address: expected.start,
            what,
        })
    };
    let Some(found) = tables.function_at(expected.start) else {
        return difference(What::Missing(LookupError::NoFunction));
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
            return difference(What::Function(what));
        }
    }
    None
}

/// Functions of the sections that are not wanted. `functions` are ascending by start.
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
            what: What::Unexpected,
        })
        .collect()
}
