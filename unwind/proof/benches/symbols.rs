//! How long it takes to find a name: `cargo bench -p sframe-proof --bench symbols [-- IMAGE]`.
//!
//! Makes `.symbols` of every level for a linked ELF file with debug information (this program itself, if none is named), and
//! asks each for random addresses in functions. Prints nanoseconds, warm: of the least of many rounds for each address.

#[path = "common/names.rs"]
mod names;

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use unwind::symbols::SymbolTable;

/// Addresses, and rounds over all of them.
const ADDRESSES: usize = 2000;
const ROUNDS: usize = 200;

fn main() -> Result<()> {
    let named = std::env::args_os()
        .skip(1)
        .find(|argument| !argument.to_string_lossy().starts_with("--"));
    let path = named.map_or_else(std::env::current_exe, |path| Ok(PathBuf::from(path)))?;
    let data = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let addresses = names::addresses(&data, ADDRESSES)?;
    println!("{}", path.display());
    println!(
        "{:12}{:>12}{:>8}{:>8}{:>8}",
        "level", "bytes", "median", "99 %", "most"
    );
    for level in ["names", "lines", "call-sites", "calls", "faults", "all"] {
        let (address, bytes) = names::table(&data, level)?;
        let table = SymbolTable::parse(&bytes, address)?;
        let times = times(&table, &addresses);
        println!(
            "{level:12}{:>12}{:>8}{:>8}{:>8}",
            bytes.len(),
            times[times.len() / 2],
            times[times.len() * 99 / 100],
            times[times.len() - 1],
        );
    }
    Ok(())
}

/// The least time of each address, ascending.
fn times(table: &SymbolTable<'_>, addresses: &[u64]) -> Vec<u128> {
    let mut least = vec![u128::MAX; addresses.len()];
    for _ in 0..ROUNDS {
        for (address, least) in addresses.iter().zip(&mut least) {
            let begin = Instant::now();
            black_box(table.resolve(black_box(*address)));
            *least = begin.elapsed().as_nanos().min(*least);
        }
    }
    least.sort_unstable();
    least
}
