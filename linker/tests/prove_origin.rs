//! Which rows of a table call frame information has, which ones the code gave, and which ones only an input's `.sframe` had.

use std::collections::HashSet;

use linker::function::Function;
use linker::prove::origin::{Count, Origins};
use unwind::sframe::{Base, Row, Rule};

const START: u64 = 0x1000;

/// A function of 16 bytes, with rows at these offsets: the caller's stack pointer is so far from the stack pointer.
fn function(start: u64, rows: &[(u32, i64)]) -> Function {
    let row = |&(offset, above): &(u32, i64)| Row {
        offset,
        cfa: Rule::Value {
            base: Base::StackPointer,
            offset: above,
        },
        return_address: Rule::Saved {
            base: Base::Cfa,
            offset: -8,
        },
        frame_pointer: Rule::Same,
        signed: false,
        kept: unwind::Kept::ALL,
    };
    Function {
        start,
        size: 16,
        rows: rows.iter().map(row).collect(),
        signal: false,
        key_b: false,
        continues: false,
        block: None,
    }
}

/// The origins of one function: `.0` of them functions, `.1` rows.
fn origins(
    of: &Function,
    described: Option<Function>,
    right: Option<Function>,
    is_merged: bool,
) -> [(usize, usize); 4] {
    let slice = |function: Option<Function>| Vec::from_iter(function);
    let merged = is_merged
        .then_some(START)
        .into_iter()
        .collect::<HashSet<_>>();
    let found = Origins::of(
        std::slice::from_ref(of),
        &slice(described),
        &slice(right),
        &merged,
        &HashSet::new(),
    );
    [found.described, found.mended, found.made, found.input]
        .map(|Count { functions, rows }| (functions, rows))
}

#[test]
fn where_rows_come_from() {
    let own = || function(START, &[(0, 8), (4, 16)]);
    let other = || function(START, &[(0, 8), (4, 24)]);
    let elsewhere = || function(START + 0x100, &[(0, 8)]);
    for (what, described, right, is_merged, expected) in [
        (
            "described",
            Some(own()),
            Some(own()),
            false,
            [(1, 2), (0, 0), (0, 0), (0, 0)],
        ),
        (
            "described, and the code does not tell",
            Some(own()),
            None,
            false,
            [(1, 2), (0, 0), (0, 0), (0, 0)],
        ),
        (
            "described by a `.sframe` alone",
            Some(own()),
            Some(own()),
            true,
            [(0, 0), (0, 0), (0, 0), (1, 2)],
        ),
        // The first row is as it was.
        (
            "mended",
            Some(other()),
            Some(own()),
            false,
            [(0, 1), (1, 1), (0, 0), (0, 0)],
        ),
        (
            "described otherwise, and the code says nothing",
            Some(other()),
            None,
            false,
            [(0, 1), (0, 0), (0, 0), (1, 1)],
        ),
        (
            "made",
            None,
            Some(own()),
            false,
            [(0, 0), (0, 0), (1, 2), (0, 0)],
        ),
        (
            "made, next to another",
            Some(elsewhere()),
            Some(own()),
            false,
            [(0, 0), (0, 0), (1, 2), (0, 0)],
        ),
        (
            "in neither",
            None,
            None,
            false,
            [(0, 0), (0, 0), (0, 0), (1, 2)],
        ),
    ] {
        assert_eq!(
            origins(&own(), described, right, is_merged),
            expected,
            "{what}"
        );
    }
}

/// That a function has no caller is a declaration only if the link has made it: a table may say so of others, too.
#[test]
fn what_is_declared_is_told() {
    let mut alone = function(START, &[(0, 8)]);
    for row in &mut alone.rows {
        (row.cfa, row.return_address) = (Rule::Undefined, Rule::Undefined);
    }
    let table = std::slice::from_ref(&alone);
    let told = HashSet::from([START]);
    let none = HashSet::new();
    let one = Count {
        functions: 1,
        rows: 1,
    };
    let found = Origins::of(table, &[], table, &none, &told);
    assert_eq!((found.declared, found.made), (one, Count::default()));
    let found = Origins::of(table, &[], table, &none, &none);
    assert_eq!((found.declared, found.made), (Count::default(), one));
}
