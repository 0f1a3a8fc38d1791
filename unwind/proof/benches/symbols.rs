//! How long it takes to find a name: `cargo bench -p sframe-proof --bench symbols [-- IMAGE]`.
//!
//! Makes `.symbols` of every level for a linked ELF file with debug information (this program itself, if none is named), and
//! asks each for random addresses in functions. Prints nanoseconds, warm: of the least of many rounds for each address.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use linker::image::Image;
use linker::link::Options;
use linker::symbols::Symbols;
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
    let addresses = addresses(&data)?;
    println!("{}", path.display());
    println!(
        "{:12}{:>12}{:>8}{:>8}{:>8}",
        "level", "bytes", "median", "99 %", "most"
    );
    for level in ["names", "lines", "call-sites", "calls", "faults", "all"] {
        let mut options = Options::default();
        options.take(format!("--symbols={level}").as_ref())?;
        let made = linker::make::make(&data, &options)?;
        let image = Image::parse(&made.bytes)?;
        let section = image.section(".symbols")?.context("no .symbols was made")?;
        let table = SymbolTable::parse(section.data, section.address)?;
        let times = times(&table, &addresses);
        println!(
            "{level:12}{:>12}{:>8}{:>8}{:>8}",
            section.data.len(),
            times[times.len() / 2],
            times[times.len() * 99 / 100],
            times[times.len() - 1],
        );
    }
    Ok(())
}

/// Addresses in functions, drawn by a generator that begins the same every time.
fn addresses(data: &[u8]) -> Result<Vec<u64>> {
    let image = Image::parse(data)?;
    let functions = Symbols::of(&image.file).0;
    let mut state = 1_u64;
    let mut draw = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % limit.max(1)
    };
    let count = functions.len() as u64;
    anyhow::ensure!(count > 0, "no symbols");
    Ok((0..ADDRESSES)
        .map(|_| {
            let function = &functions[draw(count) as usize];
            function.start + draw(function.size)
        })
        .collect())
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
