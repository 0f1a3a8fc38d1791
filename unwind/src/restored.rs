//! What a row says beyond its three rules, in tables that describe more registers than SFrame does.

use crate::row::{Kept, Rule};
use crate::rules::Packed;

/// Of how many registers rules are kept: `r0` to `r12` of ARM.
const REGISTERS: usize = 13;

/// The rules for the caller's further registers. Only walks of [`arm`](crate::arm) ask for them: on other architectures no row needs
/// those registers in a caller's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    rules: [Packed; REGISTERS],
    /// Whether the row holds where its function calls another, and nowhere else.
    pub only_at_calls: bool,
}

impl Restored {
    /// Every register keeps its value, and the row holds at all of its instructions.
    pub const NONE: Self = Self {
        rules: [Packed::new(Rule::Same); REGISTERS],
        only_at_calls: false,
    };

    /// The rule for a register, by its DWARF number. [`Rule::Same`] for those that have none.
    #[must_use]
    pub fn rule(&self, register: u32) -> Rule {
        let rules = usize::try_from(register).ok();
        let rule = rules.and_then(|register| self.rules.get(register));
        rule.map_or(Rule::Same, |rule| rule.rule())
    }

    /// The same, and of `r4` to `r10` what a row says of them.
    pub(crate) fn with(mut self, kept: Kept) -> Self {
        for (register, rule) in kept.rules() {
            self.set(register, rule);
        }
        self
    }

    /// Sets the rule for a register, by its DWARF number: 0 to 12. Others are ignored.
    pub fn set(&mut self, register: u32, rule: Rule) {
        let register = usize::try_from(register).ok();
        if let Some(kept) = register.and_then(|register| self.rules.get_mut(register)) {
            *kept = Packed::new(rule);
        }
    }

    /// The registers that do not keep their values, by their DWARF numbers.
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
