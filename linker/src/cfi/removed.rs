//! Entries of removed functions in `.debug_frame`: linkers leave them at address 0, where an image may have code.

use std::ops::Range;

use object::{Architecture, Object, ObjectSymbol, SymbolKind};

use crate::image::Image;

/// Linkers replace addresses of removed functions by 0 or 1.
const REMOVED: u64 = 1;

/// The code of an image, as far as it decides which entries describe functions that are in the image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Live {
    code: Vec<Range<u64>>,
    /// The functions that begin at the address of removed functions.
    low: Vec<Range<u64>>,
}

impl Live {
    pub(super) fn of(image: &Image<'_>) -> Self {
        let code = image.code();
        let is_low = |address: u64| code.iter().any(|range| range.contains(&address));
        let starts = (0..=REMOVED).filter(|start| is_low(*start));
        let low = starts.flat_map(|start| functions_at(image, &code, start));
        Self {
            low: low.collect(),
            code,
        }
    }

    /// Whether an entry describes code of the image. An entry at the address of removed functions must have the size of the function there.
    pub(super) fn contains(&self, start: u64, size: u64) -> bool {
        match is_ambiguous(start) {
            true => self.low.contains(&(start..start.saturating_add(size))),
            false => self.code.iter().any(|range| range.contains(&start)),
        }
    }
}

/// Whether an address may be that of a removed function.
pub(super) fn is_ambiguous(start: u64) -> bool {
    start <= REMOVED
}

/// The ranges of the functions that begin at an address. Without a symbol that has a size, a function ends before the next symbol, or at the
/// end of the section.
fn functions_at(image: &Image<'_>, code: &[Range<u64>], start: u64) -> Vec<Range<u64>> {
    let is_thumb = image.file.architecture() == Architecture::Arm;
    let symbols = image.file.symbols().filter(|symbol| {
        let is_name = matches!(
            symbol.kind(),
            SymbolKind::Text | SymbolKind::Label | SymbolKind::Unknown
        );
        is_name && symbol.is_definition()
    });
    let mut sized = Vec::new();
    let mut ends: Vec<u64> = code.iter().map(|range| range.end).collect();
    for symbol in symbols {
        // The lowest bit of a function in Thumb code is a mark.
        let address = match is_thumb && symbol.kind() == SymbolKind::Text {
            true => symbol.address() & !1,
            false => symbol.address(),
        };
        if address == start && symbol.size() > 0 {
            sized.push(start..start.saturating_add(symbol.size()));
        }
        ends.push(address);
    }
    if sized.is_empty() {
        let section = code.iter().filter(|range| range.contains(&start));
        sized.extend(section.map(|range| start..range.end));
        let next = ends.into_iter().filter(|end| *end > start).min();
        sized.extend(next.map(|next| start..next));
    }
    sized
}
