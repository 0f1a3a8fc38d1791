//! SFrame's tables as a source of rows.

use super::RowSource;
use crate::lookup::{Found, LookupError};
use crate::registers::Machine;
use crate::row::Rule;
use crate::sframe::Tables;
use crate::verdict::End;

impl RowSource for Tables<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        match &self.first {
            Ok(section) if section.abi().machine() == machine => Ok(()),
            Ok(section) => Err(End::WrongAbi(section.abi())),
            Err(error) => Err(End::NoTables(*error)),
        }
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        match &self.first {
            // If the linker merges sections, there is only one.
            Ok(first) if self.has_one() => first.look_up(pc, found),
            _ => self.look_up_in_all(pc, found),
        }
    }

    fn interrupted_link(&self, pc: u64) -> Option<Rule> {
        let mut sections = self.sections().flatten();
        sections.find_map(|section| section.interrupted_link(pc))
    }

    fn stack_pointer(&self, pc: u64) -> Option<u64> {
        let mut sections = self.sections().flatten();
        sections.find_map(|section| section.stack_pointer(pc))
    }

    fn covers(&self, pc: u64) -> bool {
        self.find(|section| section.covers(pc)).is_ok()
    }

    /// Tables that cannot be parsed have no damage, because `describes` returns an error for them.
    fn doubt(&self) -> Option<End> {
        match (self.first, self.damage) {
            (Ok(_), Some(damage)) => Some(End::of_damage(damage)),
            _ => None,
        }
    }
}
