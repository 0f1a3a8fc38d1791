//! Wall clock: `cargo bench -p sframe-proof --bench speed [-- FILTER]`. How to read the table: `docs/benchmarks.md`.

#[path = "../common/mod.rs"]
mod common;
mod look_up;
mod measure;
mod table;
mod walk;

use std::env;

use common::peers::orc;
use common::program::Program;
use common::tables::Tables;
use table::Table;

/// Functions in a program, and the name of that size.
const SIZES: [(usize, &str); 3] = [(1_000, "1k"), (100_000, "100k"), (1_000_000, "1M")];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let filter = arguments.iter().find(|word| !word.starts_with('-'));
    let mut table = Table::new(filter.cloned().unwrap_or_default());
    for (count, size) in SIZES {
        if look_up::groups(size)
            .iter()
            .chain(&walk::groups(size))
            .any(|group| table.wants(group))
        {
            let program = Program::new(count);
            let tables = Tables::new(&program);
            println!(
                "{count} functions: .eh_frame {} bytes, .eh_frame_hdr {}, .sframe {}, rule map {}, ORC {}",
                tables.eh_frame.bytes.len(),
                tables.eh_frame_hdr.bytes.len(),
                tables.sframe.bytes.len(),
                tables.map.bytes.len(),
                orc::Peer::new(&program).size(),
            );
            look_up::measure(&mut table, size, &program, &tables);
            walk::measure(&mut table, size, &program, &tables);
        }
    }
    look_up::measure_long(&mut table);
    table.print();
}
