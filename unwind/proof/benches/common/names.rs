//! Tables of names of a linked image, and addresses to ask them for.

use anyhow::{Context, Result};
use linker::image::Image;
use linker::link::Options;
use linker::symbols::Symbols;

/// Makes `.symbols` of a level for an ELF file with debug information: its address and its bytes.
pub fn table(data: &[u8], level: &str) -> Result<(u64, Vec<u8>)> {
    let mut options = Options::default();
    options.take(format!("--symbols={level}").as_ref())?;
    let made = linker::make::make(data, &options)?;
    let image = Image::parse(&made.bytes)?;
    let section = image.section(".symbols")?.context("no .symbols was made")?;
    Ok((section.address, section.data.to_vec()))
}

/// So many addresses in functions, drawn by a generator that begins the same every time.
pub fn addresses(data: &[u8], count: usize) -> Result<Vec<u64>> {
    let image = Image::parse(data)?;
    let functions = Symbols::of(&image.file).0;
    let mut state = 1_u64;
    let mut draw = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % limit.max(1)
    };
    let symbols = functions.len() as u64;
    anyhow::ensure!(symbols > 0, "no symbols");
    Ok((0..count)
        .map(|_| {
            let function = &functions[draw(symbols) as usize];
            function.start + draw(function.size)
        })
        .collect())
}
