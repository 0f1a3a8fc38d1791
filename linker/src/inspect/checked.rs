//! The part of `sframe check` that says which rows the checker accepts, and why it does not accept the others.

use std::collections::BTreeMap;
use std::io::{self, Write};

use row_checker::check::Verdict;
use row_checker::row::Part;
use row_checker::value::Why;

use crate::checked;
use crate::function::Function;
use crate::image::Image;
use crate::links::InterruptedLinks;
use crate::stack_pointers::{LoadedStackPointers, StackPointers};
use crate::symbols::{Names, Symbols};
use crate::unproven::Unproven;

/// How many reasons are printed at most.
const MAX_REASONS: usize = 12;

/// What the checker accepts of an image's rows.
#[derive(Debug, Default)]
pub struct Accepted {
    /// Bytes of code with rows, without the padding that no way leads to.
    pub bytes: u64,
    /// Bytes of it whose rows follow from the code on every way.
    pub proven: u64,
    /// Bytes that the tables list as unproven; `None` if the tables contain no proof.
    pub listed: Option<u64>,
    /// Number of bytes whose rows the tables wrongly report as proven, and the first address.
    pub unlisted: Option<(u64, u64)>,
    /// The first address whose row the tables report as proven if the processor entered the function, and that does not follow from that either.
    pub wrong_entry: Option<u64>,
    /// The first address of trap code for which the tables contain a place of the link register that does not follow from the code.
    pub wrong_link: Option<u64>,
    /// The first address of code without a caller for which the tables contain a stack pointer that does not follow from the code.
    pub wrong_stack_pointer: Option<u64>,
    /// The code whose rows are not accepted.
    pub rest: Unproven,
    /// For each part of a row that does not follow, and the reason: how many bytes, and the address of the first instruction.
    pub unproven: BTreeMap<(Part, Option<Why>), (u64, u64)>,
}

impl Accepted {
    /// Checks an image's rows. `described` is what its call frame information says of functions' extents. `None`: the checker does not know
    /// the architecture, or has not found out anything that holds. `listed` is the list in the tables.
    #[must_use]
    pub fn of(
        image: &Image<'_>,
        described: &[Function],
        own: &[Function],
        listed: Option<&Unproven>,
        links: &InterruptedLinks,
        stack_pointers: &StackPointers,
    ) -> Option<Self> {
        let verdicts = checked::check(image, described, own)?;
        let rest = Unproven::of(own, &verdicts);
        let loaded = LoadedStackPointers::of(own, &verdicts).values(image);
        let mut accepted = Self {
            listed: listed.map(Unproven::bytes),
            unlisted: listed.and_then(|listed| rest.beyond(listed)),
            wrong_entry: listed.and_then(|listed| listed.wrongly_entered(&rest)),
            wrong_link: links.beyond(&InterruptedLinks::of(own, &verdicts)),
            wrong_stack_pointer: stack_pointers.beyond(&loaded.unwrap_or_default()),
            rest,
            ..Self::default()
        };
        for verdict in verdicts {
            accepted.add(&verdict);
        }
        Some(accepted)
    }

    fn add(&mut self, verdict: &Verdict) {
        let bytes = u64::from(verdict.length);
        if verdict.is_padding {
            return;
        }
        self.bytes += bytes;
        let Some((part, reason)) = verdict.unproven.first() else {
            self.proven += bytes;
            return;
        };
        let entry = self.unproven.entry((*part, reason.why));
        entry.or_insert((0, verdict.at)).0 += bytes;
    }

    /// Writes how much is proven, and the reasons why not more.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub(super) fn write(&self, symbols: &Symbols, out: &mut dyn Write) -> io::Result<()> {
        // Rounded down, so that 100 % is all of it.
        let hundredths = self.proven * 10_000 / self.bytes.max(1);
        writeln!(
            out,
            "the checker proved the unwind rows for {whole}.{hundredth:02} % of the code ({proven} of {bytes} bytes)",
            proven = self.proven,
            bytes = self.bytes,
            whole = hundredths / 100,
            hundredth = hundredths % 100,
        )?;
        if let Some(bytes) = self.listed {
            writeln!(
                out,
                "the unwind tables mark the unwind rows for {bytes} bytes of code as not proven correct"
            )?;
        }
        if let Some((bytes, first)) = self.unlisted {
            writeln!(
                out,
                "error: the unwind tables do not mark all unproven unwind rows. The marks are missing for {bytes} bytes of code, first at {first:#x}. Link the image again to create new unwind tables"
            )?;
        }
        if let Some(at) = self.wrong_entry {
            writeln!(
                out,
                "error: the unwind tables mark the unwind row at {at:#x} as correct if a trap entered the function, but the code does not confirm this mark. Link the image again to create new unwind tables"
            )?;
        }
        if let Some(at) = self.wrong_link {
            writeln!(
                out,
                "error: the unwind tables state where the interrupted link register is at {at:#x}, but the code does not confirm this location. Link the image again to create new unwind tables"
            )?;
        }
        if let Some(at) = self.wrong_stack_pointer {
            writeln!(
                out,
                "error: the unwind tables state the value of the stack pointer at {at:#x}, but the code does not confirm this value. Link the image again to create new unwind tables"
            )?;
        }
        let mut reasons: Vec<_> = self.unproven.iter().collect();
        reasons.sort_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
        for ((part, why), (bytes, first)) in reasons.iter().take(MAX_REASONS) {
            let why = why.map_or(
                "the value that follows from the code differs from the value in the unwind row",
                Why::words,
            );
            let place = match symbols.at(*first) {
                Some(symbol) => Names::Short.name(&symbol.name),
                None => "code without a symbol name".to_owned(),
            };
            writeln!(
                out,
                "    {part} is unproven for {bytes} bytes of code, because {why} (the first such code is at {first:#x}, in {place})"
            )?;
        }
        if reasons.len() > MAX_REASONS {
            writeln!(
                out,
                "    {more} more reasons for unproven rows are not shown",
                more = reasons.len() - MAX_REASONS
            )?;
        }
        Ok(())
    }
}
