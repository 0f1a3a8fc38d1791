//! What is counted: 1000 random look-ups, and 100 walks over 32 frames, among 100 thousand functions; 1000 random look-ups of names.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use gungraun::prelude::*;
use unwind::Cached;
use unwind::map::Map;
use unwind::sframe::Tables as SFrame;
use unwind::symbols::SymbolTable;

use crate::common::check;
use crate::common::peers::{dwarf, frame_pointer, framehop, orc, sframe, simple_frame};
use crate::common::program::Program;
use crate::common::stack::Stack;
use crate::common::tables::{Section, Tables};
use crate::names;

const FUNCTIONS: usize = 100_000;
const LOOK_UPS: usize = 1000;
const WALKS: usize = 100;
const FRAMES: usize = 32;

/// The tables take long to make under valgrind, so they are made before, and kept in files.
fn store() {
    let program = Program::new(FUNCTIONS);
    let tables = Tables::new(&program);
    check::look_ups(&program, &tables, &program.addresses(LOOK_UPS));
    let stack = Stack::new(&program, FRAMES, true);
    check::walks(&program, &tables, &stack, true);
    for (name, section) in [
        ("eh_frame", &tables.eh_frame),
        ("eh_frame_hdr", &tables.eh_frame_hdr),
        ("sframe", &tables.sframe),
        ("map", &tables.map),
    ] {
        keep(name, section.address, &section.bytes);
    }
    let image =
        std::env::var_os("NAMES_OF").map_or_else(std::env::current_exe, |file| Ok(file.into()));
    let data = fs::read(image.expect("a name")).expect("an ELF file");
    for level in ["names", "calls", "all"] {
        let (address, bytes) = names::table(&data, level).expect("a table");
        keep(level, address, &bytes);
    }
    let addresses = names::addresses(&data, LOOK_UPS).expect("addresses");
    let addresses = addresses.iter().flat_map(|address| address.to_le_bytes());
    keep("addresses", 0, &addresses.collect::<Vec<u8>>());
}

fn keep(name: &str, address: u64, bytes: &[u8]) {
    let content = [&address.to_le_bytes(), bytes].concat();
    fs::write(file(name), content).expect("a file below `target`");
}

fn load(name: &str) -> Section {
    let content = fs::read(file(name)).expect("the file that was written before");
    let (address, bytes) = content.split_first_chunk().expect("an address");
    Section {
        address: u64::from_le_bytes(*address),
        bytes: bytes.to_vec(),
    }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("instructions-{name}"))
}

/// What a peer is given.
struct Given {
    program: Program,
    tables: &'static Tables,
    addresses: Vec<u64>,
}

fn given() -> Given {
    let program = Program::new(FUNCTIONS);
    let tables = Tables {
        eh_frame: load("eh_frame"),
        eh_frame_hdr: load("eh_frame_hdr"),
        sframe: load("sframe"),
        map: load("map"),
    };
    Given {
        addresses: program.addresses(LOOK_UPS),
        tables: Box::leak(Box::new(tables)),
        program,
    }
}

fn ours() -> (sframe::Peer<SFrame<'static>>, Given) {
    let given = given();
    (sframe::Peer::new(&given.tables.sframe), given)
}

fn ours_map() -> (sframe::Peer<Map<'static>>, Given) {
    let given = given();
    (sframe::Peer::by_map(&given.tables.map), given)
}

type CachedPeer = sframe::Peer<Cached<'static, Map<'static>, 2048>>;

/// With a cache that has seen the addresses: 200, in random order.
fn ours_cached_hot() -> (CachedPeer, Vec<u64>) {
    let given = given();
    let peer = sframe::Peer::cached(&given.tables.map);
    let addresses = given.program.hot_addresses(200, LOOK_UPS);
    for &pc in &addresses {
        _ = peer.look_up(pc);
    }
    (peer, addresses)
}

fn ours_cached_and_stack() -> (CachedPeer, Stack) {
    let given = given();
    let peer = sframe::Peer::cached(&given.tables.map);
    let stack = Stack::new(&given.program, FRAMES, true);
    peer.walk(&stack, stack.registers, |_| {});
    (peer, stack)
}

fn framehop_cold() -> (framehop::Peer<'static>, Given) {
    let given = given();
    (framehop::Peer::new(&given.program, given.tables), given)
}

fn gimli() -> (dwarf::Peer<'static>, Given) {
    let given = given();
    (dwarf::Peer::new(given.tables), given)
}

fn simple() -> (simple_frame::Peer<'static>, Given) {
    let given = given();
    (simple_frame::Peer::new(given.tables), given)
}

fn orc() -> (orc::Peer, Given) {
    let given = given();
    (orc::Peer::new(&given.program), given)
}

fn orc_and_stack() -> (orc::Peer, Stack) {
    let (peer, given) = orc();
    (peer, Stack::new(&given.program, FRAMES, true))
}

fn ours_and_stack() -> (sframe::Peer<SFrame<'static>>, Stack) {
    let (peer, given) = ours();
    (peer, Stack::new(&given.program, FRAMES, true))
}

fn ours_map_and_stack() -> (sframe::Peer<Map<'static>>, Stack) {
    let (peer, given) = ours_map();
    (peer, Stack::new(&given.program, FRAMES, true))
}

fn framehop_warm() -> (framehop::Peer<'static>, Stack) {
    let (mut peer, given) = framehop_cold();
    let stack = Stack::new(&given.program, FRAMES, true);
    peer.walk(&stack, stack.registers, |_| {});
    (peer, stack)
}

/// A stack, and where the program's code lies.
fn stack() -> (Stack, (u64, u64)) {
    let program = given().program;
    (Stack::new(&program, FRAMES, true), program.text())
}

/// The table of names of a level, and addresses to ask it for.
fn names_of(level: &str) -> (SymbolTable<'static>, Vec<u64>) {
    let table = load(level);
    let bytes = Vec::leak(table.bytes);
    let table = SymbolTable::parse(bytes, table.address).expect("a table");
    let addresses = load("addresses").bytes;
    let (addresses, _) = addresses.as_chunks();
    let addresses = addresses.iter().copied().map(u64::from_le_bytes);
    (table, addresses.collect())
}

#[library_benchmark(setup = names_of)]
#[bench::names("names")]
#[bench::calls("calls")]
#[bench::all("all")]
fn look_up_name((table, addresses): (SymbolTable<'static>, Vec<u64>)) {
    for &pc in &addresses {
        _ = black_box(table.resolve(pc));
    }
}

#[library_benchmark(setup = ours)]
#[bench::plain()]
fn look_up_unwind((peer, given): (sframe::Peer<SFrame<'static>>, Given)) {
    for &pc in &given.addresses {
        _ = black_box(peer.look_up(pc));
    }
}

#[library_benchmark(setup = ours_map)]
#[bench::by_map()]
fn look_up_map((peer, given): (sframe::Peer<Map<'static>>, Given)) {
    for &pc in &given.addresses {
        _ = black_box(peer.look_up(pc));
    }
}

#[library_benchmark(setup = ours_cached_hot)]
#[bench::hot()]
fn look_up_cached((peer, addresses): (CachedPeer, Vec<u64>)) {
    for &pc in &addresses {
        _ = black_box(peer.look_up(pc));
    }
}

#[library_benchmark(setup = framehop_cold)]
#[bench::framehop()]
fn look_up_framehop((mut peer, given): (framehop::Peer<'static>, Given)) {
    for &pc in &given.addresses {
        black_box(peer.step((pc, 0x10_0000, 0x20_0000), check::read));
    }
}

#[library_benchmark(setup = gimli)]
#[bench::gimli()]
fn look_up_gimli((mut peer, given): (dwarf::Peer<'static>, Given)) {
    for &pc in &given.addresses {
        black_box(peer.row(pc));
    }
}

#[library_benchmark(setup = simple)]
#[bench::simple_frame_rs()]
fn look_up_simple_frame_rs((peer, given): (simple_frame::Peer<'static>, Given)) {
    for &pc in &given.addresses {
        black_box(peer.row(pc).and_then(|row| peer.rules(&row)));
    }
}

#[library_benchmark(setup = orc)]
#[bench::orc()]
fn look_up_orc((peer, given): (orc::Peer, Given)) {
    for &pc in &given.addresses {
        black_box(peer.look_up(pc));
    }
}

#[library_benchmark(setup = ours_and_stack)]
#[bench::plain()]
fn walk_unwind((peer, stack): (sframe::Peer<SFrame<'static>>, Stack)) {
    for _ in 0..WALKS {
        black_box(peer.walk(&stack, stack.registers, |pc| _ = black_box(pc)));
    }
}

#[library_benchmark(setup = ours_map_and_stack)]
#[bench::by_map()]
fn walk_map((peer, stack): (sframe::Peer<Map<'static>>, Stack)) {
    for _ in 0..WALKS {
        black_box(peer.walk(&stack, stack.registers, |pc| _ = black_box(pc)));
    }
}

#[library_benchmark(setup = ours_cached_and_stack)]
#[bench::cached()]
fn walk_cached((peer, stack): (CachedPeer, Stack)) {
    for _ in 0..WALKS {
        black_box(peer.walk(&stack, stack.registers, |pc| _ = black_box(pc)));
    }
}

#[library_benchmark(setup = framehop_warm)]
#[bench::framehop()]
fn walk_framehop((mut peer, stack): (framehop::Peer<'static>, Stack)) {
    for _ in 0..WALKS {
        black_box(peer.walk(&stack, stack.registers, |pc| _ = black_box(pc)));
    }
}

#[library_benchmark(setup = stack)]
#[bench::frame_pointer()]
fn walk_frame_pointer((stack, _): (Stack, (u64, u64))) {
    for _ in 0..WALKS {
        frame_pointer::walk(&stack, stack.registers, |pc| _ = black_box(pc));
    }
}

#[library_benchmark(setup = stack)]
#[bench::frame_pointer()]
fn walk_checked_frame_pointer((stack, text): (Stack, (u64, u64))) {
    for _ in 0..WALKS {
        black_box(frame_pointer::walk_checked(
            &stack,
            text,
            stack.registers,
            |pc| _ = black_box(pc),
        ));
    }
}

#[library_benchmark(setup = orc_and_stack)]
#[bench::orc()]
fn walk_orc((peer, stack): (orc::Peer, Stack)) {
    for _ in 0..WALKS {
        black_box(peer.walk(&stack, stack.registers, |pc| _ = black_box(pc)));
    }
}

library_benchmark_group!(
    name = look_ups_of_1000_addresses,
    benchmarks = [
        look_up_unwind,
        look_up_map,
        look_up_cached,
        look_up_framehop,
        look_up_gimli,
        look_up_simple_frame_rs,
        look_up_orc
    ]
);

library_benchmark_group!(
    name = walks_of_3200_frames,
    benchmarks = [
        walk_unwind,
        walk_map,
        walk_cached,
        walk_framehop,
        walk_orc,
        walk_frame_pointer,
        walk_checked_frame_pointer
    ]
);

library_benchmark_group!(name = names_of_1000_addresses, benchmarks = [look_up_name]);

main!(
    setup = store(),
    library_benchmark_groups = [
        look_ups_of_1000_addresses,
        walks_of_3200_frames,
        names_of_1000_addresses
    ]
);

/// Counts everything.
pub fn run() {
    main();
}
