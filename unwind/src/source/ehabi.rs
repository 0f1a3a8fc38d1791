//! ARM's exception tables as a source of rows.

use super::RowSource;
use crate::ehabi::{Error, Tables};
use crate::lookup::{Found, LookupError, Proof};
use crate::registers::Machine;
use crate::restored::Restored;
use crate::rules::Rules;
use crate::verdict::End;

impl RowSource for Tables<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        if machine != Machine::Arm {
            return Err(End::Unusable(
                "the exception tables (.ARM.exidx) are for 32-bit ARM, but the kernel has a different architecture",
            ));
        }
        match self.is_empty() {
            true => Err(End::Unusable("the exception tables (.ARM.exidx) are empty")),
            false => Ok(()),
        }
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        let entry = self.entry_at(pc).ok_or(LookupError::NoFunction)?;
        let (rules, is_trap) = match entry.rules_and_kind() {
            Ok(found) => found,
            Err(Error::CannotUnwind) if self.is_outermost(pc) => (Rules::NO_CALLER, false),
            Err(error) => return Err(error.of_look_up()),
        };
        *found = Found {
            range: entry.range,
            place: 0,
            is_trap,
            proof: Proof::Unknown,
            rules,
        };
        Ok(())
    }

    fn restored(&self, pc: u64, restored: &mut Restored) {
        if let Some(Ok((_, further))) = self.entry_at(pc).map(|entry| entry.rules()) {
            *restored = further;
        }
    }

    fn covers(&self, pc: u64) -> bool {
        self.entry_at(pc).is_some()
    }

    fn doubt(&self) -> Option<End> {
        let words = "the exception tables (.ARM.exidx) are damaged";
        self.is_damaged.then_some(End::Unusable(words))
    }
}
