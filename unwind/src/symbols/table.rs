//! The symbol table, read in place.

use core::fmt;

use crate::bytes::{ByteOrder, Bytes};
use crate::symbols::crc32::crc32;
use crate::symbols::format;
use crate::text;

/// Why bytes are not a symbol table that can be used. Offsets are bytes from the start of the blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SymbolsError {
    /// There are no bytes: the image was linked without symbols.
    Empty,
    /// The magic number is missing.
    BadMagic,
    /// A version that this reader does not know.
    UnknownVersion(u16),
    /// A part, or the blob itself, does not fit into the bytes; the offset of the field that says so.
    DoesNotFit(usize),
    /// The checksum is another than that of the bytes.
    BadChecksum {
        /// What the blob says.
        stored: u32,
        /// What its bytes give.
        computed: u32,
    },
}

impl fmt::Display for SymbolsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl SymbolsError {
    /// The text of [`Display`](fmt::Display), for a writer that is no formatter.
    pub(crate) fn write(&self, f: &mut (impl fmt::Write + ?Sized)) -> fmt::Result {
        match *self {
            Self::Empty => f.write_str("empty"),
            Self::BadMagic => f.write_str("bad magic at offset 0"),
            Self::UnknownVersion(version) => {
                f.write_str("unknown version ")?;
                text::decimal(f, u64::from(version))?;
                f.write_str(" at offset 8")
            }
            Self::DoesNotFit(offset) => {
                f.write_str("does not fit, says the field at offset ")?;
                text::decimal(f, offset as u64)
            }
            Self::BadChecksum { stored, computed } => {
                f.write_str("checksum ")?;
                text::hex(f, u64::from(stored), 8)?;
                f.write_str(" at offset 16, bytes give ")?;
                text::hex(f, u64::from(computed), 8)
            }
        }
    }
}

impl core::error::Error for SymbolsError {}

/// A function's name and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Symbol<'a> {
    /// The name, demangled.
    pub name: &'a str,
    /// Address of the first instruction.
    pub start: u64,
    /// Bytes of code.
    pub size: u32,
}

/// A `.symbols` blob, borrowed: see [`format`](super::format). Parsing checks it once, checksum included; after that
/// every look-up is total.
#[derive(Clone, Copy, Debug)]
pub struct SymbolTable<'a> {
    build_id: &'a [u8],
    /// The address that function starts count from.
    base: u64,
    functions: Bytes<'a>,
    names: Bytes<'a>,
}

impl<'a> SymbolTable<'a> {
    /// Parses the blob in `bytes`, which lie at `address`. Bytes after its end are left alone.
    ///
    /// # Errors
    /// See [`SymbolsError`].
    pub fn parse(bytes: &'a [u8], address: u64) -> Result<Self, SymbolsError> {
        if bytes.is_empty() {
            return Err(SymbolsError::Empty);
        }
        if !bytes.starts_with(&format::MAGIC) {
            return Err(SymbolsError::BadMagic);
        }
        let whole = Bytes::new(bytes, ByteOrder::Little);
        let u32_at = |at: usize| whole.u32(at).ok_or(SymbolsError::DoesNotFit(at));
        let major = whole.u16(8).ok_or(SymbolsError::DoesNotFit(8))?;
        if major != format::MAJOR {
            return Err(SymbolsError::UnknownVersion(major));
        }
        let part = |start: u32, length: u32| {
            let start = usize::try_from(start).ok()?;
            let end = start.checked_add(usize::try_from(length).ok()?)?;
            bytes.get(start..end)
        };
        let blob = part(0, u32_at(12)?).ok_or(SymbolsError::DoesNotFit(12))?;
        let stored = u32_at(16)?;
        let computed = crc32(blob.get(format::CRC_FROM..).unwrap_or(&[]));
        if stored != computed {
            return Err(SymbolsError::BadChecksum { stored, computed });
        }

        let mut functions: &[u8] = &[];
        let mut names: &[u8] = &[];
        let mut at = format::HEADER_SIZE;
        for _ in 0..u32_at(20)? {
            let tag = u32_at(at)?;
            let part = part(u32_at(at.wrapping_add(4))?, u32_at(at.wrapping_add(8))?)
                .ok_or(SymbolsError::DoesNotFit(at))?;
            match tag {
                format::TAG_FUNCTIONS => functions = part,
                format::TAG_NAMES => names = part,
                _ => {}
            }
            at = at
                .checked_add(format::ENTRY_SIZE)
                .ok_or(SymbolsError::DoesNotFit(at))?;
        }
        let base = whole.u64(24).ok_or(SymbolsError::DoesNotFit(24))?;
        let build_id_length = usize::from(whole.u8(32).unwrap_or(0)).min(format::BUILD_ID_MAX);
        let build_id = bytes.get(33..33_usize.wrapping_add(build_id_length));
        Ok(Self {
            build_id: build_id.ok_or(SymbolsError::DoesNotFit(32))?,
            base: address.wrapping_add(base),
            functions: Bytes::new(functions, ByteOrder::Little),
            names: Bytes::new(names, ByteOrder::Little),
        })
    }

    /// The build id of the image the table was made for; empty when it has none.
    #[must_use]
    pub const fn build_id(&self) -> &'a [u8] {
        self.build_id
    }

    /// How many functions have a name.
    #[must_use]
    pub const fn function_count(&self) -> usize {
        self.functions.data.len() / format::FUNCTION_SIZE
    }

    /// The function that contains the address `pc`. Pass [`Frame::lookup_pc`](crate::Frame::lookup_pc).
    #[must_use]
    pub fn function_at(&self, pc: u64) -> Option<Symbol<'a>> {
        let offset = u32::try_from(pc.checked_sub(self.base)?).ok()?;
        // The last function that starts at or before the offset.
        let mut low = 0;
        let mut high = self.function_count();
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.field(middle, 0)? <= offset {
                low = middle.wrapping_add(1);
            } else {
                high = middle;
            }
        }
        let index = low.checked_sub(1)?;
        let start = self.field(index, 0)?;
        let size = self.field(index, 4)?;
        if offset.wrapping_sub(start) >= size {
            return None;
        }
        Some(Symbol {
            name: self.name(self.field(index, 8)?)?,
            start: self.base.wrapping_add(u64::from(start)),
            size,
        })
    }

    /// A field of a function's entry, by its offset in the entry.
    fn field(&self, index: usize, offset: usize) -> Option<u32> {
        let entry = index.checked_mul(format::FUNCTION_SIZE)?;
        self.functions.u32(entry.checked_add(offset)?)
    }

    fn name(&self, offset: u32) -> Option<&'a str> {
        let at = usize::try_from(offset).ok()?;
        let length = usize::from(self.names.u16(at)?);
        let start = at.checked_add(2)?;
        let bytes = self.names.data.get(start..start.checked_add(length)?)?;
        core::str::from_utf8(bytes).ok()
    }
}
