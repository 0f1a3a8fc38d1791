//! The list of stack pointers in code without a caller: where a stack begins that nobody has declared.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use row_checker::check::Verdict;
use row_checker::claims::LoadedStackPointer;
use row_checker::instruction::{Effect, Flow, Operand};
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

/// How many instructions make a constant at most.
const NEAR: usize = 8;

/// Returns the constants that instructions of an image load into the stack pointer, in any function: where stacks may begin. All code is read in the
/// order of its addresses, so that the result proves nothing.
#[must_use]
pub fn constants(image: &Image<'_>) -> BTreeSet<u64> {
    let mut all = BTreeSet::new();
    let Some(decoder) = checked::decoder(image) else {
        return all;
    };
    let program = checked::code(image);
    let convention = decoder.convention();
    let stack_pointer = convention.stack_pointer;
    let loads = |effect: &Effect| match effect {
        Effect::Set(to, Operand::Sum(from, _)) => *to == stack_pointer && *from != stack_pointer,
        Effect::Set(to, _) => *to == stack_pointer,
        _ => false,
    };
    for section in program.sections.iter().filter(|section| section.is_code) {
        let (mut at, end) = (section.address, section.address + section.data.len() as u64);
        let mut near: Vec<u64> = Vec::new();
        while at < end {
            let Some(instruction) = decoder.decode(&program, at) else {
                near.clear();
                at += convention.unit;
                continue;
            };
            near.insert(0, at);
            near.truncate(NEAR);
            if instruction.effects.iter().any(loads) {
                all.extend(decoder.constant(&program, stack_pointer, &near));
            }
            if instruction.flow != Flow::Next {
                near.clear();
            }
            at += u64::from(instruction.length);
        }
    }
    all
}

/// The functions without a caller.
fn without_caller(functions: &[Function]) -> impl Iterator<Item = &Function> {
    functions
        .iter()
        .filter(|function| function.rows.iter().any(unwind::sframe::Row::is_outermost))
}
