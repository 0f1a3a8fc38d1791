//! A map: its header, which is checked once, and its parts.

use crate::bytes::{ByteOrder, Bytes};
use crate::code_checksums::{self, CheckedCode, CodeChecksums, compare};
use crate::crc32::crc32;
use crate::lookup::Proof;
use crate::map::error::MapError;
use crate::map::find::Region;
use crate::map::format;
use crate::readers::{self, Reader as _};
use crate::registers::Machine;
use crate::row::Kept;
use crate::sframe::{Abi, Damage, Verified};
use crate::stack_pointers::{self, StackPointers};

/// A rule map, borrowed from its bytes. For an image that may have SFrame tables instead, use [`ImageTables`](crate::ImageTables).
///
/// Parsing checks the header, and that all parts are inside the map. After that, every look-up accepts any bytes. A wrong bit can lead to a
/// wrong rule, and only [`Self::verify`] notices it.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{Code, End, Stacks, Unwinder, map::Map, x86_64::Registers};
///
/// let map = Map::parse(&MAP, 0x2000)?;
/// let map = map.verified(map.verify());
/// let code = [Code::new(&CODE, 0x1000)];
/// let unwinder = Unwinder::new(map).code(&code);
/// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
/// assert_eq!(frames.by_ref().count(), 2);
/// assert_eq!(frames.end(), Some(End::Complete));
/// # Ok::<(), unwind::map::MapError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Map<'a> {
    /// The start of the first region, and its pages, if this machine can read their numbers as they are and words have 8 bytes: nearly all
    /// images have only one region.
    pub(super) quick_start: u64,
    pub(super) quick_pages: &'a [[u8; format::PAGE_SIZE]],
    pub(super) quick_blocks: &'a [[u8; format::BLOCKS_SIZE]],
    pub(super) regions: &'a [[u8; format::REGION_SIZE]],
    pub(super) rules: &'a [[u8; format::RULE_SIZE]],
    pub(super) long_rules: &'a [[u8; format::LONG_RULE_SIZE]],
    pub(super) exceptions: &'a [[u8; format::EXCEPTION_SIZE]],
    pub(super) pages: &'a [[u8; format::PAGE_SIZE]],
    /// For each page, the number of its changes before each block, and the number of all its changes.
    pub(super) blocks: &'a [[u8; format::BLOCKS_SIZE]],
    pub(super) changes: &'a [[u8; format::CHANGE_SIZE]],
    /// The whole map, from the header to the checksum.
    data: &'a [u8],
    pub(super) address: u64,
    linked: u64,
    pub(super) order: ByteOrder,
    /// The ABI; `None` for 32-bit ARM.
    abi: Option<Abi>,
    /// The size of a unit of code in bytes, as a power of two.
    pub(super) unit: u32,
    /// The last code of a rule that begins no function.
    pub(super) plain: u8,
    /// The proof of all rules that are not marked as unproven.
    pub(super) proof: Proof,
    has_code_checksums: bool,
    has_stack_pointers: bool,
    pub(crate) damage: Option<Damage>,
    _reader: readers::Map,
}

impl<'a> Map<'a> {
    /// Checks whether bytes begin like a map.
    pub(crate) fn is_one(bytes: &[u8]) -> bool {
        let magic = bytes.first_chunk().map(|magic| u32::from_le_bytes(*magic));
        magic.is_some_and(|magic| [magic, magic.swap_bytes()].contains(&format::MAGIC))
    }

    /// Parses the map at the beginning of `bytes`, whose first byte is at `address` in memory. Bytes after the end of the map are ignored.
    ///
    /// # Errors
    /// Returns an error if the header cannot be used, or if a part ends outside of the map: see [`MapError`].
    ///
    /// ```
    /// use unwind::map::{Map, MapError};
    ///
    /// assert_eq!(Map::parse(&[0; 64], 0x2000).err(), Some(MapError::BadMagic));
    /// ```
    #[inline(never)]
    pub fn parse(bytes: &'a [u8], address: u64) -> Result<Self, MapError> {
        if bytes.is_empty() {
            return Err(MapError::Empty);
        }
        let reader = readers::Map::THERE.ok_or(MapError::LeftOut)?;
        let header = bytes.get(..format::HEADER_SIZE).ok_or(MapError::Short)?;
        let little = Bytes::new(header, ByteOrder::Little);
        let order = match little.u32(0) {
            Some(format::MAGIC) => ByteOrder::Little,
            Some(magic) if magic == format::MAGIC.swap_bytes() => ByteOrder::Big,
            _ => return Err(MapError::BadMagic),
        };
        let header = Bytes::new(header, order);
        let byte = |offset| header.u8(offset).ok_or(MapError::Short);
        let number = |offset| header.u32(offset).ok_or(MapError::Short);
        let version = byte(4)?;
        if version != format::VERSION {
            return Err(MapError::UnknownVersion(version));
        }
        let abi = byte(5)?;
        let abi = match (abi, order) {
            (format::ARM, ByteOrder::Little) => None,
            _ => Some(Abi::from_header(abi).ok_or(MapError::UnknownAbi(abi))?),
        };
        let (unit, plain) = (byte(6)?, byte(7)?);
        let length = number(8)? as usize;
        let data = bytes.get(..length).ok_or(MapError::Short)?;
        let parts = data.get(format::HEADER_SIZE..).ok_or(MapError::BadHeader)?;
        if unit > 2 || number(12)? > format::MAX_REGIONS {
            return Err(MapError::BadHeader);
        }
        let bad = MapError::BadHeader;
        let (regions, parts) = part(parts, number(12)?).ok_or(bad)?;
        let (rules, parts) = part(parts, number(16)?).ok_or(bad)?;
        let (long_rules, parts) = part(parts, number(20)?).ok_or(bad)?;
        let (exceptions, parts) = part(parts, number(24)?).ok_or(bad)?;
        let pages = number(28)?;
        let (blocks, parts) = part(parts, pages).ok_or(bad)?;
        let (pages, parts) = part(parts, pages).ok_or(bad)?;
        let (changes, parts) = part(parts, number(32)?).ok_or(bad)?;
        let described = if abi.is_none() { number(16)? } else { 0 };
        let (_, parts) = part::<{ format::KEPT_SIZE }>(parts, described).ok_or(bad)?;
        let flags = number(36)?;
        let has_code_checksums = flags & format::CODE_CHECKSUMS != 0;
        let has_stack_pointers = flags & format::STACK_POINTERS != 0;
        let (rest, _) = (parts.split_last_chunk::<{ format::CHECKSUM_SIZE }>()).ok_or(bad)?;
        let rest = match has_code_checksums {
            true => code_checksums::at_end(rest, order).1,
            false => rest,
        };
        let rest = match has_stack_pointers {
            true => stack_pointers::at_end(rest, order).1,
            false => rest,
        };
        if !rest.is_empty() {
            return Err(bad);
        }
        let first = regions.first();
        let first = first.filter(|_| order == ByteOrder::NATIVE && abi.is_some());
        let first = first.and_then(|entry| Region::read(Bytes::new(entry, order), address));
        let quick = first
            .and_then(|region| Some((region.start(), region.part(pages)?, region.part(blocks)?)));
        let (quick_start, quick_pages, quick_blocks) = quick.unwrap_or((0, &[], &[]));
        Ok(Self {
            quick_start,
            quick_pages,
            quick_blocks,
            regions,
            rules,
            long_rules,
            exceptions,
            pages,
            blocks,
            changes,
            data,
            address,
            linked: header.u64(40).ok_or(MapError::Short)?,
            order,
            abi,
            unit: unit.into(),
            plain,
            proof: match flags & format::PROVEN {
                0 => Proof::Unknown,
                _ => Proof::Proven,
            },
            has_code_checksums,
            has_stack_pointers,
            damage: None,
            _reader: reader,
        })
    }

    /// Verifies the checksum of the map. The time is proportional to the size of the map. Call this once, when a report begins, and pass the
    /// result to [`Self::verified`].
    ///
    /// # Errors
    /// Returns [`Damage::Checksum`] if the checksum is wrong.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// use unwind::{map::Map, sframe::Damage};
    ///
    /// let mut damaged = MAP;
    /// damaged[80] ^= 1;
    /// assert_eq!(Map::parse(&damaged, 0x2000)?.verify(), Err(Damage::Checksum));
    /// # Ok::<(), unwind::map::MapError>(())
    /// ```
    #[inline(never)]
    pub fn verify(&self) -> Result<Verified, Damage> {
        let (checked, sum) = self
            .data
            .split_last_chunk::<{ format::CHECKSUM_SIZE }>()
            .ok_or(Damage::Checksum)?;
        match Bytes::new(sum, self.order).u32(0) {
            Some(sum) if sum == crc32(checked) => Ok(Verified {
                checksum: true,
                code: false,
            }),
            _ => Err(Damage::Checksum),
        }
    }

    /// Verifies the map and the code in memory: see [`ImageTables::verify_code`](crate::ImageTables::verify_code).
    pub(crate) fn verify_code(&self, code: &[u8], address: u64) -> Result<Verified, Damage> {
        let verified = self.verify()?;
        let (list, _) = self.behind_stack_pointers();
        let same = compare(list, self.order, self.address, code, address);
        Ok(Verified {
            code: same.map_err(|start| Damage::Code { start })?,
            ..verified
        })
    }

    /// Returns the ranges of code whose checksums the map contains.
    pub(crate) fn checked_code(&self) -> CheckedCode<'a> {
        CheckedCode::new(self.behind_stack_pointers().0, self.order, self.address)
    }

    /// Returns the stack pointer before the instruction at the address `pc` in code without a caller, if the code loaded a constant into the
    /// stack pointer: see [`Section::stack_pointer`](crate::sframe::Section::stack_pointer).
    #[must_use]
    pub fn stack_pointer(&self, pc: u64) -> Option<u64> {
        stack_pointers::find(self.behind_kept().0, self.order, self.address, pc)
    }

    /// Returns the stack pointers of code without a caller, and the bytes before them.
    fn behind_kept(&self) -> (StackPointers<'a>, &'a [u8]) {
        let (_, before) = self.behind_stack_pointers();
        match self.has_stack_pointers {
            true => stack_pointers::at_end(before, self.order),
            false => (&[], before),
        }
    }

    /// Returns the checksums of the code, and the bytes before them.
    fn behind_stack_pointers(&self) -> (CodeChecksums<'a>, &'a [u8]) {
        let (before, _) = (self.data.split_last_chunk::<{ format::CHECKSUM_SIZE }>())
            .unwrap_or((self.data, &[0; format::CHECKSUM_SIZE]));
        match self.has_code_checksums {
            true => code_checksums::at_end(before, self.order),
            false => (&[], before),
        }
    }

    /// Sets the result of [`Self::verify`] for these bytes. A walk with a damaged map never ends with [`Complete`](crate::End::Complete).
    #[must_use]
    pub const fn verified(mut self, outcome: Result<Verified, Damage>) -> Self {
        self.damage = match outcome {
            Ok(_) => None,
            Err(damage) => Some(damage),
        };
        self
    }

    /// Returns the ABI; `None` for 32-bit ARM, which is not an ABI of SFrame.
    #[must_use]
    pub const fn abi(&self) -> Option<Abi> {
        self.abi
    }

    /// Returns the architecture.
    #[must_use]
    pub const fn machine(&self) -> Machine {
        match self.abi {
            Some(abi) => abi.machine(),
            None => Machine::Arm,
        }
    }

    /// Returns the number by which offsets in short rules are divided.
    pub(super) const fn scale(&self) -> i64 {
        match self.abi {
            Some(_) => format::SCALE,
            None => format::ARM_SCALE,
        }
    }

    /// Returns the rules for the caller's `r4` to `r10` of the rule with this number; `None` in a map that is not for 32-bit ARM.
    pub(super) fn kept(&self, rule: usize) -> Option<Kept> {
        if self.abi.is_some() {
            return None;
        }
        // They are the last part. Its place is not stored, because a map is copied often, and only 32-bit ARM needs this part.
        let size = self.rules.len().checked_mul(format::KEPT_SIZE)?;
        let (_, before) = self.behind_kept();
        let all = before.get(before.len().checked_sub(size)?..)?;
        let (all, _) = all.as_chunks::<{ format::KEPT_SIZE }>();
        let [bytes @ .., _] = *all.get(rule)?;
        Some(Kept::of_bytes(bytes))
    }

    /// Checks whether the map contains a proof: all its rules are proven except the rules that are marked as unproven.
    #[must_use]
    pub const fn is_proven(&self) -> bool {
        matches!(self.proof, Proof::Proven)
    }

    /// Returns the byte order of the map's own numbers.
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        self.order
    }

    /// Returns the address of the map's first byte.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns the size of the map in bytes, from the header to the checksum.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.data.len()
    }

    /// Returns the distance in bytes by which the image was moved: the address of the map minus the address in the map, modulo 2^64.
    #[must_use]
    pub const fn moved_by(&self) -> u64 {
        self.address.wrapping_sub(self.linked)
    }

    /// Returns the number of regions of code, at most [`format::MAX_REGIONS`].
    #[must_use]
    pub const fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// Returns the number of rules: the rules of rows, and the rules for code without a function or without rows.
    #[must_use]
    pub const fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// Returns the number of long rules.
    #[must_use]
    pub const fn long_rule_count(&self) -> usize {
        self.long_rules.len()
    }

    /// Returns the number of changes of rule.
    #[must_use]
    pub const fn change_count(&self) -> usize {
        self.changes.len()
    }

    /// Returns the number of changes whose rule does not fit into a code of one byte.
    #[must_use]
    pub const fn exception_count(&self) -> usize {
        self.exceptions.len()
    }
}

/// Returns the first `count` entries, and the bytes after them. Generic, because one function with a variable size takes 108 bytes more code, to
/// divide by the sizes.
fn part<const SIZE: usize>(bytes: &[u8], count: u32) -> Option<(&[[u8; SIZE]], &[u8])> {
    let size = (count as usize).checked_mul(SIZE)?;
    let (entries, rest) = bytes.split_at_checked(size)?;
    let (entries, _) = entries.as_chunks();
    Some((entries, rest))
}
