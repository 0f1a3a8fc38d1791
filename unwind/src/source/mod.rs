//! Where rows come from: what a walk asks of a table, whatever its format.

mod sframe;

use crate::lookup::{Described, LookupError};
use crate::registers::Machine;
use crate::row::Row;
use crate::verdict::End;

/// A source of rows: tables of one format. A walk knows no more of them than this.
///
/// [`sframe::Tables`](crate::sframe::Tables) is one. A slice of sources is one as well, asked in their order: an image and its
/// modules, or tables of different formats as `&[&dyn RowSource]`.
pub trait RowSource {
    /// Whether there are rows for this machine.
    ///
    /// # Errors
    /// Why not: the end of a walk. [`End::Unusable`] takes the words of a source that this crate does not know.
    fn describes(&self, machine: Machine) -> Result<(), End>;

    /// Writes the row for the address `pc` to `row`, and says what function it is of. `row` may be written also where there is an
    /// error; it is a place to write to, because a row is large and copies of it cost more than the look-up.
    ///
    /// # Errors
    /// See [`LookupError`].
    fn read_row(&self, pc: u64, row: &mut Row) -> Result<Described, LookupError>;

    /// Whether the address `pc` is in a function that it has rows for.
    fn covers(&self, pc: u64) -> bool;

    /// Why no walk by these rows may be complete, if something is known to be wrong with them.
    fn doubt(&self) -> Option<End>;
}

impl<S: RowSource + ?Sized> RowSource for &S {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        (**self).describes(machine)
    }

    fn read_row(&self, pc: u64, row: &mut Row) -> Result<Described, LookupError> {
        (**self).read_row(pc, row)
    }

    fn covers(&self, pc: u64) -> bool {
        (**self).covers(pc)
    }

    fn doubt(&self) -> Option<End> {
        (**self).doubt()
    }
}

/// The first that has a row. What is wrong with one of them is said only where none has it.
impl<S: RowSource> RowSource for [S] {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        let mut outcome = Err(End::Unusable("there is no source of rows"));
        for (index, source) in self.iter().enumerate() {
            match source.describes(machine) {
                // Its rows would be found, and mean other registers.
                Err(end @ End::WrongAbi(_)) => return Err(end),
                Err(end) if index == 0 => outcome = Err(end),
                Err(_) => {}
                Ok(()) => outcome = Ok(()),
            }
        }
        outcome
    }

    fn read_row(&self, pc: u64, row: &mut Row) -> Result<Described, LookupError> {
        let mut reason = LookupError::NoFunction;
        for source in self {
            match source.read_row(pc, row) {
                Err(LookupError::NoFunction) => {}
                Err(other) => reason = other,
                found => return found,
            }
        }
        Err(reason)
    }

    fn covers(&self, pc: u64) -> bool {
        self.iter().any(|source| source.covers(pc))
    }

    fn doubt(&self) -> Option<End> {
        self.iter().find_map(RowSource::doubt)
    }
}
