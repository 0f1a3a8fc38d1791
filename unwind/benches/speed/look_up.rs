//! Look-ups: from an address to the rules that lead to the caller.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use unwind::sframe::Rule;

use crate::common::check;
use crate::common::peers::{dwarf, framehop, sframe, simple_frame};
use crate::common::program::Program;
use crate::common::shape::{Row, Rules, Shape};
use crate::common::tables::Tables;

/// Addresses asked for in one go. Far more than framehop's cache holds.
const RANDOM: usize = 20_000;
/// Hot addresses: these many, in random order.
pub const HOT: usize = 200;

pub fn measure(criterion: &mut Criterion, size: &str, program: &Program, tables: &Tables) {
    let random = program.addresses(RANDOM);
    check::look_ups(program, tables, &random);
    let hot = program.hot_addresses(HOT, RANDOM);
    group(
        criterion,
        &format!("random-{size}"),
        program,
        tables,
        &random,
    );
    group(criterion, &format!("hot-{size}"), program, tables, &hot);
}

/// A function of 5000 rows among a thousand others.
pub fn measure_long(criterion: &mut Criterion) {
    let row = |index: u32| Row {
        offset: index * 8,
        rules: Some(Rules {
            from_fp: false,
            cfa: if index.is_multiple_of(2) { 64 } else { 72 },
            fp: None,
        }),
    };
    let rows: Vec<Row> = core::iter::once(Row {
        offset: 0,
        rules: Some(Rules {
            from_fp: false,
            cfa: 8,
            fp: None,
        }),
    })
    .chain((1..5000).map(row))
    .collect();
    let shape: &Shape = Box::leak(Box::new(Shape::new(5000 * 8, rows)));
    let program = Program::of(core::iter::once((shape, 0)));
    let tables = Tables::new(&program);
    let addresses = program.addresses(1000);
    group(criterion, "long", &program, &tables, &addresses);
}

fn group(
    criterion: &mut Criterion,
    name: &str,
    program: &Program,
    tables: &Tables,
    addresses: &[u64],
) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(addresses.len() as u64));

    let peer = sframe::Peer::new(tables);
    chain(&mut group, "unwind", addresses, |pc| {
        let row = black_box(peer.row(pc)).expect("checked before");
        match row.cfa {
            Rule::Value { offset, .. } => offset as u64,
            _ => 0,
        }
    });
    let mut peer = framehop::Peer::new(program, tables);
    chain(&mut group, "framehop", addresses, |pc| {
        let caller = peer.step((pc, 0x10_0000, 0x20_0000), check::read);
        black_box(caller).map_or(0, |(_, sp, _)| sp)
    });
    let mut peer = dwarf::Peer::new(tables);
    chain(&mut group, "gimli", addresses, |pc| {
        let row = black_box(peer.row(pc)).expect("checked before");
        row.end_address()
    });
    let peer = simple_frame::Peer::new(tables);
    chain(&mut group, "simple-frame-rs", addresses, |pc| {
        let row = peer.row(pc).expect("checked before");
        black_box(peer.rules(&row)).map_or(0, |rules| rules.cfa as u64)
    });
    group.finish();
}

/// Measures `look_up` over all addresses, one after the other: each address is computed with the answer before.
fn chain(
    group: &mut BenchmarkGroup<'_, WallTime>,
    peer: &str,
    addresses: &[u64],
    mut look_up: impl FnMut(u64) -> u64,
) {
    // Nothing of an answer is let through; the processor does not know.
    let mask = black_box(0);
    group.bench_function(peer, |bencher| {
        bencher.iter(|| {
            addresses
                .iter()
                .fold(0, |answer, pc| look_up(pc + (answer & mask)))
        })
    });
}
