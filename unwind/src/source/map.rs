//! A rule map as a source of rows.

use super::RowSource;
use crate::lookup::{Found, LookupError};
use crate::map::Map;
use crate::memory::Range;
use crate::registers::Machine;
use crate::verdict::End;

impl RowSource for Map<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        match self.abi().machine() == machine {
            true => Ok(()),
            false => Err(End::WrongAbi(self.abi())),
        }
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        Self::look_up(self, pc, found)
    }

    fn function(&self, pc: u64) -> Option<Range> {
        Self::function(self, pc)
    }

    #[inline]
    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        Self::is_one_function(self, found, other)
    }

    fn covers(&self, pc: u64) -> bool {
        self.is_in_function(pc)
    }

    fn doubt(&self) -> Option<End> {
        self.damage.map(End::DamagedTables)
    }
}
