//! Where the parts of an image's data end, as its symbols tell, and the code that loads the stack pointer: a stack that nobody declares is one of
//! them.

use std::collections::BTreeSet;

use linker::image::Image;
use linker::stack_pointers;
use object::{File, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use unwind::Range;

use crate::stacks;

/// The data of an image, as it was linked.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    /// The sections that are memory, and have no code.
    sections: Vec<Range>,
    /// Where a part begins or ends.
    borders: BTreeSet<u64>,
}

impl Data {
    /// Returns the parts of the data of an image, which consists of `bytes`.
    pub(super) fn of(file: &File<'_>, bytes: &[u8]) -> Self {
        let is_data = |kind| {
            matches!(
                kind,
                SectionKind::Data | SectionKind::UninitializedData | SectionKind::ReadOnlyData
            )
        };
        let sections = file.sections().filter(|one| is_data(one.kind()));
        let sections =
            sections.map(|one| Range::new(one.address(), one.address().saturating_add(one.size())));
        let mut data = Self {
            sections: sections.collect(),
            borders: BTreeSet::new(),
        };
        for symbol in file.symbols() {
            let is_border = match symbol.kind() {
                SymbolKind::Data => true,
                // Labels of assembly and of linker scripts, but not Arm's marks of data.
                SymbolKind::Label | SymbolKind::Unknown => {
                    symbol.name().is_ok_and(|name| !name.starts_with('$'))
                }
                _ => false,
            };
            if !is_border || symbol.is_undefined() {
                continue;
            }
            let start = symbol.address();
            data.borders.insert(start);
            if symbol.size() != 0 {
                data.borders.insert(start.saturating_add(symbol.size()));
            }
        }
        let ends = data.sections.iter().map(|section| section.end);
        data.borders.extend(ends);
        // Reading all code takes time, and no part is looked up if the image declares its stacks.
        let has_stacks = stacks::declared(file).is_ok_and(|stacks| !stacks.is_empty());
        if let Ok(image) = Image::parse(bytes)
            && !has_stacks
        {
            data.borders.extend(stack_pointers::constants(&image));
        }
        data
    }

    /// Where the part ends that a stack pointer is in: at a border, the part below it.
    pub(super) fn end(&self, sp: u64) -> Option<u64> {
        let mut sections = self.sections.iter();
        sections.find(|section| section.start < sp && sp <= section.end)?;
        self.borders.range(sp..).next().copied()
    }
}
