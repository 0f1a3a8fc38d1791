//! What is typed after a command: addresses, names, counts.

use anyhow::{Context, Result, bail};

use crate::outside::Asked;

/// An address: hexadecimal digits, after `0x` or not, or the name of a function or static.
pub(super) fn address(text: &str, asked: &Asked) -> Result<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if let Ok(address) = u64::from_str_radix(digits, 16) {
        return Ok(address);
    }
    let found = match asked.function(text) {
        Some(function) => Some(function),
        None => asked.named_static(text)?,
    };
    found.with_context(|| {
        format!(
            "`{text}` is neither a hexadecimal address nor the full, unique name of a function or static"
        )
    })
}

/// A number of things, CPUs or tasks: decimal.
pub(super) fn number<N: std::str::FromStr>(text: &str) -> Result<N> {
    text.parse()
        .ok()
        .with_context(|| format!("invalid decimal number `{text}`"))
}

/// Refuses more words than a command takes.
pub(super) fn expect_no_more<'w>(mut words: impl Iterator<Item = &'w str>) -> Result<()> {
    match words.next() {
        None => Ok(()),
        Some(word) => bail!("unknown argument `{word}`"),
    }
}
