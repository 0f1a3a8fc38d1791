//! All sections of an image: one after another, as linkers that do not merge them leave them.

use crate::lookup::{Found, LookupError};
use crate::row::Row;
use crate::sframe::error::ParseError;
use crate::sframe::find::MAX_READ;
use crate::sframe::function::Function;
use crate::sframe::section::{Section, StartRule};
use crate::sframe::verify::{Damage, Verified};

/// The bytes between two linker symbols: a section, or several, or none.
///
/// GNU ld and `sframe-link` merge all into one; lld, gold and mold put them back to back, with zeros between and
/// after them.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// Parsed once: the common case is one section.
    pub(crate) first: Result<Section<'a>, ParseError>,
    rest: Sections<'a>,
    /// The damage that was found when the tables were verified.
    pub(crate) damage: Option<Damage>,
}

impl<'a> Tables<'a> {
    /// The tables in `bytes`, which lie at `address`. Always succeeds; [`Self::first`] says whether there are any.
    #[must_use]
    pub fn new(bytes: &'a [u8], address: u64) -> Self {
        Self::with(bytes, address, StartRule::FromFlags)
    }

    /// [`Self::new`], with the rule for start addresses given.
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

    /// The tables of an image that has none.
    #[must_use]
    pub const fn none() -> Self {
        Self::refused(ParseError::Empty)
    }

    /// Tables that cannot be used for this reason.
    pub(crate) const fn refused(error: ParseError) -> Self {
        Self {
            first: Err(error),
            rest: Sections::new(&[], 0),
            damage: None,
        }
    }

    /// Sets the result that [`Self::verify`] had for these bytes. Damaged tables are used as far as possible, but a walk by
    /// them never ends [`Complete`](crate::End::Complete), because a row with a wrong bit leads to a wrong caller. Without
    /// this, only damage that a look-up meets is noticed.
    #[must_use]
    pub const fn verified(mut self, outcome: Result<Verified, Damage>) -> Self {
        self.damage = match outcome {
            Ok(_) => None,
            Err(damage) => Some(damage),
        };
        self
    }

    /// The first section, or why there is none.
    ///
    /// # Errors
    /// See [`ParseError`].
    pub const fn first(&self) -> Result<Section<'a>, ParseError> {
        self.first
    }

    /// All sections; an error where one cannot be parsed, which is also the last, as its length is not known.
    pub fn sections(&self) -> impl Iterator<Item = Result<Section<'a>, ParseError>> + use<'a> {
        core::iter::once(self.first).chain(self.rest)
    }

    /// The row for the address `pc`, and its function, from the first section that has the function.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub fn lookup(&self, pc: u64) -> Result<(Function<'a>, Row), LookupError> {
        self.find(|section| section.lookup(pc))
    }

    /// Whether there are no bytes behind the first section.
    #[inline(always)]
    pub(crate) const fn has_one(&self) -> bool {
        self.rest.bytes.is_empty()
    }

    /// The result of the first section, or of the first of the others that has the function. Others are not asked then: rows are
    /// read of one function only. A first section that is too large to be searched hides no other, as refusing it reads nothing.
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

    /// As [`Self::lookup`], but finds only what a walk needs.
    #[inline(never)]
    pub(crate) fn look_up_in_all(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        self.find(|section| section.look_up(pc, found))
    }

    /// As [`Self::find`], without the first section, whose error it is if no other has the function.
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

    /// The function that contains the address `pc`.
    #[must_use]
    pub fn function_at(&self, pc: u64) -> Option<Function<'a>> {
        self.find(|section| section.function_at(pc).ok_or(LookupError::NoFunction))
            .ok()
    }
}

/// The greatest number of zeros before a section: linkers align sections to a page at most. More are the end.
const MAX_PADDING: usize = 1 << 12;

/// Iterator over concatenated sections.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'a> {
    bytes: &'a [u8],
    address: u64,
    starts: StartRule,
}

impl<'a> Sections<'a> {
    /// The sections in `bytes`, which lie at `address`.
    #[must_use]
    pub const fn new(bytes: &'a [u8], address: u64) -> Self {
        Self::with(bytes, address, StartRule::FromFlags)
    }

    /// [`Self::new`], with the rule for start addresses given.
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
