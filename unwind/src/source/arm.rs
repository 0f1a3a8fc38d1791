//! The tables of an image for 32-bit ARM: a rule map, whose rows hold at every instruction, and the compiler's exception tables, which
//! hold at calls, for code that has no row there.

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

/// A rule map between the linker script's symbols `__sframe_start` and `__sframe_end`, and exception tables. Either may be missing.
#[derive(Clone, Copy, Debug)]
pub struct ArmTables<'a> {
    map: Result<Map<'a>, MapError>,
    exceptions: ehabi::Tables<'a>,
}

/// What a verification of [`ArmTables`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmVerified {
    /// Of the map; [`Damage::Section`] with [`ParseError::Empty`] if there is none.
    pub map: Result<Verified, Damage>,
    /// Of the exception tables: the number of the first damaged entry, and why.
    pub exceptions: Result<(), (u32, Error)>,
}

/// Where [`Found::place`] is no place of the map's.
const NOT_IN_MAP: u32 = u32::MAX;

impl<'a> ArmTables<'a> {
    /// The map in `bytes`, which lie at `address`, and exception tables. Always succeeds; [`Self::verify`] says what there is.
    #[must_use]
    pub fn new(bytes: &'a [u8], address: u64, exceptions: ehabi::Tables<'a>) -> Self {
        Self {
            map: Map::parse(bytes, address),
            exceptions,
        }
    }

    /// The tables of an image that has none.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            map: Err(MapError::Empty),
            exceptions: ehabi::Tables::new(&[], 0, &[], 0, Range::new(0, 0)),
        }
    }

    /// As [`ehabi::Tables::outermost`]. Rows say it themselves.
    #[must_use]
    pub const fn outermost(mut self, code: &'a [Range]) -> Self {
        self.exceptions = self.exceptions.outermost(code);
        self
    }

    /// As [`Map::verify`] and [`ehabi::Tables::verify`].
    #[must_use]
    pub fn verify(&self) -> ArmVerified {
        self.verify_by(|map| map.verify())
    }

    /// Does the same as [`Self::verify`], and compares `code`, the kernel's code in memory at `address`, as
    /// [`ImageTables::verify_code`](crate::ImageTables::verify_code) does.
    #[must_use]
    pub fn verify_code(&self, code: &[u8], address: u64) -> ArmVerified {
        self.verify_by(|map| map.verify_code(code, address))
    }

    /// Does the same as [`ImageTables::checked_code`](crate::ImageTables::checked_code).
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

    /// The same with the result of [`Self::verify`]: a walk by damaged tables is never complete.
    #[must_use]
    pub fn verified(self, outcome: ArmVerified) -> Self {
        Self {
            map: self.map.map(|map| map.verified(outcome.map)),
            exceptions: self.exceptions.verified(outcome.exceptions),
        }
    }

    /// How far the map lies above the address that it was written for, modulo 2^64, if there is one: what the image was moved by.
    #[must_use]
    pub fn moved_by(&self) -> Option<u64> {
        Some(self.map.ok()?.moved_by())
    }

    /// Where all registers are that trap code has saved. A map's row counts them from what it interrupted, and names few; the exception
    /// tables name all, and hold wherever the map's row says that the frame is where they have it.
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

    /// The map, if it has a row for the address `pc`.
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
            // It was not linked with one, or this crate does not read it.
            Err(MapError::Empty | MapError::LeftOut) => None,
            Err(_) => Some(End::DamagedTables(Damage::Section(ParseError::Map))),
        };
        of_map.or_else(|| self.exceptions.doubt())
    }
}
