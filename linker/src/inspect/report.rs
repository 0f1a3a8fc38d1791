//! What `sframe check` prints.

use std::io::{self, Write};

use super::check::Check;
use crate::covered::advice;
use crate::function::LeftOut;
use crate::map;
use crate::symbols::{Names, Symbol};

impl Check {
    /// Writes what was compared, and every difference; and what to do if less than so many percent of the code are covered.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write(&self, least: u8, out: &mut dyn Write) -> io::Result<()> {
        let comparison = &self.comparison;
        match &self.proven {
            Some(proven) => proven.write(out)?,
            None => writeln!(
                out,
                "unwind rows were not compared with the code, because the instruction set is not supported"
            )?,
        }
        for difference in &comparison.differences {
            writeln!(out, "{difference}")?;
        }
        for left in &self.left_out {
            let LeftOut { start, size, why } = left;
            writeln!(
                out,
                "{format} cannot describe the function at {start:#x} ({size} bytes): {why}",
                format = match self.table {
                    map::SECTION => "an unwind rule map",
                    _ => "the SFrame format",
                }
            )?;
        }
        for Symbol {
            start, size, name, ..
        } in &self.declared
        {
            let name = Names::Short.name(name);
            writeln!(
                out,
                "{start:#x}, {size} bytes, {name}: the function is declared to have no caller"
            )?;
        }
        writeln!(
            out,
            "compared {functions} functions, {rows} unwind rows and {addresses} addresses: {differences} differences",
            functions = comparison.functions,
            rows = comparison.rows,
            addresses = comparison.addresses,
            differences = comparison.differences.len(),
        )?;
        if let Some(map) = &self.map {
            for difference in &map.differences {
                writeln!(out, "{difference}")?;
            }
            let (count, differences) = (map.addresses, map.differences.len());
            writeln!(
                out,
                "compared {count} addresses of .unwind_map with .sframe: {differences} differences"
            )?;
        }
        match &self.exceptions {
            Some(Ok(entries)) => writeln!(out, "all {entries} entries of .ARM.exidx can be read")?,
            Some(Err(why)) => writeln!(out, "error: .ARM.exidx: {why}")?,
            None => {}
        }
        match &self.code {
            Ok(0) => writeln!(out, "the unwind tables contain no checksums of the code")?,
            Ok(bytes) => writeln!(
                out,
                "{bytes} bytes of code match the checksums in the unwind tables"
            )?,
            Err(why) => writeln!(out, "error: {why}")?,
        }
        self.strict.write(out)?;
        if let Some(covered) = &self.covered {
            writeln!(out, "{}", covered.of_table(self.table))?;
            if !covered.is_at_least(least) {
                writeln!(
                    out,
                    "error: less than {least} % of the code has unwind rows, so {advice}",
                    advice = advice(true)
                )?;
            }
        }
        if self.uncompared > 0 {
            writeln!(
                out,
                "functions not compared: {count}, because only {table} describes them",
                count = self.uncompared,
                table = self.table
            )?;
        }
        if let Some(why) = self.symbols_uncompared {
            writeln!(out, ".symbols not compared: {why}")?;
        }
        let Some(symbols) = &self.symbols else {
            return Ok(());
        };
        for difference in &symbols.differences {
            writeln!(out, "{difference}")?;
        }
        writeln!(
            out,
            "compared .symbols with debug information at {addresses} addresses. All inlined frames were compared at {exact} addresses, and only the outermost line at {outer} addresses. Differences: {differences}",
            addresses = symbols.answers,
            exact = symbols.exact,
            outer = symbols.outer,
            differences = symbols.differences.len(),
        )?;
        let (exact, faults) = (symbols.exact_faults, symbols.faults);
        writeln!(
            out,
            ".symbols contains all inlined frames for {exact} of {faults} instructions that can fault"
        )
    }
}
