//! Names of functions and labels of an image, by address.

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use unwind::Range;

/// The names.
#[derive(Debug)]
pub struct Names {
    /// Address, size, and name.
    symbols: Vec<(u64, u64, String)>,
    /// What the file has bytes for.
    known: Vec<Range>,
}

impl Names {
    /// Those of a file.
    pub(super) fn of<'data>(file: &impl Object<'data>) -> Self {
        let is_arm = file.architecture() == object::Architecture::Arm;
        let is_name = |kind| {
            matches!(
                kind,
                SymbolKind::Text | SymbolKind::Label | SymbolKind::Unknown
            )
        };
        let symbols = file.symbols().filter(|symbol| is_name(symbol.kind()));
        let mut symbols: Vec<_> = symbols
            .filter_map(|symbol| {
                let name = symbol.name().ok().filter(|name| !name.starts_with('$'))?;
                let name = format!("{:#}", rustc_demangle::demangle(name));
                // A function of Thumb code has its lowest bit set.
                let is_thumb = is_arm && symbol.kind() == SymbolKind::Text;
                let address = symbol.address() & if is_thumb { !1 } else { !0 };
                (!name.is_empty()).then_some((address, symbol.size(), name))
            })
            .collect();
        symbols.sort();
        let known = file
            .sections()
            .filter(|section| section.file_range().is_some());
        let known = known.map(|section| {
            let start = section.address();
            Range::new(start, start.saturating_add(section.size()))
        });
        Self {
            symbols,
            known: known.filter(|range| range.start != 0).collect(),
        }
    }

    /// All of them: address, size, and name.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, u64, &str)> {
        let symbols = self.symbols.iter();
        symbols.map(|(address, size, name)| (*address, *size, &**name))
    }

    /// The address of a symbol.
    ///
    /// # Errors
    /// When there is none with this name.
    pub fn address(&self, name: &str) -> Result<u64> {
        let mut symbols = self.symbols.iter();
        let symbol = symbols.find(|(_, _, known)| known == name);
        Ok(symbol
            .with_context(|| format!("the image has no symbol {name}"))?
            .0)
    }

    /// The name of the function at an address, or of the label before it.
    #[must_use]
    pub fn name(&self, address: u64) -> &str {
        self.symbol(address).map_or("no code", |(_, _, name)| name)
    }

    /// The start of the function at an address.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<u64> {
        self.symbol(address).map(|(start, ..)| *start)
    }

    fn symbol(&self, address: u64) -> Option<&(u64, u64, String)> {
        let end = self
            .symbols
            .partition_point(|(start, ..)| *start <= address);
        let before = &self.symbols[..end];
        let holds = |(start, size, _): &&(u64, u64, String)| address - start < *size;
        let function = before.iter().rev().take(64).find(holds);
        let is_known = self
            .known
            .iter()
            .any(|range| range.start <= address && address < range.end);
        function.or(before.last().filter(|_| is_known))
    }
}
