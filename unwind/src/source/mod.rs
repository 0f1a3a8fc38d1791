//! The interface between a walk and a table, whatever its format.

mod arm;
#[cfg(target_has_atomic = "64")]
mod cached;
mod code;
mod ehabi;
mod image;
mod map;
mod sframe;

use crate::code::Code;
use crate::lookup::{Found, LookupError};
use crate::memory::Range;
use crate::registers::Machine;
use crate::restored::Restored;
use crate::row::Rule;
use crate::verdict::End;

pub use arm::{ArmTables, ArmVerified};
#[cfg(target_has_atomic = "64")]
pub use cached::Cached;
pub use code::{CodeReader, FunctionAt};
pub use image::ImageTables;

/// A source of rows: tables of one format. A walk uses them only by this trait.
///
/// [`sframe::Tables`](crate::sframe::Tables), [`map::Map`](crate::map::Map), [`ImageTables`] and
/// [`ehabi::Tables`](crate::ehabi::Tables) are some. A slice of sources is one too, asked in order: an image and its modules, or tables
/// of different formats as `&[&dyn RowSource]`.
pub trait RowSource {
    /// Whether there are rows for this machine.
    ///
    /// # Errors
    /// Why not, as the end of a walk; [`End::Unusable`] for sources outside of this crate.
    fn describes(&self, machine: Machine) -> Result<(), End>;

    /// Writes the row for the address `pc`, and its function or as much of that as takes no search, to `found`, which may be written even
    /// on an error. It is not returned by value, because it is large, and copies of it cost more than the look-up.
    ///
    /// # Errors
    /// See [`LookupError`].
    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError>;

    /// All of the function at the address `pc`, which has a row, if [`Self::look_up`] may write less. By default that is `None`: what it
    /// writes is all of it. A source around another one asks that.
    #[inline(always)]
    fn function(&self, _pc: u64) -> Option<Range> {
        None
    }

    /// Whether the address `other` is in the function of which [`Self::look_up`] of this source has `found` a row, if it may write less than
    /// all of that. By default it never does. A source around another one asks that: else walks by a [`Map`](crate::map::Map) are in doubt.
    #[inline(always)]
    fn is_one_function(&self, _found: &Found, _other: u64) -> bool {
        false
    }

    /// Writes what the row for the address `pc` says beyond `found`, of a source that [`Self::look_up`] finds it in. Called for
    /// [`arm`](crate::arm) only. By default that is nothing.
    fn restored(&self, pc: u64, restored: &mut Restored) {
        let _ = (pc, restored);
    }

    /// Where trap code at the address `pc`, which a row of this source is for, has the link register of what it interrupted, on AArch64. A walk
    /// asks only there. By default that is not known.
    #[inline(always)]
    fn interrupted_link(&self, _pc: u64) -> Option<Rule> {
        None
    }

    /// The stack pointer of code without a caller at the address `pc`, which a row of this source is for, if the code has loaded a constant into
    /// it: its stack is empty there. A walk asks only at its last frame. By default that is not known.
    #[inline(always)]
    fn stack_pointer(&self, _pc: u64) -> Option<u64> {
        None
    }

    /// Whether the address `pc` is in a function that it has rows for.
    fn covers(&self, pc: u64) -> bool;

    /// If these rows are known to be damaged: why no walk by them may be complete.
    fn doubt(&self) -> Option<End>;

    /// The function at the address `pc`, which lies in `code`, and rules for it that are read out of that; `None` if there are none. A walk
    /// asks only where there is no row, and marks what it finds so: [`How::Analysis`](crate::How). By default there are none:
    /// [`CodeReader`] has them.
    #[inline(always)]
    fn read_code(&self, _machine: Machine, _code: &Code<'_>, _pc: u64) -> Option<Found> {
        None
    }
}

impl<S: RowSource + ?Sized> RowSource for &S {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        (**self).describes(machine)
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        (**self).look_up(pc, found)
    }

    fn function(&self, pc: u64) -> Option<Range> {
        (**self).function(pc)
    }

    #[inline(always)]
    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        (**self).is_one_function(found, other)
    }

    fn restored(&self, pc: u64, restored: &mut Restored) {
        (**self).restored(pc, restored);
    }

    fn interrupted_link(&self, pc: u64) -> Option<Rule> {
        (**self).interrupted_link(pc)
    }

    fn stack_pointer(&self, pc: u64) -> Option<u64> {
        (**self).stack_pointer(pc)
    }

    fn covers(&self, pc: u64) -> bool {
        (**self).covers(pc)
    }

    fn doubt(&self) -> Option<End> {
        (**self).doubt()
    }

    #[inline(always)]
    fn read_code(&self, machine: Machine, code: &Code<'_>, pc: u64) -> Option<Found> {
        (**self).read_code(machine, code, pc)
    }
}

/// Uses the first source that has a row. An error is returned only if no source has one.
impl<S: RowSource> RowSource for [S] {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        let mut outcome = Err(End::Unusable("there is no source of rows"));
        for (index, source) in self.iter().enumerate() {
            match source.describes(machine) {
                // Its rows would be found, but with register numbers of another architecture.
                Err(end @ End::WrongAbi(_)) => return Err(end),
                Err(end) if index == 0 => outcome = Err(end),
                Err(_) => {}
                Ok(()) => outcome = Ok(()),
            }
        }
        outcome
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        let mut reason = LookupError::NoFunction;
        for source in self {
            match source.look_up(pc, found) {
                Err(LookupError::NoFunction) => {}
                Err(other) => reason = other,
                Ok(()) => return Ok(()),
            }
        }
        Err(reason)
    }

    fn function(&self, pc: u64) -> Option<Range> {
        self.iter().find_map(|source| source.function(pc))
    }

    #[inline(never)]
    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        // Its place is a number of the source's that has found it. Others have such numbers, too.
        let source = with_row(self, found.last_address());
        source.is_some_and(|source| source.is_one_function(found, other))
    }

    fn restored(&self, pc: u64, restored: &mut Restored) {
        if let Some(source) = with_row(self, pc) {
            source.restored(pc, restored);
        }
    }

    fn interrupted_link(&self, pc: u64) -> Option<Rule> {
        with_row(self, pc)?.interrupted_link(pc)
    }

    fn stack_pointer(&self, pc: u64) -> Option<u64> {
        with_row(self, pc)?.stack_pointer(pc)
    }

    fn covers(&self, pc: u64) -> bool {
        self.iter().any(|source| source.covers(pc))
    }

    fn doubt(&self) -> Option<End> {
        self.iter().find_map(RowSource::doubt)
    }

    #[inline]
    fn read_code(&self, machine: Machine, code: &Code<'_>, pc: u64) -> Option<Found> {
        let mut sources = self.iter();
        sources.find_map(|source| source.read_code(machine, code, pc))
    }
}

/// The first source that has a row for the address `pc`.
fn with_row<S: RowSource>(sources: &[S], pc: u64) -> Option<&S> {
    let mut found = Found::EMPTY;
    let mut sources = sources.iter();
    sources.find(|source| source.look_up(pc, &mut found).is_ok())
}
