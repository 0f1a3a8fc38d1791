//! The tables of one image: made from the first link, written into the second one.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Error, Result, bail, ensure};
use object::Object;
use unwind::sframe;
use unwind::symbols::SymbolTable;

use super::arguments::{Load, Options};
use super::room::{Room, room};
use crate::cfi::{Frames, Source};
use crate::covered::Covered;
use crate::function::Function;
use crate::gsym::gsym;
use crate::image::{Image, Mapped};
use crate::map::{Map, Unfit};
use crate::outermost;
use crate::parallel::both;
use crate::prove::contradiction::Contradiction;
use crate::prove::origin::Origins;
use crate::prove::{Proof, Rows};
use crate::sframe::{Table, compare};
use crate::symbols::{self, Blob, Code, Coverage, Level, Names, Symbols, printable};
use crate::symt::symt;
use crate::whole;

/// The functions and names of an image, and the tables made from them.
#[derive(Debug)]
pub struct Tables {
    /// The content of `.sframe`.
    pub frames: Frames,
    /// The functions of call frame information, before rows were mended.
    pub described: Vec<Function>,
    /// The proof of the rows, if that was wanted.
    pub proof: Option<Proof>,
    /// Where call frame information contradicts the code.
    pub contradictions: Vec<Contradiction>,
    /// The starts of functions that only the input's own `.sframe` describes.
    pub merged: HashSet<u64>,
    /// Starts of the functions that the link declares to have no caller.
    pub declared: HashSet<u64>,
    /// How much of the code has rows.
    pub covered: Covered,
    /// The function symbols.
    pub symbols: Symbols,
    /// `.sframe`, unless it is not wanted.
    pub table: Option<Table>,
    /// The rule map that is to be loaded instead of `.sframe`, if that is wanted; or why there is none.
    pub map: Option<Result<Map, Unfit>>,
    /// What `.symbols` is made from.
    pub code: Code,
    /// `.symbols`, unless it is not wanted.
    pub blob: Option<Blob>,
    /// The requested level of `.symbols`.
    pub wanted: Option<Level>,
    /// How names are written.
    pub names: Names,
    /// All of `.symbols` is compared with debug information, not only a sample.
    pub(super) is_compared: bool,
    /// The least room for what is loaded of the rows, and for `.symbols`, in bytes.
    least: [usize; 2],
}

/// Where the link strips what the rows are made from, which then cannot be compared.
const STRIPPED: &str = "the link strips .debug_frame, from which rows are made, so that nothing tells whether they fit the stripped image: \
     strip the image after the link, or have .eh_frame made by `-C force-unwind-tables=yes`";

/// About how many functions' names and lines are looked up in a finished image: if all were compared before, and if not.
const SAMPLE_AGAIN: usize = 100;
const SAMPLE_ONLY: usize = 1000;

impl Tables {
    /// Makes tables for an image. `others` are functions from another source, for code without call frame information.
    ///
    /// # Errors
    /// The image has nothing to make them from, or a section is damaged.
    pub fn of(image: &Image<'_>, options: &Options, others: Frames) -> Result<Self> {
        let functions = Symbols::of(&image.file);
        let sframe = || {
            let Some(version) = options.sframe else {
                return Ok(None);
            };
            let rows = Rows::of(image, options.repair, others, &functions)?;
            let mut frames = rows.frames.clone();
            outermost::declare(&mut frames, image, &functions, &options.outermost)?;
            let has_abi = image.architecture.abi.is_some();
            let table =
                has_abi.then(|| Table::of_version(version, image.architecture, &mut frames));
            Ok::<_, Error>(Some((frames, rows, table)))
        };
        let symbols = || {
            let symbols = functions.clone();
            let has_files = options.gsym.is_some() || options.symt.is_some();
            if options.symbols.is_none() && !has_files {
                return Ok((symbols, Code::default(), None));
            }
            let with_lines = options.needs_debug();
            let code = Code::of(&image.file, &symbols, options.names, with_lines)?;
            let blob = options.symbols.map(|level| Blob::new(&code, level));
            Ok::<_, Error>((symbols, code, blob))
        };
        let (symbols, sframe) = both(symbols, sframe);
        let (symbols, code, blob) = symbols?;
        let (frames, rows, table) = sframe?.unwrap_or_default();
        // Where SFrame has no ABI, a map is all that there can be.
        let is_wanted = options.sframe.is_some();
        let only_map = is_wanted && image.architecture.abi.is_none();
        let map = (only_map || is_wanted && options.load == Load::Map)
            .then(|| Map::new(image.architecture, &frames.functions));
        let contradictions = contradictions(image, &rows);
        let declared = outermost::starts(&frames.functions, &rows.frames, &symbols);
        let covered = match is_wanted {
            true => Covered::of(image, &frames.functions, &frames.left_out, &symbols),
            false => Covered::default(),
        };
        Ok(Self {
            frames,
            described: rows.described,
            contradictions,
            proof: rows.proof,
            merged: rows.merged,
            declared,
            covered,
            symbols,
            table,
            map,
            code,
            blob,
            wanted: options.symbols,
            names: options.names,
            is_compared: options.compare != Some(false),
            least: [options.sframe_room, options.symbols_room],
        })
    }

    /// How many functions and rows of `.sframe` come from where.
    #[must_use]
    pub fn origins(&self) -> Origins {
        let functions = &self.frames.functions;
        Origins::of(
            functions,
            &self.described,
            functions,
            &self.merged,
            &self.declared,
        )
    }

    /// The rule map, if one is loaded.
    #[must_use]
    pub fn loaded_map(&self) -> Option<&Map> {
        self.map.as_ref()?.as_ref().ok()
    }

    /// The name of the section that has all that is known of the rows.
    #[must_use]
    pub fn rows_section(&self) -> &'static str {
        match (&self.table, self.loaded_map()) {
            (None, Some(_)) => crate::map::SECTION,
            _ => crate::sframe::SECTION,
        }
    }

    /// Whether there are rows in any form.
    pub(super) fn has_rows(&self) -> bool {
        self.table.is_some() || self.loaded_map().is_some()
    }

    pub(super) fn room(&self) -> Room {
        let map = self.loaded_map().map(Map::size);
        let size = map.or(self.table.as_ref().map(Table::size));
        let [sframe, symbols] = self.least;
        Room {
            sframe: size.map(|size| room(size).max(sframe)),
            symbols: (self.blob.as_ref()).map(|blob| room(blob.size()).max(symbols)),
        }
    }

    /// A warning for each table that takes more than the room that the options give it.
    pub(super) fn outgrown(&self) -> Vec<String> {
        let room = self.room();
        let [sframe, symbols] = self.least;
        let tables = [
            (room.sframe, sframe, "--sframe-room"),
            (room.symbols, symbols, "--symbols-room"),
        ];
        let outgrown = tables.into_iter().filter_map(|(room, least, switch)| {
            let needed = room.filter(|room| least != 0 && *room > least)?;
            Some(format!(
                "{switch}={least} is too little for one link: {needed} bytes are taken"
            ))
        });
        outgrown.collect()
    }

    /// Checks that the second link has everything at the same addresses as the first, which had this call frame information.
    pub(super) fn check_unmoved(&self, image: &Image<'_>, first: &Source) -> Result<()> {
        let (frames, symbols) = both(
            || self.check_unmoved_frames(image, first),
            || self.check_unmoved_symbols(image),
        );
        frames.and(symbols)
    }

    fn check_unmoved_frames(&self, image: &Image<'_>, first: &Source) -> Result<()> {
        // It is read again only if it is not the same, byte for byte: references to data may differ.
        if !self.has_rows() || Source::of(image)? == *first {
            return Ok(());
        }
        let frames = Frames::of(image)?;
        let own = self.described.iter();
        let before = own.filter(|function| !self.merged.contains(&function.start));
        let moved = before
            .clone()
            .zip(&frames.functions)
            .find(|(before, after)| before != after);
        if let Some((before, after)) = moved {
            let name = self.name_of(before.start);
            let (from, to) = (before.start, after.start);
            ensure!(
                from == to,
                "{name} is at {from:#x} without tables and at {to:#x} with them: {MOVED}",
            );
            bail!("the unwind information of {name} at {from:#x} differs between the two links");
        }
        let before = before.count();
        ensure!(!frames.functions.is_empty() || before == 0, STRIPPED);
        ensure!(
            before == frames.functions.len(),
            "the second link has {} functions, the first had {before}",
            frames.functions.len(),
        );
        Ok(())
    }

    fn check_unmoved_symbols(&self, image: &Image<'_>) -> Result<()> {
        // A stripped image has no symbols left to compare.
        let symbols = Symbols::of(&image.file);
        let moved = self
            .symbols
            .0
            .iter()
            .zip(&symbols.0)
            .find(|(before, after)| before != after);
        if let Some((before, after)) = moved {
            bail!(
                "{} is at {:#x} without tables, where {} is at {:#x} with them: {MOVED}",
                printable(&before.name),
                before.start,
                printable(&after.name),
                after.start,
            );
        }
        Ok(())
    }

    /// The bytes to write into an image that has space for the tables.
    pub(super) fn patches(&self, image: &Image<'_>) -> Result<Vec<Patch>> {
        let mut patches = Vec::new();
        let room = self.room();
        let size = room.sframe.unwrap_or_default();
        if let Some(map) = self.loaded_map() {
            let place = super::place::find(image, &super::place::SFRAME, size)?;
            let mut bytes = map.to_bytes(place.address);
            // Readers ignore the padding: the header has the length.
            bytes.resize(size, 0);
            patches.push(Patch {
                offset: place.offset,
                bytes,
            });
            match &self.table {
                Some(table) => {
                    ensure!(table.reaches(place.address), TOO_FAR);
                    let table = table.to_bytes(place.address);
                    patches.extend(super::unloaded::patches(image, place, &table)?);
                }
                None => patches.extend(super::place::map_header(image, place)?),
            }
        } else if let Some(table) = &self.table {
            let place = super::place::find(image, &super::place::SFRAME, size)?;
            ensure!(table.reaches(place.address), TOO_FAR);
            patches.push(Patch {
                offset: place.offset,
                bytes: table.to_bytes_of(place.address, size),
            });
            patches.extend(super::place::sframe_header(image, place)?);
        }
        if let Some(blob) = &self.blob {
            let size = room.symbols.unwrap_or_default();
            let place = super::place::find(image, &super::place::SYMBOLS, size)?;
            let build_id = image.file.build_id()?.unwrap_or_default();
            let mut bytes = blob.to_bytes(place.address, build_id);
            // Readers ignore the padding: the header has the length.
            bytes.resize(size, 0);
            patches.push(Patch {
                offset: place.offset,
                bytes,
            });
        }
        Ok(patches)
    }

    /// Writes the tables into the linked image, and reads them back.
    pub(super) fn write(&self, path: &Path, patches: &[Patch]) -> Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        for patch in patches {
            file.write_all_at(&patch.bytes, patch.offset)?;
        }
        drop(file);
        self.check_written(&Mapped::open(path)?)
    }

    /// Compares the tables in an image, as `unwind` reads them, with what was to be written.
    pub(crate) fn check_written(&self, data: &[u8]) -> Result<()> {
        let image = Image::parse(data)?;
        let (sframe, symbols) = both(
            || self.check_sframe(&image),
            || self.check_symbols_written(&image),
        );
        sframe.and(symbols)
    }

    fn check_sframe(&self, image: &Image<'_>) -> Result<()> {
        if self.table.is_none() {
            return self.check_map(image, None);
        }
        let section = image.section(crate::sframe::SECTION)?;
        let section = section.context("no .sframe in the image that was written")?;
        let tables = sframe::Tables::new(section.data, section.address);
        tables
            .verify()
            .context("the .sframe that was written; please report this")?;
        let comparison = compare(&tables, &self.frames.functions);
        if let Some(first) = comparison.differences.first() {
            bail!(
                "the .sframe that was written differs from .eh_frame at {} addresses, first {first}; \
                 please report this",
                comparison.differences.len(),
            );
        }
        self.check_map(image, Some(&tables))
    }

    fn check_map(&self, image: &Image<'_>, tables: Option<&sframe::Tables<'_>>) -> Result<()> {
        if self.loaded_map().is_none() {
            return Ok(());
        }
        let section = image.section(crate::map::SECTION)?;
        let section = section.context("no rule map in the image that was written")?;
        let map = unwind::map::Map::parse(section.data, section.address)
            .context("the rule map that was written; please report this")?;
        map.verify()
            .context("the rule map that was written; please report this")?;
        let Some(tables) = tables else {
            let different = crate::map::compare_with(&map, &self.frames.functions).differences;
            if let Some(first) = different.first() {
                bail!(
                    "the rule map that was written says something else than was meant at {} addresses, first {first}; please \
                     report this",
                    different.len(),
                );
            }
            return Ok(());
        };
        let comparison = crate::map::compare(&map, tables, &self.frames.functions);
        if let Some(first) = comparison.differences.first() {
            bail!(
                "the rule map that was written differs from .sframe at {} addresses, first {first}; \
                 please report this",
                comparison.differences.len(),
            );
        }
        Ok(())
    }

    /// Compares all of `.symbols`, as `unwind` reads it, with debug information, before its address is known, if that is wanted. The
    /// address only changes its ranges, which [`Self::check_written`] checks.
    ///
    /// # Errors
    /// They differ.
    pub(crate) fn check_symbols(&self) -> Result<()> {
        match &self.blob {
            Some(blob) if self.is_compared => {
                self.compare_symbols(&blob.to_bytes(0, &[]), 0, Coverage::Ends)
            }
            _ => Ok(()),
        }
    }

    fn check_symbols_written(&self, image: &Image<'_>) -> Result<()> {
        let Some(blob) = &self.blob else {
            return Ok(());
        };
        let section = image.section(crate::symbols::SECTION)?;
        let section = section.context("no .symbols in the image that was written")?;
        let build_id = image.file.build_id()?.unwrap_or_default();
        ensure!(
            section
                .data
                .starts_with(&blob.to_bytes(section.address, build_id)),
            "the .symbols that was written reads back as something else"
        );
        let functions = match self.is_compared {
            true => SAMPLE_AGAIN,
            false => SAMPLE_ONLY,
        };
        self.compare_symbols(section.data, section.address, Coverage::Sample(functions))
    }

    fn compare_symbols(&self, data: &[u8], address: u64, coverage: Coverage) -> Result<()> {
        let table = SymbolTable::parse(data, address).context("the .symbols that was made")?;
        let comparison = symbols::compare(&table, &self.code, coverage);
        if let Some(first) = comparison.differences.first() {
            bail!(
                "the .symbols that was made differs from debug information at {} addresses, first {first}; \
                 please report this",
                comparison.differences.len(),
            );
        }
        Ok(())
    }

    /// Writes the files that `--gsym` and `--symt` name.
    ///
    /// # Errors
    /// Those of a file; or the image has code at addresses for which SYMT has no room.
    pub fn write_files(&self, image: &Image<'_>, options: &Options) -> Result<()> {
        if let Some(path) = &options.gsym {
            let build_id = image.file.build_id()?.unwrap_or_default();
            whole::write(path, &gsym(&self.code, build_id))?;
        }
        if let Some(path) = &options.symt {
            whole::write(path, &symt(&self.code)?)?;
        }
        Ok(())
    }

    /// The name of the function at an address, or the address.
    #[must_use]
    pub fn name_of(&self, address: u64) -> String {
        self.symbols.at(address).map_or_else(
            || format!("{address:#x}"),
            |symbol| self.names.name(&symbol.name),
        )
    }
}

fn contradictions(image: &Image<'_>, rows: &Rows) -> Vec<Contradiction> {
    rows.proof.as_ref().map_or_else(Vec::new, |proof| {
        proof.contradictions(image, &rows.described)
    })
}

/// Bytes for a place in a file.
#[derive(Debug)]
pub(super) struct Patch {
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

/// The error for code that version 2 cannot reach.
pub(crate) const TOO_FAR: &str =
    ".sframe is more than 2 GiB from some code, too far for version 2: use --sframe=v3";

/// The advice for code that moves between the two links.
const MOVED: &str =
    "the linker script must have INCLUDE tables.ld after every section that holds code";
