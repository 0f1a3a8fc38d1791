//! Checks of the tables: that they are what was to be written, and that they say the same as what they were made from.

use anyhow::{Context, Result, bail, ensure};
use unwind::RowSource;
use unwind::sframe;
use unwind::symbols::SymbolTable;

use super::tables::Tables;
use crate::counted::counted;
use crate::image::{Image, build_id};
use crate::links::InterruptedLinks;
use crate::parallel::both;
use crate::sframe::compare;
use crate::stack_pointers::StackPointers;
use crate::symbols::{self, Coverage};
use crate::unproven::Unproven;

/// About how many functions' names and lines are looked up in a finished image: if all were compared before, and if not.
const SAMPLE_AGAIN: usize = 100;
const SAMPLE_ONLY: usize = 1000;

impl Tables {
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
        let section = section
            .context("the written image contains no section .sframe; please report this bug")?;
        let tables = sframe::Tables::new(section.data, section.address);
        tables
            .verify()
            .context("the written section .sframe is invalid (please report this bug)")?;
        let comparison = compare(&tables, &self.frames.functions);
        if let Some(first) = comparison.differences.first() {
            bail!(
                "the written .sframe differs from the generated unwind rows at {addresses} (first difference: {first}); please report this bug",
                addresses = counted(comparison.differences.len(), "address"),
            );
        }
        self.check_proof(".sframe", &tables)?;
        let links = InterruptedLinks::listed(&tables, &self.frames.functions, u64::MAX);
        if let Some(at) = links.beyond(&self.links).or(self.links.beyond(&links)) {
            bail!(
                "for the code at {at:#x}, the written .sframe contains a wrong link register location; please report this bug"
            );
        }
        self.check_stack_pointers(image, ".sframe", &tables)?;
        self.check_map(image, Some(&tables))
    }

    fn check_stack_pointers(
        &self,
        image: &Image<'_>,
        section: &str,
        tables: &impl RowSource,
    ) -> Result<()> {
        let right = self.stack_pointers.values(image)?;
        let listed = StackPointers::listed(tables, &self.frames.functions, u64::MAX);
        match listed.beyond(&right).or(right.beyond(&listed)) {
            None => Ok(()),
            Some(at) => bail!(
                "the written {section} contains a wrong stack pointer value for the code at {at:#x}; please report this bug"
            ),
        }
    }

    fn check_proof(&self, section: &str, tables: &impl RowSource) -> Result<()> {
        let list = self.unproven.as_ref();
        let different = Unproven::difference(list, &self.frames.functions, tables);
        match different {
            None => Ok(()),
            Some(at) => bail!(
                "the written {section} contains a wrong proof status for the unwind row at {at:#x}; please report this bug"
            ),
        }
    }

    fn check_map(&self, image: &Image<'_>, tables: Option<&sframe::Tables<'_>>) -> Result<()> {
        if self.loaded_map().is_none() {
            return Ok(());
        }
        let section = image.section(crate::map::SECTION)?;
        let section = section
            .context("the written image contains no unwind rule map; please report this bug")?;
        let map = unwind::map::Map::parse(section.data, section.address)
            .context("the written unwind rule map is invalid (please report this bug)")?;
        map.verify()
            .context("the written unwind rule map is invalid (please report this bug)")?;
        self.check_proof(".unwind_map", &map)?;
        self.check_stack_pointers(image, ".unwind_map", &map)?;
        let Some(tables) = tables else {
            let different = crate::map::compare_with(&map, &self.frames.functions).differences;
            if let Some(first) = different.first() {
                bail!(
                    "the written unwind rule map differs from the generated unwind rows at {addresses} (first difference: {first}); please report this bug",
                    addresses = counted(different.len(), "address"),
                );
            }
            return Ok(());
        };
        let unproven = self.unproven.as_ref();
        let comparison = crate::map::compare(&map, tables, &self.frames.functions, unproven);
        if let Some(first) = comparison.differences.first() {
            bail!(
                "the written unwind rule map differs from .sframe at {addresses} (first difference: {first}); \
                 please report this bug",
                addresses = counted(comparison.differences.len(), "address"),
            );
        }
        Ok(())
    }

    /// Compares all of `.symbols`, as `unwind` reads it, with debug information, before its address is known, if that is wanted. The
    /// address only changes its ranges, which [`Self::check_written`] checks.
    ///
    /// # Errors
    /// Returns an error if they differ.
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
        let section = section
            .context("the written image contains no section .symbols; please report this bug")?;
        let build_id = build_id(&image.file)?.unwrap_or_default();
        ensure!(
            section
                .data
                .starts_with(&blob.to_bytes(section.address, build_id)),
            "the written section .symbols differs from the generated section; please report this bug"
        );
        let functions = match self.is_compared {
            true => SAMPLE_AGAIN,
            false => SAMPLE_ONLY,
        };
        self.compare_symbols(section.data, section.address, Coverage::Sample(functions))
    }

    fn compare_symbols(&self, data: &[u8], address: u64, coverage: Coverage) -> Result<()> {
        let table = SymbolTable::parse(data, address)
            .context("the generated section .symbols is invalid (please report this bug)")?;
        let comparison = symbols::compare(&table, &self.code, coverage);
        if let Some(first) = comparison.differences.first() {
            bail!(
                "the generated .symbols differs from debug information at {addresses} (first difference: {first}); \
                 please report this bug",
                addresses = counted(comparison.differences.len(), "address"),
            );
        }
        Ok(())
    }
}
