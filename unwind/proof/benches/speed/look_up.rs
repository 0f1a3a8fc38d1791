//! Look-ups: from an address to the rules that lead to the caller.

use std::hint::black_box;

use unwind::Found;
use unwind::sframe::{LookupError, Rule};

use crate::common::check;
use crate::common::peers::{dwarf, framehop, orc, sframe, simple_frame};
use crate::common::program::Program;
use crate::common::shape::{Row, Rules, Shape};
use crate::common::tables::Tables;
use crate::measure::Peer;
use crate::table::Table;

/// Addresses asked for, before it starts over. Far more than framehop's cache holds.
const ADDRESSES: usize = 20_000;
/// Addresses asked for in one run.
const RUN: usize = 1_000;
/// Hot addresses: these many, in random order.
const HOT: usize = 200;
/// Rows of a long function.
const LONG: u32 = 5_000;

pub fn groups(size: &str) -> [String; 2] {
    [format!("random-{size}"), format!("hot-{size}")]
}

pub fn measure(table: &mut Table, size: &str, program: &Program, tables: &Tables) {
    let random = program.addresses(ADDRESSES);
    check::look_ups(program, tables, &random);
    let hot = program.hot_addresses(HOT, ADDRESSES);
    let [random_group, hot_group] = groups(size);
    group(table, &random_group, program, tables, &random);
    group(table, &hot_group, program, tables, &hot);
}

/// One function of many rows.
pub fn measure_long(table: &mut Table) {
    let row = |index: u32| {
        let cfa = match index {
            0 => 8,
            _ if index.is_multiple_of(2) => 64,
            _ => 72,
        };
        Row {
            offset: index * 8,
            rules: Some(Rules {
                from_fp: false,
                cfa,
                fp: None,
            }),
        }
    };
    let shape = Shape::new(LONG * 8, (0..LONG).map(row).collect());
    let program = Program::of([(&*Box::leak(Box::new(shape)), 0)].into_iter());
    let tables = Tables::new(&program);
    group(table, "long", &program, &tables, &program.addresses(RUN));
}

fn group(table: &mut Table, name: &str, program: &Program, tables: &Tables, addresses: &[u64]) {
    let ours = sframe::Peer::new(&tables.sframe);
    let map = sframe::Peer::by_map(&tables.map);
    let cached = sframe::Peer::cached(&tables.map);
    let mut framehop = framehop::Peer::new(program, tables);
    let mut gimli = dwarf::Peer::new(tables);
    let simple = simple_frame::Peer::new(tables);
    let orc = orc::Peer::new(program);
    let peers = [
        chain("unwind", addresses, |pc| offset(&ours.look_up(pc))),
        chain("by map", addresses, |pc| offset(&map.look_up(pc))),
        chain("by map, cached", addresses, |pc| {
            offset(&cached.look_up(pc))
        }),
        chain("framehop", addresses, |pc| {
            let caller = framehop.step((pc, 0x10_0000, 0x20_0000), check::read);
            black_box(caller).map_or(0, |(_, sp, _)| sp)
        }),
        chain("gimli", addresses, |pc| {
            let row = black_box(gimli.row(pc)).expect("checked before");
            row.end_address()
        }),
        chain("simple-frame-rs", addresses, |pc| {
            let row = simple.row(pc).expect("checked before");
            black_box(simple.rules(&row)).map_or(0, |rules| rules.cfa as u64)
        }),
        chain("ORC", addresses, |pc| {
            black_box(orc.look_up(pc)).expect("checked before") as u64
        }),
    ];
    table.measure(name, RUN, peers);
}

/// Of an answer, what the next address is computed with.
fn offset(found: &Result<Found, LookupError>) -> u64 {
    let found = black_box(found).as_ref().expect("checked before");
    match found.rules.cfa() {
        Rule::Value { offset, .. } => offset as u64,
        _ => 0,
    }
}

/// A peer that looks up the addresses, as many a run as there are to be, one after the other: each address is computed
/// with the answer before, as it is in a walk. What is measured is how long one takes, not how many overlap.
fn chain<'a>(
    name: &'static str,
    addresses: &'a [u64],
    mut look_up: impl FnMut(u64) -> u64 + 'a,
) -> Peer<'a> {
    // Nothing of an answer is let through; the processor does not know.
    let mask = black_box(0);
    Peer::new(name, move |number| {
        let runs = addresses.len() / RUN;
        let from = number % runs * RUN;
        let asked = addresses[from..from + RUN].iter();
        black_box(asked.fold(0, |answer, pc| look_up(pc + (answer & mask))));
    })
}
