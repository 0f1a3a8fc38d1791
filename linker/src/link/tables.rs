//! The tables of one image, made from the first link.

use std::collections::HashSet;

use anyhow::{Error, Result};

use super::options::{Load, OnUnproven, Options};
use super::room::{Room, room};
use crate::cfi::Frames;
use crate::code_checksums::CodeChecksums;
use crate::covered::Covered;
use crate::function::Function;
use crate::image::Image;
use crate::links::InterruptedLinks;
use crate::map::{Map, Unfit};
use crate::outermost;
use crate::parallel::both;
use crate::prove::contradiction::Contradiction;
use crate::prove::origin::Origins;
use crate::prove::{Proof, Rows};
use crate::settled::{Settled, settle};
use crate::sframe::Table;
use crate::stack_pointers::LoadedStackPointers;
use crate::symbols::{Blob, Code, Level, Names, Symbols};
use crate::unproven::Unproven;

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
    /// The code whose rows are unproven; `None` if the rows were not checked.
    pub unproven: Option<Unproven>,
    /// Where trap code has the interrupted link register.
    pub(super) links: InterruptedLinks,
    pub(super) stack_pointers: LoadedStackPointers,
    /// The checksums of the code of the first link.
    pub code_checksums: CodeChecksums,
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

impl Tables {
    /// Makes tables for an image. `others` are functions from another source, for code without call frame information.
    ///
    /// # Errors
    /// Returns an error if the image has nothing to make tables from, or a section is damaged.
    pub fn of(image: &Image<'_>, options: &Options, others: Frames) -> Result<Self> {
        image.check_no_overlays()?;
        let functions = Symbols::of(&image.file);
        let code_checksums = CodeChecksums::of(image, &functions, &options.patched)?;
        let sframe = || {
            let Some(version) = options.sframe else {
                return Ok(None);
            };
            let rows = Rows::of(image, options.repair, others, &functions)?;
            let mut frames = rows.frames.clone();
            let named = &options.outermost;
            outermost::declare(
                &mut frames,
                image,
                &rows,
                &functions,
                named,
                options.reads_debug(),
            )?;
            let settled = match options.repair {
                true => settle(
                    image,
                    &rows.described,
                    &mut frames,
                    &functions,
                    version.has_lost(),
                ),
                false => None,
            };
            let mut settled = settled;
            if let (OnUnproven::Drop, Some(settled)) = (options.unproven, &mut settled) {
                let dropped = std::mem::take(&mut settled.unproven);
                frames.functions = dropped.without(frames.functions);
            }
            let has_abi = image.architecture.abi.is_some();
            let table =
                has_abi.then(|| Table::of_version(version, image.architecture, &mut frames));
            let table = table.map(|table| {
                let table = match settled.clone() {
                    Some(settled) => table.with_proof(Some(settled.unproven), settled.links),
                    None => table,
                };
                table.with_code(code_checksums.clone())
            });
            Ok::<_, Error>(Some((frames, rows, table, settled)))
        };
        let symbols = || {
            let symbols = functions.clone();
            let has_files = options.gsym.is_some() || options.symt.is_some();
            if options.symbols.is_none() && !has_files {
                return Ok((symbols, Code::default(), None));
            }
            let with_lines = options.needs_debug();
            let package = options.package.as_deref();
            let code = Code::of(&image.file, &symbols, options.names, with_lines, package)?;
            let blob = options.symbols.map(|level| Blob::new(&code, level));
            Ok::<_, Error>((symbols, code, blob))
        };
        let (symbols, sframe) = both(symbols, sframe);
        let (symbols, code, blob) = symbols?;
        let (frames, rows, table, settled) = sframe?.unwrap_or_default();
        let is_proven = settled.is_some();
        let Settled {
            unproven,
            links,
            stack_pointers,
        } = settled.unwrap_or_default();
        let unproven = is_proven.then_some(unproven);
        let values = stack_pointers.values(image)?;
        let table = table.map(|table| table.with_stack_pointers(values.clone()));
        // Where SFrame has no ABI, a map is all that there can be.
        let is_wanted = options.sframe.is_some();
        let only_map = is_wanted && image.architecture.abi.is_none();
        let map = (only_map || is_wanted && options.load == Load::Map)
            .then(|| Map::new(image.architecture, &frames.functions, unproven.as_ref()))
            .map(|map| {
                map.map(|map| {
                    let map = map.with_stack_pointers(values);
                    map.with_code(code_checksums.clone())
                })
            });
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
            unproven,
            links,
            stack_pointers,
            code_checksums,
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
                "{switch}={least} is too small, so the linker had to run twice: to link only once, pass {switch}={needed}"
            ))
        });
        outgrown.collect()
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
