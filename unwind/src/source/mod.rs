//! The interface between a walk and a table of any format.

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

/// A source of unwind rows: tables of one format. A walk uses tables through this trait only.
///
/// [`sframe::Tables`](crate::sframe::Tables), [`map::Map`](crate::map::Map), [`ImageTables`], [`ehabi::Tables`](crate::ehabi::Tables) and
/// [`ArmTables`] implement it. A slice of sources is a source, too, and uses the first source with a row: for an image and its modules, or for
/// tables of different formats as `&[&dyn RowSource]`.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{ImageTables, RowSource, Unwinder, ehabi, sframe::Tables};
///
/// // The tables of an image and of a module.
/// let sources = [ImageTables::none(), ImageTables::new(&TABLE, 0x2000)];
/// let unwinder = Unwinder::new(&sources[..]);
/// assert!(sources[..].covers(0x1018) && !sources[..].covers(0x5000));
/// ```
pub trait RowSource {
    /// Checks whether the source has rows for this architecture.
    ///
    /// # Errors
    /// Returns an error if it has none: the reason with which a walk ends. A source outside of this crate returns [`End::Unusable`].
    fn describes(&self, machine: Machine) -> Result<(), End>;

    /// Looks up the row for the address `pc`, and writes the row and its function to `found`.
    ///
    /// The range in `found` may be a part of the function, if finding all of it would take a search: see [`Self::function`]. `found` may be
    /// written even on an error. It is an argument because it is large: a copy would cost more than the look-up.
    ///
    /// # Errors
    /// Returns an error if no usable row exists for `pc`: see [`LookupError`].
    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError>;

    /// Returns the addresses of the whole function at the address `pc`, which has a row, if [`Self::look_up`] may write a part of them.
    ///
    /// By default `None`: [`Self::look_up`] writes the whole function. A source that wraps another source must forward the call.
    #[inline(always)]
    fn function(&self, _pc: u64) -> Option<Range> {
        None
    }

    /// Checks whether the address `other` is in the function whose row [`Self::look_up`] of this source wrote to `found`. Needed if
    /// [`Self::look_up`] may write a part of the function.
    ///
    /// By default false. A source that wraps another source must forward the call; otherwise walks with a [`Map`](crate::map::Map) are in
    /// doubt.
    #[inline(always)]
    fn is_one_function(&self, _found: &Found, _other: u64) -> bool {
        false
    }

    /// Writes the rules for further registers in the row for the address `pc`, for which [`Self::look_up`] finds a row. A walk calls this for
    /// [`arm`](crate::arm) only. By default there are no such rules.
    fn restored(&self, pc: u64, restored: &mut Restored) {
        let _ = (pc, restored);
    }

    /// Returns the rule for the interrupted link register in trap code at the address `pc`, for which this source has a row. A walk calls this
    /// for trap code on AArch64 only. By default `None`: the location is not known.
    #[inline(always)]
    fn interrupted_link(&self, _pc: u64) -> Option<Rule> {
        None
    }

    /// Returns the stack pointer at the address `pc` in code without a caller, for which this source has a row, if the code loaded a constant
    /// into the stack pointer. The stack is empty at this address. A walk calls this for its last frame only. By default `None`.
    #[inline(always)]
    fn stack_pointer(&self, _pc: u64) -> Option<u64> {
        None
    }

    /// Checks whether the address `pc` is in a function of the source.
    fn covers(&self, pc: u64) -> bool;

    /// Returns the reason why no walk with these rows is complete, if the rows are known to be damaged.
    fn doubt(&self) -> Option<End>;

    /// Analyses the code of the function at the address `pc`, which is in `code`, and returns the function and rules for `pc`; `None` if the
    /// analysis finds no rules.
    ///
    /// A walk calls this only if no row exists, and marks the frame with [`How::Analysis`](crate::How). By default `None`: use
    /// [`CodeReader`].
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

/// Uses the first source that has a row. A look-up returns an error only if no source has a row.
impl<S: RowSource> RowSource for [S] {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        let mut outcome = Err(End::Unusable("the list of sources of unwind rows is empty"));
        for (index, source) in self.iter().enumerate() {
            match source.describes(machine) {
                // A look-up would find its rows, but with register numbers of another architecture.
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

/// Returns the first source that has a row for the address `pc`.
fn with_row<S: RowSource>(sources: &[S], pc: u64) -> Option<&S> {
    let mut found = Found::EMPTY;
    let mut sources = sources.iter();
    sources.find(|source| source.look_up(pc, &mut found).is_ok())
}
