//! A rule map as a source of rows.

use super::RowSource;
use crate::lookup::{Found, LookupError};
use crate::map::Map;
use crate::memory::Range;
use crate::registers::Machine;
use crate::restored::Restored;
use crate::verdict::End;

impl RowSource for Map<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        match (self.machine() == machine, self.abi()) {
            (true, _) => Ok(()),
            (false, Some(abi)) => Err(End::WrongAbi(abi)),
            (false, None) => Err(End::Unusable(
                "the unwind rule map is for 32-bit ARM, but the kernel has a different architecture",
            )),
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

    fn restored(&self, pc: u64, restored: &mut Restored) {
        if let Some(kept) = self.kept_at(pc) {
            *restored = Restored::NONE.with(kept);
        }
    }

    fn stack_pointer(&self, pc: u64) -> Option<u64> {
        Self::stack_pointer(self, pc)
    }

    fn covers(&self, pc: u64) -> bool {
        self.is_in_function(pc)
    }

    fn doubt(&self) -> Option<End> {
        self.damage.map(End::of_damage)
    }
}
