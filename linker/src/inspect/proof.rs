//! The part of `sframe check` that follows the code: how much is proven, where call frame information is wrong, and where the
//! table is.

use std::io::{self, Write};

use super::Accepted;
use crate::cfi::Frames;
use crate::counted::counted;
use crate::function::Function;
use crate::image::Image;
use crate::links::InterruptedLinks;
use crate::prove::contradiction::Contradiction;
use crate::prove::tally::{Functions, Tally};
use crate::prove::{Made, Proof, Rows};
use crate::sframe::rule;
use crate::stack_pointers::StackPointers;
use crate::symbols::{Names, Symbols};
use crate::unproven::Unproven;

/// A handler of interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// Address of its first instruction.
    pub start: u64,
    /// Bytes of code.
    pub size: u32,
    /// The processor pushes an error code for it.
    pub has_error_code: bool,
}

/// The results of the proof of an image's rows.
#[derive(Debug)]
pub struct Proven {
    /// Where call frame information contradicts the code, except in `handlers`.
    pub mended: Vec<Contradiction>,
    /// Handlers of interrupts, which call frame information describes as called.
    pub handlers: Vec<Handler>,
    /// Where the table contradicts the code.
    pub wrong: Vec<Contradiction>,
    /// How much of the code the table's rows are proven for, and why not more.
    pub tally: Tally,
    /// How many functions the rows of call frame information are proven or mended for, and why not more.
    pub functions: Functions,
    /// The functions that were made for code without call frame information.
    pub made: Made,
    /// What the checker accepts of the table. `None`: it does not know the architecture, or has found out nothing that holds.
    pub accepted: Option<Accepted>,
    symbols: Symbols,
}

impl Proven {
    /// Judges the rows that a link would make, and those that the image has, which are `own`. `None`: its instructions cannot be followed.
    /// `listed` is the list of unproven ranges in its tables, `links` that of interrupted link registers, `stack_pointers` that of stack pointers.
    #[must_use]
    pub fn of(
        image: &Image<'_>,
        rows: &Rows,
        own: &Frames,
        listed: Option<&Unproven>,
        links: &InterruptedLinks,
        stack_pointers: &StackPointers,
        symbols: Symbols,
    ) -> Option<Self> {
        let proof = rows.proof.as_ref()?;
        let handlers = handlers(proof, &rows.described);
        let mut mended = proof.contradictions(image, &rows.described);
        // Every row of a handler is wrong, for one reason.
        mended.retain(|one| !handlers.iter().any(|handler| handler.contains(one.start)));
        let judged = Proof::of(image, own, &symbols)?;
        let accepted = Accepted::of(
            image,
            &rows.described,
            &own.functions,
            listed,
            links,
            stack_pointers,
        );
        // The search may guess. It does not refute a row that the checker accepts.
        let is_accepted = |one: &Contradiction| {
            let rest = accepted.as_ref().map(|accepted| &accepted.rest);
            rest.is_some_and(|rest| (one.start..one.end).all(|at| !rest.contains(at)))
        };
        let mut wrong = judged.contradictions(image, &own.functions);
        wrong.retain(|one| !is_accepted(one));
        Some(Self {
            mended,
            handlers,
            wrong,
            tally: judged.tally,
            functions: proof.tally.functions.clone(),
            made: proof.made.clone(),
            accepted,
            symbols,
        })
    }

    /// Whether the code contradicts no row and no place of the link register, and the tables list all unproven rows.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        let accepted = self.accepted.as_ref();
        let is_ok = |one: &Accepted| {
            one.unlisted.is_none()
                && one.wrong_entry.is_none()
                && one.wrong_link.is_none()
                && one.wrong_stack_pointer.is_none()
        };
        self.wrong.is_empty() && accepted.is_none_or(is_ok)
    }

    /// Writes all results.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for one in &self.mended {
            self.line(
                "call frame information for these instructions is wrong",
                one,
                out,
            )?;
        }
        for one in &self.wrong {
            self.line("the unwind table for these instructions is wrong", one, out)?;
        }
        for handler in &self.handlers {
            let Handler { start, size, .. } = *handler;
            let with = if handler.has_error_code {
                "with"
            } else {
                "without"
            };
            writeln!(
                out,
                "{start:#x}, {size} bytes, {name}: the code is an interrupt handler {with} an error code, but call frame information describes a called function",
                name = self.place(start),
            )?;
        }
        let bytes =
            |list: &[Contradiction]| list.iter().map(|one| one.end - one.start).sum::<u64>();
        let handlers = match self.handlers.len() {
            0 => String::new(),
            handlers => format!(", interrupt handlers: {handlers}"),
        };
        writeln!(
            out,
            "call frame information contradicts the code at {places} ({bytes} bytes){handlers}",
            places = counted(self.mended.len(), "place"),
            bytes = bytes(&self.mended),
        )?;
        writeln!(
            out,
            "the unwind table contradicts the code at {wrong}",
            wrong = counted(self.wrong.len(), "place"),
        )?;
        self.functions.write(out)?;
        self.tally.write(out)?;
        match &self.accepted {
            Some(accepted) => accepted.write(&self.symbols, out),
            None => writeln!(
                out,
                "the checker could not follow the code, so no unwind row is proven"
            ),
        }
    }

    fn line(&self, what: &str, one: &Contradiction, out: &mut dyn Write) -> io::Result<()> {
        let name = self.place(one.start);
        writeln!(
            out,
            "{start:#x}, {size} bytes, {name}: {what}",
            start = one.start,
            size = one.end - one.start
        )?;
        if let Some(before) = &one.before {
            writeln!(out, "    after {before}")?;
        }
        writeln!(out, "    at    {}", one.instruction)?;
        writeln!(out, "    row   {}", rule::line(&one.said))?;
        match &one.found {
            Ok(row) => writeln!(out, "    right {}", rule::line(row)),
            Err(reason) => writeln!(out, "    right row unknown: {reason}"),
        }
    }

    fn place(&self, address: u64) -> String {
        match self.symbols.at(address) {
            Some(symbol) => format!(
                "{}+{:#x}",
                Names::Short.name(&symbol.name),
                address - symbol.start
            ),
            None => "code without a symbol name".to_owned(),
        }
    }
}

impl Handler {
    fn contains(&self, address: u64) -> bool {
        (self.start..self.start + u64::from(self.size)).contains(&address)
    }
}

/// The handlers among the functions of call frame information.
fn handlers(proof: &Proof, described: &[Function]) -> Vec<Handler> {
    let handler = |function: &Function| {
        let error_code = proof.handlers.get(&function.start)?;
        Some(Handler {
            start: function.start,
            size: function.size,
            has_error_code: *error_code > 0,
        })
    };
    described.iter().filter_map(handler).collect()
}
