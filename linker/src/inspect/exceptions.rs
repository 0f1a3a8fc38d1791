//! The exception tables of a file for 32-bit ARM, `.ARM.exidx` and `.ARM.extab`, which compilers make. A walk goes by them where a rule map
//! has no row.

use anyhow::{Result, ensure};
use object::{File, Object, ObjectSection, ObjectSymbol, SectionKind};
use unwind::Range;
use unwind::ehabi::{Entry, Error, Tables, Unwinding};

use crate::image;

/// The name of the index.
const INDEX: &str = ".ARM.exidx";
/// The name of what its entries lead to.
const TABLE: &str = ".ARM.extab";
/// Personality routines whose entries have the form of GNU's.
const ROUTINES: [&str; 3] = [
    "__gxx_personality_v0",
    "__gcc_personality_v0",
    "rust_eh_personality",
];

/// The exception tables of a file.
#[derive(Debug)]
pub struct Exceptions<'data> {
    index: (&'data [u8], u32),
    table: (&'data [u8], u32),
    code: Range,
    routines: Vec<u64>,
    /// Where the index lies in the file.
    pub offset: u64,
}

impl<'data> Exceptions<'data> {
    /// Those of a linked file; `None` if it has none.
    ///
    /// # Errors
    /// Returns an error if a section is outside the file, or its address does not fit in 32 bits.
    pub fn of(file: &File<'data>) -> Result<Option<Self>> {
        let part = |name| {
            let Some(section) = image::section(file, name)? else {
                return Ok(None);
            };
            let address = u32::try_from(section.address);
            ensure!(
                address.is_ok(),
                "the address {address:#x} of section {name} (at file offset {offset}) does not fit in 32 bits",
                address = section.address,
                offset = section.offset
            );
            Ok(Some((section.offset, (section.data, address.unwrap_or(0)))))
        };
        let Some((offset, index)) = part(INDEX)?.filter(|(_, (data, _))| !data.is_empty()) else {
            return Ok(None);
        };
        // Where all entries are in the index there is none.
        let table = part(TABLE)?.map_or((&[][..], 0), |(_, table)| table);
        let text = file
            .sections()
            .filter(|one| one.kind() == SectionKind::Text);
        let ends = |one: object::Section<'_, '_>| {
            let start = one.address();
            (start, start.saturating_add(one.size()))
        };
        let (starts, ends): (Vec<_>, Vec<_>) = text.map(ends).unzip();
        let start = starts.into_iter().min().unwrap_or_default();
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let named = symbols.filter(|one| one.name().is_ok_and(|name| ROUTINES.contains(&name)));
        Ok(Some(Self {
            index,
            table,
            code: Range::new(start, ends.into_iter().max().unwrap_or_default()),
            routines: named.map(|one| one.address() & !1).collect(),
            offset,
        }))
    }

    /// The tables, for the reader that runs on the target.
    #[must_use]
    pub fn tables(&self) -> Tables<'_> {
        let ((index, at), (table, table_at)) = (self.index, self.table);
        Tables::new(index, at, table, table_at, self.code).personalities(&self.routines)
    }

    /// Address of the index.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.index.1 as u64
    }
}

/// What an entry says, in the words of `readelf -u`: its opcodes, or why there are none.
pub(super) fn words(entry: &Entry<'_>) -> Result<Vec<String>, Error> {
    let opcodes = match entry.unwinding? {
        Unwinding::Cannot => return Err(Error::CannotUnwind),
        Unwinding::By(_, opcodes) => opcodes,
    };
    opcodes
        .map(|opcode| opcode.map(|opcode| opcode.to_string()))
        .collect()
}
