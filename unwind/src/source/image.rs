//! The tables of an image, in the format that its link chose.

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

/// The tables of an image: SFrame tables or, if the image was linked with `--sframe-load=map`, a rule map. A walk finds the same frames
/// with both.
///
/// The bytes are between the linker symbols `__sframe_start` and `__sframe_end`.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{ImageTables, Unwinder, sframe::{Damage, ParseError, Verified}};
///
/// // When a report begins: verify the tables once, and use the result in each walk.
/// let tables = ImageTables::new(&TABLE, 0x2000);
/// let outcome = tables.verify();
/// assert_eq!(outcome, Ok(Verified { checksum: true, code: false }));
/// let unwinder = Unwinder::new(tables.verified(outcome));
///
/// let nothing = ImageTables::new(&[], 0x2000).verify();
/// assert_eq!(nothing, Err(Damage::Section(ParseError::Empty)));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum ImageTables<'a> {
    /// SFrame tables, no tables, or a map that cannot be used.
    SFrame(Tables<'a>),
    /// A rule map.
    Map(Map<'a>),
}

impl<'a> ImageTables<'a> {
    /// Creates the tables from `bytes`, whose first byte is at `address`. Always succeeds; [`Self::verify`] returns an error if no table can
    /// be used.
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

    /// Returns the tables of an image without tables.
    #[must_use]
    pub const fn none() -> Self {
        Self::SFrame(Tables::none())
    }

    /// Verifies the tables: see [`Tables::verify`] and [`Map::verify`].
    ///
    /// # Errors
    /// Returns an error if there are no tables or they are damaged: the first damage.
    pub fn verify(&self) -> Result<Verified, Damage> {
        match self {
            Self::SFrame(tables) => tables.verify(),
            Self::Map(map) => map.verify(),
        }
    }

    /// Verifies the tables, and compares the kernel's code in memory with the code that was linked.
    ///
    /// `code` is the code in memory at `address`. It is compared with the checksums in the tables. Bytes without a checksum are not compared,
    /// and checksums of code outside of `code` are skipped.
    ///
    /// [`Verified::code`] is true if code was compared and no byte differs. It is false if the tables contain no such checksums, or if a
    /// range with a checksum is only partly in `code`.
    ///
    /// # Errors
    /// Returns an error if [`Self::verify`] does, and [`Damage::Code`] if the code in memory differs.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// use unwind::ImageTables;
    ///
    /// let verified = ImageTables::new(&TABLE, 0x2000).verify_code(&CODE, 0x1000)?;
    /// // These tables contain no checksums of code.
    /// assert!(verified.checksum && !verified.code);
    /// # Ok::<(), unwind::sframe::Damage>(())
    /// ```
    pub fn verify_code(&self, code: &[u8], address: u64) -> Result<Verified, Damage> {
        match self {
            Self::SFrame(tables) => tables.verify_code(code, address),
            Self::Map(map) => map.verify_code(code, address),
        }
    }

    /// Returns the ranges of code whose checksums the tables contain, in ascending order: all code that does not change after the link. Empty
    /// for tables without such checksums. If the tables are damaged, the ranges may be wrong.
    pub fn checked_code(&self) -> impl Iterator<Item = Range> + use<'a> {
        match self {
            Self::SFrame(tables) => {
                (tables.first()).map_or(CheckedCode::NONE, |section| section.checked_code())
            }
            Self::Map(map) => map.checked_code(),
        }
    }

    /// Sets the result of [`Self::verify`]: see [`Tables::verified`].
    #[must_use]
    pub const fn verified(self, outcome: Result<Verified, Damage>) -> Self {
        match self {
            Self::SFrame(tables) => Self::SFrame(tables.verified(outcome)),
            Self::Map(map) => Self::Map(map.verified(outcome)),
        }
    }

    /// Returns the distance in bytes by which the image was moved: the address of the tables minus the address in the tables, modulo 2^64.
    /// `None` if the tables do not contain their address.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// use unwind::ImageTables;
    ///
    /// // The image was linked for 0x2000, and a loader put it at 0x8_2000.
    /// assert_eq!(ImageTables::new(&TABLE, 0x8_2000).moved_by(), Some(0x8_0000));
    /// ```
    #[must_use]
    pub fn moved_by(&self) -> Option<u64> {
        match self {
            Self::SFrame(tables) => tables.first().ok()?.moved_by(),
            Self::Map(map) => Some(map.moved_by()),
        }
    }

    /// Returns the ranges of all functions, in the order of the first section or of the map.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// use unwind::{ImageTables, Range};
    ///
    /// let functions: Vec<Range> = ImageTables::new(&TABLE, 0x2000).functions().collect();
    /// assert_eq!(functions, [Range::new(0x1000, 0x1010), Range::new(0x1010, 0x1030)]);
    /// ```
    pub fn functions(&self) -> impl Iterator<Item = Range> + use<'a> {
        match self {
            Self::SFrame(tables) => (tables.first()).map_or(Functions::None, |section| {
                Functions::SFrame(section.functions())
            }),
            Self::Map(map) => Functions::Map(map.functions()),
        }
    }
}

/// Iterator over the ranges of the functions of both formats. A chain of both would keep the code of a reader that is left out.
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
