//! What following one function knows of the others, and what is true of code that belongs to several.

use linker::cfi::landing::LandingPad;
use linker::function::Function;
use linker::prove::unit::Found;
use linker::prove::world::{Returns, World, row_of};
use linker::reason::Reason;
use unwind::sframe::{Base, Row, Rule};

fn row(offset: u32, cfa: i64) -> Row {
    Row {
        offset,
        cfa: Rule::Value {
            base: Base::StackPointer,
            offset: cfa,
        },
        return_address: Rule::Same,
        frame_pointer: Rule::Same,
        signed: false,
        kept: unwind::Kept::ALL,
    }
}

fn function(start: u64, rows: &[Row], block: Option<u8>) -> Function {
    Function {
        start,
        size: 32,
        rows: rows.to_vec(),
        signal: false,
        key_b: false,
        continues: false,
        block,
    }
}

#[test]
fn a_row_holds_up_to_the_next_one() {
    let one = function(0x100, &[row(0, 8), row(4, 16)], None);
    let cfa = |function: &Function, at| row_of(function, at).map(|row| row.cfa);
    for (at, expected) in [(0x100, 8), (0x103, 8), (0x104, 16), (0x11f, 16)] {
        assert_eq!(cfa(&one, at), Some(row(0, expected).cfa), "{at:#x}");
    }
    // Each block of so many bytes has the same.
    let blocks = function(0x100, &[row(0, 8), row(4, 16)], Some(16));
    for (at, expected) in [(0x100, 8), (0x104, 16), (0x110, 8), (0x113, 8), (0x11f, 16)] {
        assert_eq!(cfa(&blocks, at), Some(row(0, expected).cfa), "{at:#x}");
    }
    assert_eq!(cfa(&function(0x100, &[], None), 0x100), None);
    assert_eq!(cfa(&function(0x100, &[row(4, 8)], None), 0x103), None);
}

fn world() -> World {
    World {
        rows: vec![
            function(0x100, &[row(0, 8)], None),
            function(0x140, &[row(0, 16)], None),
        ],
        symbols: vec![(0x200, 0x220), (0x240, 0x260), (0x280, 0x2a0)],
        entries: [0x100, 0x200, 0x240].into_iter().collect(),
        ..World::default()
    }
}

#[test]
fn functions_by_their_addresses() {
    let world = world();
    let start = |at| world.function_at(at).map(|function| function.start);
    for (at, expected) in [
        (0xff, None),
        (0x100, Some(0x100)),
        (0x11f, Some(0x100)),
        (0x120, None),
        (0x140, Some(0x140)),
        (0x160, None),
    ] {
        assert_eq!(start(at), expected, "{at:#x}");
        let row = world.row_at(at);
        assert_eq!(row.is_some(), expected.is_some(), "{at:#x}");
    }
    assert!(world.is_entry(0x100) && !world.is_entry(0x140));
}

#[test]
fn jumps_that_stay_in_a_function() {
    let world = world();
    for (from, to, expected) in [
        (0x100, 0x11f, true),
        (0x110, 0x100, true),
        // To a piece that is not entered otherwise, and from there to a function that is.
        (0x100, 0x150, true),
        (0x150, 0x110, false),
        (0x100, 0x120, false),
        // What only has symbols.
        (0x200, 0x21f, true),
        (0x200, 0x220, false),
        (0x200, 0x240, false),
        // A label that is no entry.
        (0x200, 0x280, true),
        (0x220, 0x221, false),
        (0x200, 0x1ff, false),
    ] {
        let found = world.is_same_function(from, to);
        assert_eq!(found, expected, "{from:#x} to {to:#x}");
    }
}

#[test]
fn what_returns() {
    let mut world = world();
    world.returning.insert(0x100, Returns::Yes);
    world.returning.insert(0x200, Returns::No);
    world.never_returning.insert(0x300);
    let returns = [0x100, 0x140, 0x200, 0x300].map(|at| world.returns(at));
    let expected = [Returns::Yes, Returns::Perhaps, Returns::No, Returns::No];
    assert_eq!(returns, expected);
}

#[test]
fn landing_pads_by_the_calls_before_them() {
    let pad = |start, end| LandingPad {
        start,
        end,
        pad: start + 0x80,
        arguments: 0,
    };
    let world = World {
        landing_pads: vec![pad(0x100, 0x108), pad(0x108, 0x110)],
        ..World::default()
    };
    let start = |at| world.landing_pad(at).map(|pad| pad.start);
    let found = [0xff, 0x100, 0x107, 0x108, 0x10f, 0x110].map(start);
    let (one, other) = (Some(0x100), Some(0x108));
    assert_eq!(found, [None, one, one, other, other, None]);
}

#[test]
fn code_of_two_functions() {
    let made = |cfa| Found::Made(Box::new(row(0, cfa)));
    let mended = |cfa| Found::Mended(Box::new(row(0, cfa)));
    let unreached = Found::Undecided(Reason::Unreached);
    let dead = Found::Undecided(Reason::AfterCall);
    let undecided = Found::Undecided(Reason::Depths(4));
    let missing = Found::Missing(Reason::Depths(4));
    let withdrawn = Found::Withdrawn(Reason::Depths(4));
    let entered = Found::Undecided(Reason::Entered);
    for (one, other, both) in [
        (Found::Agrees, Found::Agrees, Found::Agrees),
        (mended(8), mended(8), mended(8)),
        // Nothing leads there from the one; the other says more.
        (unreached.clone(), mended(8), mended(8)),
        (dead.clone(), Found::Agrees, Found::Agrees),
        (dead.clone(), undecided.clone(), undecided.clone()),
        // What is not known on one way is not known.
        (undecided.clone(), Found::Agrees, undecided.clone()),
        (undecided.clone(), mended(8), undecided),
        (missing.clone(), made(8), missing),
        // They say different things.
        (made(8), made(16), Found::Missing(Reason::Entered)),
        (mended(8), mended(16), entered.clone()),
        (Found::Agrees, mended(8), entered),
        (withdrawn.clone(), Found::Agrees, withdrawn.clone()),
        (withdrawn.clone(), mended(8), withdrawn),
    ] {
        assert_eq!(one.clone().and(other.clone()), both, "{one:?} {other:?}");
        assert_eq!(other.clone().and(one.clone()), both, "{other:?} {one:?}");
    }
}
