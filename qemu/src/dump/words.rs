//! Sizes, for people.

/// So many bytes, in words.
#[must_use]
pub fn size(bytes: u64) -> String {
    let mega = bytes as f64 / 1e6;
    match mega >= 100.0 {
        true => format!("{mega:.0} MB"),
        false => format!("{mega:.1} MB"),
    }
}
