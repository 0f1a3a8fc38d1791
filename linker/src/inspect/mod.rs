//! The commands of the program `sframe`, which shows and checks a file's tables.

mod arm;
mod check;
mod checked;
mod dump;
mod exceptions;
mod json;
mod lookup;
mod map;
mod parts;
mod proof;
mod report;
mod stats;
mod strict;

use std::path::Path;

use anyhow::{Context, Result, bail};
use object::{Architecture, Object, ObjectKind};
use unwind::map::Map;
use unwind::sframe::{StartRule, Tables};
use unwind::symbols::{SymbolTable, SymbolsError};

pub use check::check;
pub use checked::Accepted;
pub use dump::dump;
pub use exceptions::Exceptions;
pub use json::json;
pub use lookup::lookup;
pub use stats::stats;
pub use strict::Strict;

use crate::cfi::Frames;
use crate::image::{self, Section};
use crate::links::InterruptedLinks;
use crate::stack_pointers::StackPointers;
use crate::symbols::{Names, Symbols, printable};
use crate::unproven::Unproven;
use crate::{architecture, map as rule_map, relocatable, sframe, symbols};

/// A file's tables.
#[derive(Debug)]
pub struct Subject<'data> {
    /// Section `.sframe`. A file for 32-bit ARM has none: its rows are in the rule map.
    pub section: Option<Section<'data>>,
    /// The tables in it.
    pub tables: Tables<'data>,
    /// The rule map, if the file has one.
    pub map: Option<Map<'data>>,
    /// Where that lies in the file.
    pub map_offset: u64,
    /// The exception tables of a file for 32-bit ARM.
    pub exceptions: Option<Exceptions<'data>>,
    names: NameSource<'data>,
    /// Bytes of the file.
    size: u64,
    /// Why the section `.symbols` at this offset is not used for names.
    pub symbols_error: Option<(u64, SymbolsError)>,
}

/// Where names come from: `.symbols` if there is one, otherwise the ELF symbol table.
#[derive(Debug)]
enum NameSource<'data> {
    Blob(Box<SymbolTable<'data>>),
    Symbols(Symbols),
}

impl<'data> Subject<'data> {
    /// Opens a linked ELF file of any architecture.
    ///
    /// # Errors
    /// Returns an error if the file is not a linked ELF file, or has no readable `.sframe`. For 32-bit ARM: if it has neither a rule map nor exception tables.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        Self::parse_with(data, StartRule::FromFlags)
    }

    /// [`Self::parse`], with the rule for start addresses given.
    ///
    /// # Errors
    /// Returns an error if [`Self::parse`] does.
    pub fn parse_with(data: &'data [u8], starts: StartRule) -> Result<Self> {
        let file = image::linked(data)?;
        let is_arm = file.architecture() == Architecture::Arm;
        let section = image::section(&file, sframe::SECTION)?;
        let section = match section {
            None if !is_arm => bail!(
                "the file has no section .sframe: link with sframe-link, or run `sframe make` to add the section"
            ),
            section => section,
        };
        let (bytes, address) = section.map_or((&[][..], 0), |its| (its.data, its.address));
        let tables = Tables::with(bytes, address, starts);
        if let Some(section) = &section {
            for table in tables.sections() {
                table.with_context(|| {
                    format!(
                        "cannot read section .sframe at offset {offset}",
                        offset = section.offset
                    )
                })?;
            }
        }
        let blob = image::section(&file, symbols::SECTION)?
            .filter(|section| !section.data.is_empty())
            .map(|section| {
                SymbolTable::parse(section.data, section.address)
                    .map_err(|error| (section.offset, error))
            });
        let (names, symbols_error) = match blob {
            Some(Ok(table)) => (NameSource::Blob(Box::new(table)), None),
            none => (
                NameSource::Symbols(symbols::named(&file, Symbols::for_readers(&file))?),
                none.and_then(Result::err),
            ),
        };
        let map = image::section(&file, rule_map::SECTION)?;
        // A link without rows leaves an empty one.
        let map = map.filter(|section| !section.data.is_empty());
        let map_offset = map.map_or(0, |section| section.offset);
        let map = map.map(|section| {
            let parsed = Map::parse(section.data, section.address);
            parsed.with_context(|| {
                format!(
                    "cannot read section .unwind_map at offset {offset}",
                    offset = section.offset
                )
            })
        });
        let map = map.transpose()?;
        let exceptions = match is_arm {
            true => Exceptions::of(&file)?,
            false => None,
        };
        if section.is_none() && map.is_none() && exceptions.is_none() {
            bail!("the file has neither a section .unwind_map nor a section .ARM.exidx");
        }
        Ok(Self {
            section,
            tables,
            map,
            map_offset,
            exceptions,
            names,
            size: data.len() as u64,
            symbols_error,
        })
    }

    /// The functions of `.sframe`, or of the rule map where that is all there is.
    ///
    /// # Errors
    /// Returns an error if the table is damaged or missing.
    pub fn functions(&self) -> Result<Frames> {
        match (&self.section, &self.map) {
            (None, Some(map)) => Ok(rule_map::functions(map, &architecture::ARM)),
            (None, None) => bail!("no section .unwind_map"),
            (Some(_), _) => sframe::functions(&self.tables),
        }
    }

    /// Returns the list of unproven ranges in the tables, whose functions are `own`; `None` if the tables contain no proof.
    #[must_use]
    pub fn listed(&self, own: Option<&Frames>) -> Option<Unproven> {
        match self.only_map() {
            Some(map) => Unproven::listed(map, &own?.functions, self.size),
            None => Unproven::listed(&self.tables, &own?.functions, self.size),
        }
    }

    /// Returns where trap code has the interrupted link register, by the tables, whose functions are `own`.
    #[must_use]
    pub fn links(&self, own: Option<&Frames>) -> InterruptedLinks {
        own.map_or_else(InterruptedLinks::default, |own| {
            InterruptedLinks::listed(&self.tables, &own.functions, self.size)
        })
    }

    /// Returns the stack pointers of code without a caller, by the tables, whose functions are `own`.
    #[must_use]
    pub fn stack_pointers(&self, own: Option<&Frames>) -> StackPointers {
        let Some(own) = own else {
            return StackPointers::default();
        };
        match self.only_map() {
            Some(map) => StackPointers::listed(map, &own.functions, self.size),
            None => StackPointers::listed(&self.tables, &own.functions, self.size),
        }
    }

    /// The rule map, if it is all that has rows.
    #[must_use]
    pub const fn only_map(&self) -> Option<&Map<'data>> {
        match self.section {
            None => self.map.as_ref(),
            Some(_) => None,
        }
    }

    /// The name of the section that has the rows.
    #[must_use]
    pub const fn rows_section(&self) -> &'static str {
        match self.section {
            None => rule_map::SECTION,
            Some(_) => sframe::SECTION,
        }
    }

    /// The image's `.symbols`.
    #[must_use]
    pub const fn symbols(&self) -> Option<&SymbolTable<'data>> {
        match &self.names {
            NameSource::Blob(table) => Some(table),
            NameSource::Symbols(_) => None,
        }
    }

    /// The name of the function at an address, with its start and its size in bytes.
    #[must_use]
    pub fn name_at(&self, address: u64) -> Option<(String, u64, u64)> {
        match &self.names {
            NameSource::Blob(table) => {
                let answer = table.resolve(address)?;
                let function = answer.frames().next_back()?;
                let name = printable(&function.name.to_string()).into_owned();
                Some((name, answer.start, answer.size))
            }
            NameSource::Symbols(symbols) => symbols.at(address).map(|symbol| {
                let name = Names::Short.of(symbol);
                (name, symbol.start, symbol.size)
            }),
        }
    }
}

/// Reads a file and calls `act` with its bytes; errors name the file.
///
/// # Errors
/// Returns an error if the file cannot be read, or `act` fails.
pub fn with_file<T>(path: &Path, act: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    let data = image::read_file(path)?;
    act(&data).with_context(|| path.display().to_string())
}

/// Reads a linked file, or an object file, which is laid out like a linked one; and calls `act` with its bytes and the rule for
/// starts in its `.sframe`.
///
/// # Errors
/// Returns an error if the file cannot be read, or `act` fails.
pub fn with_laid_out<T>(path: &Path, act: impl FnOnce(&[u8], StartRule) -> Result<T>) -> Result<T> {
    with_file(path, |data| {
        if let Ok(file) = object::File::parse(data)
            && file.architecture() == Architecture::Arm
            && file.kind() == ObjectKind::Relocatable
        {
            // It has no rows before it is linked, and its exception tables lead nowhere.
            bail!("32-bit ARM object files are not supported: pass a linked image");
        }
        let laid_out = relocatable::lay_out(data)?;
        act(&laid_out.data, laid_out.starts)
    })
}
