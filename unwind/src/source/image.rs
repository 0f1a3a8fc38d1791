//! The tables of an image, of the format that its link has chosen.

use super::RowSource;
use crate::code_checksums::CheckedCode;
use crate::lookup::{Found, LookupError};
use crate::map::{self, Map, MapError};
use crate::memory::Range;
use crate::registers::Machine;
use crate::restored::Restored;
use crate::row::Rule;
use crate::sframe::{self, Damage, ParseError, Tables, Verified};
use crate::verdict::End;

/// The bytes between the linker script's symbols `__sframe_start` and `__sframe_end`: SFrame's tables or, if the image was linked
/// so (`--sframe-load=map`), a rule map. A walk gives the same frames by both.
#[derive(Clone, Copy, Debug)]
pub enum ImageTables<'a> {
    /// SFrame's tables, or none, or a map that cannot be used.
    SFrame(Tables<'a>),
    /// A rule map.
    Map(Map<'a>),
}

impl<'a> ImageTables<'a> {
    /// The tables in `bytes`, which lie at `address`. Always succeeds; [`Self::verify`] says whether there are any.
    #[must_use]
    pub fn new(bytes: &'a [u8], address: u64) -> Self {
        if !Map::is_one(bytes) {
            return Self::SFrame(Tables::new(bytes, address));
        }
        match Map::parse(bytes, address) {
            Ok(map) => Self::Map(map),
            Err(MapError::LeftOut) => Self::SFrame(Tables::refused(ParseError::LeftOut)),
            Err(_) => Self::SFrame(Tables::refused(ParseError::Map)),
        }
    }

    /// The tables of an image that has none.
    #[must_use]
    pub const fn none() -> Self {
        Self::SFrame(Tables::none())
    }

    /// As [`Tables::verify`] and [`Map::verify`].
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn verify(&self) -> Result<Verified, Damage> {
        match self {
            Self::SFrame(tables) => tables.verify(),
            Self::Map(map) => map.verify(),
        }
    }

    /// Does the same as [`Self::verify`], and compares `code`, the kernel's code in memory at `address`, with the checksums that the link wrote.
    /// Bytes of it without a checksum are not compared; checksums of code outside of it are passed over.
    ///
    /// [`Verified::code`] is true if code was compared and none differs. It stays false for tables without such checksums, or if
    /// a range is in `code` in part only.
    ///
    /// # Errors
    /// The first thing that is wrong; [`Damage::Code`] if it is the code.
    pub fn verify_code(&self, code: &[u8], address: u64) -> Result<Verified, Damage> {
        match self {
            Self::SFrame(tables) => tables.verify_code(code, address),
            Self::Map(map) => map.verify_code(code, address),
        }
    }

    /// Returns the ranges of code whose checksums the tables contain, in ascending order: all code that stays as it was linked. None for tables
    /// without such checksums. If the tables are damaged, the ranges may be wrong.
    pub fn checked_code(&self) -> impl Iterator<Item = Range> + use<'a> {
        match self {
            Self::SFrame(tables) => {
                (tables.first()).map_or(CheckedCode::NONE, |section| section.checked_code())
            }
            Self::Map(map) => map.checked_code(),
        }
    }

    /// As [`Tables::verified`].
    #[must_use]
    pub const fn verified(self, outcome: Result<Verified, Damage>) -> Self {
        match self {
            Self::SFrame(tables) => Self::SFrame(tables.verified(outcome)),
            Self::Map(map) => Self::Map(map.verified(outcome)),
        }
    }

    /// How far the tables lie above the address that they were written for, modulo 2^64, if they tell: what the image was moved by.
    #[must_use]
    pub fn moved_by(&self) -> Option<u64> {
        match self {
            Self::SFrame(tables) => tables.first().ok()?.moved_by(),
            Self::Map(map) => Some(map.moved_by()),
        }
    }

    /// The ranges of all functions, in the order of the first section or of the map.
    pub fn functions(&self) -> impl Iterator<Item = Range> + use<'a> {
        match self {
            Self::SFrame(tables) => (tables.first()).map_or(Functions::None, |section| {
                Functions::SFrame(section.functions())
            }),
            Self::Map(map) => Functions::Map(map.functions()),
        }
    }
}

/// Iterator over the ranges of the functions of either. A chain of both would keep the code of a reader that is left out.
enum Functions<'a> {
    None,
    SFrame(sframe::Functions<'a>),
    Map(map::Functions<'a>),
}

impl Iterator for Functions<'_> {
    type Item = Range;

    fn next(&mut self) -> Option<Range> {
        match self {
            Self::None => None,
            Self::SFrame(functions) => Some(functions.next()?.range()),
            Self::Map(functions) => functions.next(),
        }
    }
}

impl RowSource for ImageTables<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        match self {
            Self::SFrame(tables) => tables.describes(machine),
            Self::Map(map) => map.describes(machine),
        }
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        match self {
            Self::SFrame(tables) => tables.look_up(pc, found),
            Self::Map(map) => RowSource::look_up(map, pc, found),
        }
    }

    fn function(&self, pc: u64) -> Option<Range> {
        match self {
            Self::SFrame(tables) => tables.function(pc),
            Self::Map(map) => RowSource::function(map, pc),
        }
    }

    #[inline]
    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        match self {
            Self::SFrame(tables) => tables.is_one_function(found, other),
            Self::Map(map) => RowSource::is_one_function(map, found, other),
        }
    }

    fn restored(&self, pc: u64, restored: &mut Restored) {
        match self {
            Self::SFrame(_) => {}
            Self::Map(map) => map.restored(pc, restored),
        }
    }

    fn interrupted_link(&self, pc: u64) -> Option<Rule> {
        match self {
            Self::SFrame(tables) => tables.interrupted_link(pc),
            Self::Map(_) => None,
        }
    }

    fn stack_pointer(&self, pc: u64) -> Option<u64> {
        match self {
            Self::SFrame(tables) => tables.stack_pointer(pc),
            Self::Map(map) => map.stack_pointer(pc),
        }
    }

    fn covers(&self, pc: u64) -> bool {
        match self {
            Self::SFrame(tables) => tables.covers(pc),
            Self::Map(map) => map.covers(pc),
        }
    }

    fn doubt(&self) -> Option<End> {
        match self {
            Self::SFrame(tables) => tables.doubt(),
            Self::Map(map) => map.doubt(),
        }
    }
}
