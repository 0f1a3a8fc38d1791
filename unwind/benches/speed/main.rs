//! Wall clock: `cargo bench -p unwind --bench speed`. How to read the table: `BENCHMARKS.md`.
//!
//! Look-ups wait for each other: the next address is known when the last answer is, as in a walk.

#[path = "../common/mod.rs"]
mod common;
mod look_up;
mod table;
mod walk;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use criterion::Criterion;

use common::program::Program;
use common::tables::Tables;

/// Functions in a program, and the name of that size.
const SIZES: [(usize, &str); 3] = [(1_000, "1k"), (100_000, "100k"), (1_000_000, "1M")];

fn main() {
    let started = SystemTime::now();
    let results = results();
    let mut criterion = Criterion::default()
        .output_directory(&results)
        .without_plots()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for (count, size) in SIZES {
        let program = Program::new(count);
        let tables = Tables::new(&program);
        eprintln!(
            "{count} functions: .eh_frame {} and .eh_frame_hdr {} bytes, .sframe {} bytes",
            tables.eh_frame.bytes.len(),
            tables.eh_frame_hdr.bytes.len(),
            tables.sframe.bytes.len(),
        );
        look_up::measure(&mut criterion, size, &program, &tables);
        walk::measure(&mut criterion, size, &program, &tables);
    }
    look_up::measure_long(&mut criterion);
    criterion.final_summary();
    table::Results::new(&results, started).print();
}

/// Where criterion keeps its results.
fn results() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("criterion")
}
