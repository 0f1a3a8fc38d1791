//! All SFrame sections of an image. Linkers that do not merge sections leave them one after another.

use crate::lookup::{Found, LookupError};
use crate::row::Row;
use crate::sframe::error::ParseError;
use crate::sframe::find::MAX_READ;
use crate::sframe::function::Function;
use crate::sframe::section::{Section, StartRule};
use crate::sframe::verify::{Damage, Verified};

/// The SFrame tables of an image: the bytes between two linker symbols, which contain one section, several, or none.
///
/// GNU ld and `sframe-link` merge all sections into one. Lld, gold and mold concatenate them, with zeros between and after them. For an image
/// that may have a rule map instead, use [`ImageTables`](crate::ImageTables).
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{Base, Rule, sframe::Tables};
///
/// let tables = Tables::new(&TABLE, 0x2000);
/// let (function, row) = tables.lookup(0x1018)?;
/// assert_eq!((function.start(), function.size()), (0x1010, 32));
/// assert_eq!(row.cfa, Rule::Value { base: Base::StackPointer, offset: 16 });
/// # Ok::<(), unwind::LookupError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// Parsed once: the common case is one section.
    pub(crate) first: Result<Section<'a>, ParseError>,
    rest: Sections<'a>,
    /// The damage that was found when the tables were verified.
    pub(crate) damage: Option<Damage>,
}

impl<'a> Tables<'a> {
    /// Creates the tables from `bytes`, whose first byte is at `address`. Always succeeds; [`Self::first`] returns an error if there is no
    /// usable section.
    #[must_use]
    pub fn new(bytes: &'a [u8], address: u64) -> Self {
        Self::with(bytes, address, StartRule::FromFlags)
    }

    /// Creates the tables as [`Self::new`] does, with a given base of start addresses.
    #[must_use]
    pub fn with(bytes: &'a [u8], address: u64, starts: StartRule) -> Self {
        let mut rest = Sections::with(bytes, address, starts);
        let first = rest.next().unwrap_or(Err(ParseError::Empty));
        Self {
            first,
            rest,
            damage: None,
        }
    }

    /// Returns the tables of an image without tables.
    #[must_use]
    pub const fn none() -> Self {
        Self::refused(ParseError::Empty)
    }

    /// Returns tables that cannot be used for this reason.
    pub(crate) const fn refused(error: ParseError) -> Self {
        Self {
            first: Err(error),
            rest: Sections::new(&[], 0),
            damage: None,
        }
    }

    /// Sets the result of [`Self::verify`] for these bytes.
    ///
    /// A walk uses damaged tables as far as possible, but never ends with [`Complete`](crate::End::Complete), because a row with a wrong bit
    /// leads to a wrong caller. Without this call, a walk notices only damage that a look-up reads.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// use unwind::{Code, End, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    ///
    /// let mut damaged = TABLE;
    /// damaged[106] ^= 1;
    /// let tables = Tables::new(&damaged, 0x2000);
    /// let tables = tables.verified(tables.verify());
    /// let code = [Code::new(&CODE, 0x1000)];
    /// let unwinder = Unwinder::new(tables).code(&code);
    /// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
    /// assert_eq!(frames.by_ref().count(), 2);
    /// assert_eq!(frames.end(), Some(End::Outermost));
    /// assert!(matches!(frames.doubt().map(|doubt| doubt.reason), Some(End::DamagedTables(_))));
    /// ```
    #[must_use]
    pub const fn verified(mut self, outcome: Result<Verified, Damage>) -> Self {
        self.damage = match outcome {
            Ok(_) => None,
            Err(damage) => Some(damage),
        };
        self
    }

    /// Returns the first section.
    ///
    /// # Errors
    /// Returns an error if there is no section, or if the first section cannot be parsed: see [`ParseError`].
    pub const fn first(&self) -> Result<Section<'a>, ParseError> {
        self.first
    }

    /// Returns all sections. If a section cannot be parsed, its error is the last item, because its length is not known.
    pub fn sections(&self) -> impl Iterator<Item = Result<Section<'a>, ParseError>> + use<'a> {
        core::iter::once(self.first).chain(self.rest)
    }

    /// Returns the row for the address `pc` and its function, from the first section that contains the function.
    ///
    /// # Errors
    /// Returns an error if no usable row exists for `pc`: see [`LookupError`].
    pub fn lookup(&self, pc: u64) -> Result<(Function<'a>, Row), LookupError> {
        self.find(|section| section.lookup(pc))
    }

    /// Checks whether there are no bytes after the first section.
    #[inline(always)]
    pub(crate) const fn has_one(&self) -> bool {
        self.rest.bytes.is_empty()
    }

    /// Returns the result of the first section that contains the function. Later sections are not searched: rows are read from one function
    /// only. If the first section is too large to be searched, the others are searched, because nothing was read yet.
    #[inline(always)]
    pub(crate) fn find<T>(
        &self,
        mut look_up: impl FnMut(&Section<'a>) -> Result<T, LookupError>,
    ) -> Result<T, LookupError> {
        let Ok(first) = &self.first else {
            return Err(LookupError::NoFunction);
        };
        match look_up(first) {
            Err(error) if !self.has_one() && first.lacks(error) => {
                let mut found = None;
                self.find_in_rest(error, &mut |section| {
                    found = Some(look_up(section)?);
                    Ok(())
                })?;
                found.ok_or(error)
            }
            found => found,
        }
    }

    /// Does what [`Self::lookup`] does, but finds only what a walk needs.
    #[inline(never)]
    pub(crate) fn look_up_in_all(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        self.find(|section| section.look_up(pc, found))
    }

    /// Does what [`Self::find`] does, without the first section. `error` is the result if no section contains the function.
    #[inline(never)]
    fn find_in_rest(
        &self,
        error: LookupError,
        look_up: &mut dyn FnMut(&Section<'a>) -> Result<(), LookupError>,
    ) -> Result<(), LookupError> {
        let mut rest = self.rest;
        let mut left = MAX_READ;
        while let Some(Ok(section)) = &rest.next() {
            let Some(fewer) = left.checked_sub(section.cost()) else {
                return Err(LookupError::TooLarge);
            };
            left = fewer;
            match look_up(section) {
                Err(LookupError::NoFunction) => {}
                found => return found,
            }
        }
        Err(error)
    }

    /// Returns the function that contains the address `pc`.
    #[must_use]
    pub fn function_at(&self, pc: u64) -> Option<Function<'a>> {
        self.find(|section| section.function_at(pc).ok_or(LookupError::NoFunction))
            .ok()
    }
}

/// The maximum number of zeros before a section. Linkers align sections to a page at most, so more zeros are the end.
const MAX_PADDING: usize = 1 << 12;

/// Iterator over concatenated sections.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'a> {
    bytes: &'a [u8],
    address: u64,
    starts: StartRule,
}

impl<'a> Sections<'a> {
    /// Creates an iterator over the sections in `bytes`, whose first byte is at `address`.
    #[must_use]
    pub const fn new(bytes: &'a [u8], address: u64) -> Self {
        Self::with(bytes, address, StartRule::FromFlags)
    }

    /// Creates an iterator as [`Self::new`] does, with a given base of start addresses.
    #[must_use]
    pub const fn with(bytes: &'a [u8], address: u64, starts: StartRule) -> Self {
        Self {
            bytes,
            address,
            starts,
        }
    }

    /// Skips `length` bytes, at most to the end.
    fn skip(&mut self, length: usize) {
        self.bytes = self.bytes.get(length..).unwrap_or(&[]);
        self.address = self.address.wrapping_add(length as u64);
    }
}

impl<'a> Iterator for Sections<'a> {
    type Item = Result<Section<'a>, ParseError>;

    // Not inlined: what parsing needs of the stack is then free again when the section is searched.
    #[inline(never)]
    fn next(&mut self) -> Option<Self::Item> {
        // Padding: zeros up to the next header. The magic number has no zero byte in either order.
        let near = self.bytes.get(..MAX_PADDING).unwrap_or(self.bytes);
        let padding = near.iter().position(|&byte| byte != 0)?;
        self.skip(padding);
        let section = Section::parse_with(self.bytes, self.address, self.starts);
        self.skip(section.map_or(usize::MAX, |section| section.length()));
        Some(section)
    }
}
