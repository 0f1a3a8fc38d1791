//! The tables of an image for 32-bit ARM: a rule map, whose rows are valid at every instruction, and the compiler's exception tables, which are
//! valid at calls, for code without a row in the map.

use super::RowSource;
use crate::code_checksums::CheckedCode;
use crate::ehabi::{self, Error};
use crate::lookup::{Found, LookupError};
use crate::map::{Map, MapError};
use crate::memory::Range;
use crate::registers::Machine;
use crate::restored::Restored;
use crate::sframe::{Damage, ParseError, Verified};
use crate::verdict::End;

/// The tables of an image for 32-bit ARM: a rule map and ARM's exception tables. Either may be missing.
///
/// The rule map is between the linker symbols `__sframe_start` and `__sframe_end`. A walk uses the exception tables for code without a row in
/// the map.
///
/// ```
/// use unwind::{ArmTables, Range, Unwinder, ehabi};
///
/// // An image without a map. Its only exception entry is for a function without a caller, at 0x1_0000.
/// let code = [Range::new(0x1_0000, 0x1_1000)];
/// let index = [0, 0, 0xff, 0x7f, 1, 0, 0, 0];
/// let exceptions = ehabi::Tables::new(&index, 0x2_0000, &[], 0, code[0]);
/// let tables = ArmTables::new(&[], 0, exceptions).outermost(&code);
/// let outcome = tables.verify();
/// assert!(outcome.map.is_err() && outcome.exceptions.is_ok());
/// let unwinder = Unwinder::new(tables.verified(outcome));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ArmTables<'a> {
    map: Result<Map<'a>, MapError>,
    exceptions: ehabi::Tables<'a>,
}

/// The result of a verification of [`ArmTables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmVerified {
    /// The result for the map. [`Damage::Section`] with [`ParseError::Empty`] if there is no map.
    pub map: Result<Verified, Damage>,
    /// The result for the exception tables: the number of the first damaged entry, from 0, and its error.
    pub exceptions: Result<(), (u32, Error)>,
}

/// [`Found::place`] of a row that is not from the map.
const NOT_IN_MAP: u32 = u32::MAX;

impl<'a> ArmTables<'a> {
    /// Creates the tables from the map in `bytes`, whose first byte is at `address`, and exception tables. Always succeeds; [`Self::verify`]
    /// returns whether the tables can be used.
    #[must_use]
    pub fn new(bytes: &'a [u8], address: u64, exceptions: ehabi::Tables<'a>) -> Self {
        Self {
            map: Map::parse(bytes, address),
            exceptions,
        }
    }

    /// Returns the tables of an image without tables.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            map: Err(MapError::Empty),
            exceptions: ehabi::Tables::new(&[], 0, &[], 0, Range::new(0, 0)),
        }
    }

    /// Sets the code without a caller for the exception tables: see [`ehabi::Tables::outermost`]. The rows of a map contain this themselves.
    #[must_use]
    pub const fn outermost(mut self, code: &'a [Range]) -> Self {
        self.exceptions = self.exceptions.outermost(code);
        self
    }

    /// Verifies the map and the exception tables: see [`Map::verify`] and [`ehabi::Tables::verify`].
    #[must_use]
    pub fn verify(&self) -> ArmVerified {
        self.verify_by(|map| map.verify())
    }

    /// Verifies the tables, and compares `code`, the kernel's code in memory at `address`, with the code that was linked: see
    /// [`ImageTables::verify_code`](crate::ImageTables::verify_code).
    #[must_use]
    pub fn verify_code(&self, code: &[u8], address: u64) -> ArmVerified {
        self.verify_by(|map| map.verify_code(code, address))
    }

    /// Returns the ranges of code whose checksums the map contains: see [`ImageTables::checked_code`](crate::ImageTables::checked_code).
    pub fn checked_code(&self) -> impl Iterator<Item = Range> + use<'a> {
        (self.map.as_ref()).map_or(CheckedCode::NONE, Map::checked_code)
    }

    fn verify_by(&self, verify: impl Fn(&Map<'_>) -> Result<Verified, Damage>) -> ArmVerified {
        let map = match &self.map {
            Ok(map) => verify(map),
            Err(MapError::Empty) => Err(Damage::Section(ParseError::Empty)),
            Err(MapError::LeftOut) => Err(Damage::Section(ParseError::LeftOut)),
            Err(_) => Err(Damage::Section(ParseError::Map)),
        };
        ArmVerified {
            map,
            exceptions: self.exceptions.verify(),
        }
    }

    /// Sets the result of [`Self::verify`]. A walk with damaged tables never ends with [`Complete`](crate::End::Complete).
    #[must_use]
    pub fn verified(self, outcome: ArmVerified) -> Self {
        Self {
            map: self.map.map(|map| map.verified(outcome.map)),
            exceptions: self.exceptions.verified(outcome.exceptions),
        }
    }

    /// Returns the distance in bytes by which the image was moved: the address of the map minus the address in the map, modulo 2^64. `None` if
    /// there is no map.
    #[must_use]
    pub fn moved_by(&self) -> Option<u64> {
        Some(self.map.ok()?.moved_by())
    }

    /// Returns the rules for all registers that trap code saved. A map's row has few of them, relative to the interrupted frame. The exception
    /// tables have all, and are valid if both have the same rules for the frame.
    #[inline(never)]
    fn in_trap_frame(&self, map: &Map<'_>, pc: u64) -> Option<Restored> {
        let mut found = Found::EMPTY;
        map.look_up(pc, &mut found).ok()?;
        if !found.is_trap {
            return None;
        }
        let (rules, mut restored) = self.exceptions.entry_at(pc)?.rules().ok()?;
        restored.only_at_calls = false;
        (rules == found.rules).then_some(restored)
    }

    /// Returns the map if it has a row for the address `pc`.
    fn map_at(&self, pc: u64) -> Option<&Map<'a>> {
        let (map, mut found) = (self.map.as_ref().ok()?, Found::EMPTY);
        map.look_up(pc, &mut found).ok().map(|()| map)
    }
}

impl RowSource for ArmTables<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        match &self.map {
            Ok(map) => RowSource::describes(map, machine),
            Err(_) => self.exceptions.describes(machine),
        }
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        let of_map = match &self.map {
            Ok(map) => map.look_up(pc, found),
            Err(_) => Err(LookupError::NoFunction),
        };
        let Err(of_map) = of_map else {
            return Ok(());
        };
        let outcome = self.exceptions.look_up(pc, found);
        found.place = NOT_IN_MAP;
        match (outcome, of_map) {
            (Err(LookupError::NoFunction), reason) | (Err(reason), LookupError::NoFunction) => {
                Err(reason)
            }
            (outcome, _) => outcome,
        }
    }

    fn function(&self, pc: u64) -> Option<Range> {
        RowSource::function(self.map_at(pc)?, pc)
    }

    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        match &self.map {
            Ok(map) if found.place != NOT_IN_MAP => map.is_one_function(found, other),
            _ => false,
        }
    }

    fn restored(&self, pc: u64, restored: &mut Restored) {
        match self.map_at(pc) {
            Some(map) => {
                RowSource::restored(map, pc, restored);
                if let Some(all) = self.in_trap_frame(map, pc) {
                    *restored = all;
                }
            }
            None => self.exceptions.restored(pc, restored),
        }
    }

    fn stack_pointer(&self, pc: u64) -> Option<u64> {
        self.map_at(pc)?.stack_pointer(pc)
    }

    fn covers(&self, pc: u64) -> bool {
        let in_map = self.map.as_ref().is_ok_and(|map| map.covers(pc));
        in_map || self.exceptions.covers(pc)
    }

    fn doubt(&self) -> Option<End> {
        let of_map = match &self.map {
            Ok(map) => map.doubt(),
            // The image was linked without a map, or this crate is built without its reader.
            Err(MapError::Empty | MapError::LeftOut) => None,
            Err(_) => Some(End::DamagedTables(Damage::Section(ParseError::Map))),
        };
        of_map.or_else(|| self.exceptions.doubt())
    }
}
