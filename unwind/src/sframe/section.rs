//! One SFrame section, whose header is checked once.

use crate::bytes::{ByteOrder, Bytes};
use crate::code_checksums::CheckedCode;
use crate::readers::{self, Reader as _};
use crate::row::Rule;
use crate::sframe::abi::Abi;
use crate::sframe::error::ParseError;
use crate::sframe::format::{self, Flags};
use crate::sframe::tail::{self, Unproven};
use crate::stack_pointers;

/// The base of the start addresses of functions. The header's flags determine it, except in files that GNU ld up to 2.44 wrote with `-r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StartRule {
    /// The base that the flags determine. With [`Flags::START_PC_RELATIVE`], the field. Otherwise with [`Flags::SORTED`], the section,
    /// because GNU ld wrote it. Otherwise the field, because a relocation was resolved in place.
    #[default]
    FromFlags,
    /// The address of the field that contains the start address.
    Field,
    /// The address of the section's first byte.
    Section,
}

/// An SFrame section, borrowed from its bytes. For walks, use [`Tables`](super::Tables).
///
/// Parsing checks the header, and that all functions and rows are inside the section. After that, every look-up accepts any bytes.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::sframe::{Abi, Section};
///
/// let section = Section::parse(&TABLE, 0x2000)?;
/// assert_eq!((section.version(), section.abi()), (3, Abi::Amd64));
/// for function in section.functions() {
///     println!("{:#x}: {} bytes, {} rows", function.start(), function.size(), function.row_count());
/// }
/// assert_eq!((section.function_count(), section.row_count()), (2, 3));
/// # Ok::<(), unwind::sframe::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    pub(super) functions: Bytes<'a>,
    pub(super) rows: Bytes<'a>,
    pub(super) address: u64,
    /// Offset of the functions from the start of the section.
    pub(super) functions_offset: usize,
    pub(super) count: u32,
    row_count: u32,
    /// The whole section, from the header to the end of the last part.
    pub(super) data: &'a [u8],
    /// The unproven ranges; `None` if the section contains no proof.
    pub(super) unproven: Option<Unproven<'a>>,
    pub(super) version: u8,
    pub(super) flags: Flags,
    pub(super) field_relative: bool,
    /// Whether the section has the form for which `usual.rs` has a fast look-up.
    pub(super) usual: bool,
    pub(super) abi: Abi,
    pub(super) fixed_fp: i8,
    pub(super) fixed_ra: i8,
    _reader: readers::SFrame,
}

impl<'a> Section<'a> {
    /// Parses the section at the beginning of `bytes`. `address` is the address of the first byte in memory, now or after loading. Bytes after
    /// the section's end are ignored: see [`Self::length`].
    ///
    /// # Errors
    /// Returns an error if the header cannot be used, or if a part ends outside of `bytes`: see [`ParseError`].
    ///
    /// ```
    /// use unwind::sframe::{ParseError, Section};
    ///
    /// let error = Section::parse(&[0x7f, b'E', b'L', b'F'], 0).expect_err("not an SFrame section");
    /// assert_eq!(error, ParseError::BadMagic { found: 0x457f });
    /// ```
    pub fn parse(bytes: &'a [u8], address: u64) -> Result<Self, ParseError> {
        Self::parse_with(bytes, address, StartRule::FromFlags)
    }

    /// Parses a section as [`Self::parse`] does, with a given base of start addresses.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Self::parse`].
    pub fn parse_with(data: &'a [u8], address: u64, starts: StartRule) -> Result<Self, ParseError> {
        if data.is_empty() {
            return Err(ParseError::Empty);
        }
        let reader = readers::SFrame::THERE.ok_or(ParseError::LeftOut)?;
        let short = ParseError::Short { length: data.len() };
        let little = Bytes::new(data, ByteOrder::Little);
        let magic = little.u16(0).ok_or(short)?;
        let order = if magic == format::MAGIC {
            ByteOrder::Little
        } else if magic == format::MAGIC.swap_bytes() {
            ByteOrder::Big
        } else {
            return Err(ParseError::BadMagic { found: magic });
        };
        let bytes = Bytes::new(data, order);
        let version = bytes.u8(2).ok_or(short)?;
        if !(1..=3).contains(&version) {
            return Err(ParseError::UnknownVersion(version));
        }
        if version == 1 && is_draft(bytes) {
            return Err(ParseError::DraftVersion1);
        }
        let header: &[u8; format::HEADER_SIZE] = data.first_chunk().ok_or(short)?;
        let known = match version {
            3 => Flags::SORTED.union(Flags::START_PC_RELATIVE),
            _ => Flags::all(),
        };
        let [_, _, _, flag_bits, abi, fixed_fp, fixed_ra, auxiliary, ..] = *header;
        let flags = Flags::from_bits(flag_bits)
            .filter(|flags| known.contains(*flags))
            .ok_or(ParseError::UnknownFlags(flag_bits))?;
        let abi = Abi::from_header(abi).ok_or(ParseError::UnknownAbi(abi))?;
        let count = bytes.u32(8).ok_or(short)?;
        let row_count = bytes.u32(12).ok_or(short)?;
        let rows_length = bytes.u32(16).ok_or(short)?;
        let functions_at = bytes.u32(20).ok_or(short)?;
        let rows_at = bytes.u32(24).ok_or(short)?;

        let base = format::HEADER_SIZE.saturating_add(usize::from(auxiliary));
        if base > data.len() {
            return Err(ParseError::AuxiliaryHeader { length: auxiliary });
        }
        let functions_length = u64::from(count).saturating_mul(function_size(version) as u64);
        let (functions_offset, functions) = part(data, base, functions_at, functions_length)
            .map_err(|end| ParseError::Functions { end })?;
        let functions_end = functions_offset.saturating_add(functions.len());
        let (rows_offset, rows) = part(data, base, rows_at, u64::from(rows_length))
            .map_err(|end| ParseError::Rows { end })?;
        let length = base
            .max(functions_end)
            .max(rows_offset.saturating_add(rows.len()));
        let field_relative = match starts {
            StartRule::FromFlags => {
                flags.contains(Flags::START_PC_RELATIVE) || !flags.contains(Flags::SORTED)
            }
            StartRule::Field => true,
            StartRule::Section => false,
        };
        let data = data.get(..length).unwrap_or(data);
        Ok(Self {
            functions: Bytes::new(functions, order),
            rows: Bytes::new(rows, order),
            address,
            functions_offset,
            count,
            row_count,
            data,
            unproven: tail::unproven(data),
            version,
            flags,
            field_relative,
            usual: version == 3
                && order == ByteOrder::Little
                && field_relative
                && flags.contains(Flags::SORTED),
            abi,
            fixed_fp: fixed_fp.cast_signed(),
            fixed_ra: fixed_ra.cast_signed(),
            _reader: reader,
        })
    }

    /// Returns the version of the format: 1, 2 or 3. Version 2 errata 1 is 2 with [`Flags::START_PC_RELATIVE`].
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// Returns the header's flags.
    #[must_use]
    pub const fn flags(&self) -> Flags {
        self.flags
    }

    /// Returns the header's ABI.
    #[must_use]
    pub const fn abi(&self) -> Abi {
        self.abi
    }

    /// Returns the byte order of the section's own numbers.
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        self.functions.order
    }

    /// Returns the fixed offset of the saved frame pointer from the CFA in bytes; 0 if rows contain the offset.
    #[must_use]
    pub const fn fixed_frame_pointer_offset(&self) -> i8 {
        self.fixed_fp
    }

    /// Returns the fixed offset of the return address from the CFA in bytes; 0 if rows contain the offset.
    #[must_use]
    pub const fn fixed_return_address_offset(&self) -> i8 {
        self.fixed_ra
    }

    /// Returns the number of functions.
    #[must_use]
    pub const fn function_count(&self) -> u32 {
        self.count
    }

    /// Returns the number of rows in the header. No look-up uses this number. If functions share rows, `sframe-link` counts these rows once.
    #[must_use]
    pub const fn row_count(&self) -> u32 {
        self.row_count
    }

    /// Returns the distance in bytes by which the image was moved: the address of the section minus the address for which it was linked, modulo
    /// 2^64. `None` if the section does not contain that address: only `sframe-link` writes it.
    #[must_use]
    pub fn moved_by(&self) -> Option<u64> {
        let (linked, _) = tail::linked(self.data)?;
        Some(self.address.wrapping_sub(linked))
    }

    /// Returns the number of ranges of code whose rows are unproven; `None` if the section contains no proof. See [`format::PROOF_MAGIC`].
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// # use unwind::sframe::Section;
    /// // `sframe-link` proved all rows.
    /// assert_eq!(Section::parse(&TABLE, 0x2000)?.unproven_count(), Some(0));
    /// # Ok::<(), unwind::sframe::ParseError>(())
    /// ```
    #[must_use]
    pub fn unproven_count(&self) -> Option<usize> {
        self.unproven.map(<[_]>::len)
    }

    /// Returns the rule for the interrupted link register in trap code at the address `pc`: a word relative to the stack pointer, or the
    /// register itself. `None` if the section does not list `pc`. See [`format::LINK_MAGIC`].
    #[must_use]
    pub fn interrupted_link(&self, pc: u64) -> Option<Rule> {
        tail::interrupted_link(self.data, self.address, pc)
    }

    /// Returns the size of the list of interrupted link registers in bytes; 0 if the section contains none. See [`format::LINK_MAGIC`].
    #[must_use]
    pub fn interrupted_links_size(&self) -> usize {
        tail::links_size(self.data)
    }

    /// Returns the stack pointer before the instruction at the address `pc` in code without a caller, if the code loaded a constant into the
    /// stack pointer. `None` if the section does not list `pc`. See [`format::STACK_POINTER_MAGIC`].
    #[must_use]
    pub fn stack_pointer(&self, pc: u64) -> Option<u64> {
        let list = tail::stack_pointers(self.data);
        stack_pointers::find(list, self.functions.order, self.address, pc)
    }

    /// Returns the size of the list of stack pointers in bytes; 0 if the section contains none. See [`format::STACK_POINTER_MAGIC`].
    #[must_use]
    pub fn stack_pointers_size(&self) -> usize {
        match tail::stack_pointers(self.data).len() {
            0 => 0,
            count => (count.saturating_mul(format::STACK_POINTER_SIZE))
                .saturating_add(format::STACK_POINTERS_SIZE),
        }
    }

    /// Returns the size of the list of code checksums in bytes; 0 if the section contains none. See [`format::CODE_MAGIC`].
    #[must_use]
    pub fn code_checksums_size(&self) -> usize {
        match tail::code_checksums(self.data).len() {
            0 => 0,
            count => (count.saturating_mul(format::CODE_CHECKSUM_SIZE))
                .saturating_add(format::CODE_CHECKSUMS_SIZE),
        }
    }

    /// Returns the ranges of code whose checksums the section contains.
    pub(crate) fn checked_code(&self) -> CheckedCode<'a> {
        let list = tail::code_checksums(self.data);
        CheckedCode::new(list, self.functions.order, self.address)
    }

    /// Returns the size of the section in bytes, from the header to the end of the last part. An appended section may start after it.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.data.len()
    }

    /// Returns the address of the section's first byte.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }
}

/// Returns the size of a function's entry in bytes.
pub(super) const fn function_size(version: u8) -> usize {
    match version {
        1 => format::FUNCTION_SIZE_V1,
        2 => format::FUNCTION_SIZE_V2,
        _ => format::FUNCTION_SIZE_V3,
    }
}

/// Returns the part that starts `offset` bytes after `base`: its offset and its bytes. The error is the offset at which it would end.
fn part(data: &[u8], base: usize, offset: u32, length: u64) -> Result<(usize, &[u8]), u64> {
    let start = (base as u64).saturating_add(u64::from(offset));
    let end = start.saturating_add(length);
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range
        .and_then(|(start, end)| Some((start, data.get(start..end)?)))
        .ok_or(end)
}

/// Checks whether the bytes have the layout of version 1's first posted patch, and not also the released layout.
fn is_draft(bytes: Bytes<'_>) -> bool {
    // Number of functions, length of the rows, offsets of functions and rows; the draft has no auxiliary header
    // and its 27 bytes end right where the functions start.
    let agrees = |base: usize, auxiliary: usize| {
        let field = |index: usize| bytes.u32(base.wrapping_add(index.wrapping_mul(4)));
        let (Some(count), Some(length), Some(functions), Some(rows)) =
            (field(0), field(2), field(3), field(4))
        else {
            return false;
        };
        let functions_end = u64::from(functions)
            .saturating_add(u64::from(count).saturating_mul(format::FUNCTION_SIZE_V1 as u64));
        let end = (base as u64)
            .saturating_add(20)
            .saturating_add(auxiliary as u64)
            .saturating_add(u64::from(rows))
            .saturating_add(u64::from(length));
        functions_end == u64::from(rows) && end <= bytes.data.len() as u64
    };
    let auxiliary = usize::from(bytes.u8(7).unwrap_or(0));
    agrees(7, 0) && !agrees(8, auxiliary)
}
