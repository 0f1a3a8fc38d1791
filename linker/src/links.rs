//! The list of places where trap code has the link register of what it interrupted (AArch64).

use row_checker::check::Verdict;
use unwind::Rule;
use unwind::sframe::{Tables, format};

use crate::code_values::CodeValues;
use crate::function::Function;

/// Ranges of trap code, each with the place of the interrupted link register.
pub type InterruptedLinks = CodeValues<Rule>;

impl InterruptedLinks {
    /// Returns the places that follow from the code, by the accepted `verdicts` on the instructions of `functions`: both in ascending order.
    #[must_use]
    pub fn of(functions: &[Function], verdicts: &[Verdict]) -> Self {
        let trap_code = functions.iter().filter(|function| function.signal);
        Self::of_verdicts(trap_code, verdicts, |verdict| verdict.interrupted_link)
    }

    /// Returns the places that `tables` contain for the code of `functions`. `longest` is a number of bytes that no function can exceed.
    #[must_use]
    pub fn listed(tables: &Tables<'_>, functions: &[Function], longest: u64) -> Self {
        let sections: Vec<_> = tables.sections().flatten().collect();
        let trap_code = functions.iter().filter(|function| function.signal);
        Self::listed_by(trap_code, longest, |at| {
            let mut sections = sections.iter();
            sections.find_map(|section| section.interrupted_link(at))
        })
    }
}

/// Returns a place as a table stores it: the distance from the stack pointer, or [`format::LINK_IN_REGISTER`].
#[must_use]
pub(crate) fn stored_place(place: Rule) -> u32 {
    match place {
        Rule::Saved { offset, .. } => offset as u32,
        _ => format::LINK_IN_REGISTER,
    }
}
