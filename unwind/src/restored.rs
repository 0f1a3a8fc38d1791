//! The rules for further registers, in tables that describe more registers than SFrame does.

use crate::row::{Kept, Rule};
use crate::rules::Packed;

/// The number of registers: `r0` to `r12` of ARM.
const REGISTERS: usize = 13;

/// The rules for further registers of the caller: the result of [`RowSource::restored`](crate::RowSource::restored).
///
/// Only walks on [`arm`](crate::arm) use them. On other architectures no row needs these registers in a caller's frame.
///
/// ```
/// use unwind::{Base, Restored, Rule};
///
/// let mut restored = Restored::NONE;
/// let saved = Rule::Saved { base: Base::Cfa, offset: -12 };
/// restored.set(7, saved);
/// assert_eq!((restored.rule(7), restored.rule(8)), (saved, Rule::Same));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    rules: [Packed; REGISTERS],
    /// Whether the row is valid only where its function calls another.
    pub only_at_calls: bool,
}

impl Restored {
    /// The rules if every register keeps its value and the row is valid at each of its instructions.
    pub const NONE: Self = Self {
        rules: [Packed::new(Rule::Same); REGISTERS],
        only_at_calls: false,
    };

    /// Returns the rule for a register, by its DWARF number. [`Rule::Same`] for registers without a rule.
    #[must_use]
    pub fn rule(&self, register: u32) -> Rule {
        let rules = usize::try_from(register).ok();
        let rule = rules.and_then(|register| self.rules.get(register));
        rule.map_or(Rule::Same, |rule| rule.rule())
    }

    /// Sets the rules for `r4` to `r10` from a row.
    pub(crate) fn with(mut self, kept: Kept) -> Self {
        for (register, rule) in kept.rules() {
            self.set(register, rule);
        }
        self
    }

    /// Sets the rule for a register, by its DWARF number, 0 to 12. Ignores other numbers.
    pub fn set(&mut self, register: u32, rule: Rule) {
        let register = usize::try_from(register).ok();
        if let Some(kept) = register.and_then(|register| self.rules.get_mut(register)) {
            *kept = Packed::new(rule);
        }
    }

    /// Returns the registers that do not keep their values, by their DWARF numbers, with their rules.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (u32, Rule)> {
        let rules = (0..REGISTERS as u32).zip(&self.rules);
        let changed = rules.filter(|(_, rule)| !rule.is(Packed::SAME));
        changed.map(|(register, rule)| (register, rule.rule()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Base;

    #[test]
    fn a_list_of_rules_takes_them() {
        let mut kept = Kept::ALL;
        let saved = Rule::Saved {
            base: Base::Cfa,
            offset: -8,
        };
        kept.set(7, saved);
        kept.set(10, Rule::Undefined);
        let restored = Restored::NONE.with(kept);
        assert_eq!(restored.rule(7), saved);
        assert_eq!(restored.rule(10), Rule::Undefined);
        assert_eq!(restored.changed().count(), 2);
    }
}
