//! The list of stack pointers in code without a caller: where a stack begins that nobody has declared.

use anyhow::{Context as _, Result};
use row_checker::check::Verdict;
use row_checker::claims::LoadedStackPointer;
use unwind::RowSource;
use unwind::sframe::format;

use crate::checked;
use crate::code_values::CodeValues;
use crate::function::Function;
use crate::image::Image;

/// Ranges of code without a caller, each with the instructions that have loaded the stack pointer.
pub type LoadedStackPointers = CodeValues<LoadedStackPointer>;
/// Ranges of code without a caller, each with its stack pointer.
pub type StackPointers = CodeValues<u64>;

impl LoadedStackPointers {
    /// Returns the stack pointers that follow from the code, by the accepted `verdicts` on the instructions of `functions`: both in ascending
    /// order.
    #[must_use]
    pub fn of(functions: &[Function], verdicts: &[Verdict]) -> Self {
        Self::of_verdicts(without_caller(functions), verdicts, |verdict| {
            verdict.stack_pointer
        })
    }

    /// Returns the stack pointers by the instructions of an image, in which the constants may be others than in the image of the verdicts.
    ///
    /// # Errors
    /// Returns an error if the image has different instructions.
    pub fn values(&self, image: &Image<'_>) -> Result<StackPointers> {
        if self.count() == 0 {
            return Ok(StackPointers::default());
        }
        let program = checked::code(image);
        self.try_map(|range, loaded| {
            let decoder = checked::decoder(image);
            let value = decoder.and_then(|decoder| loaded.value(&program, decoder));
            value.with_context(|| {
                format!(
                    "adding the unwind tables changed the code at {start:#x}, which no longer loads a constant into the stack pointer",
                    start = range.start
                )
            })
        })
    }
}

impl StackPointers {
    /// Returns the size of the list in a table, in bytes.
    pub(crate) fn size(&self) -> usize {
        match self.count() {
            0 => 0,
            count => count * format::STACK_POINTER_SIZE + format::STACK_POINTERS_SIZE,
        }
    }

    /// Returns the stack pointers that `tables` contain for the code of `functions`. `longest` is a number of bytes that no function can exceed.
    #[must_use]
    pub fn listed(tables: &impl RowSource, functions: &[Function], longest: u64) -> Self {
        Self::listed_by(without_caller(functions), longest, |at| {
            tables.stack_pointer(at)
        })
    }
}

/// The functions without a caller.
fn without_caller(functions: &[Function]) -> impl Iterator<Item = &Function> {
    functions
        .iter()
        .filter(|function| function.rows.iter().any(unwind::sframe::Row::is_outermost))
}
