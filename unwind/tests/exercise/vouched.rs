//! A source that reports rows as proven.

use unwind::{End, Found, LookupError, Machine, Proof, Range, Restored, RowSource};

/// Reports the rows of another source as proven, so that a walk with tables from any tool can be complete.
#[derive(Clone, Copy)]
pub struct Vouched<S>(pub S);

impl<S: RowSource> RowSource for Vouched<S> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        self.0.describes(machine)
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        self.0.look_up(pc, found)?;
        found.proof = Proof::Proven;
        Ok(())
    }

    fn function(&self, pc: u64) -> Option<Range> {
        self.0.function(pc)
    }

    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        self.0.is_one_function(found, other)
    }

    fn restored(&self, pc: u64, restored: &mut Restored) {
        self.0.restored(pc, restored);
    }

    fn covers(&self, pc: u64) -> bool {
        self.0.covers(pc)
    }

    fn doubt(&self) -> Option<End> {
        self.0.doubt()
    }
}
