//! A map: its header, checked once, and its parts.

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

/// A rule map, borrowed. Parsing checks the header and that all parts lie inside; after that every look-up is total, whatever the
/// bytes. A wrong bit can give a wrong rule: only [`Self::verify`] notices it.
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
    /// Of each page how many of its changes come before each block, and before the block after the last one.
    pub(super) blocks: &'a [[u8; format::BLOCKS_SIZE]],
    pub(super) changes: &'a [[u8; format::CHANGE_SIZE]],
    /// All of it, from the header to the checksum.
    data: &'a [u8],
    pub(super) address: u64,
    linked: u64,
    pub(super) order: ByteOrder,
    /// `None`: that of 32-bit ARM.
    abi: Option<Abi>,
    /// Bytes of a unit of code, as a power of two.
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
    /// Whether bytes begin as a map does.
    pub(crate) fn is_one(bytes: &[u8]) -> bool {
        let magic = bytes.first_chunk().map(|magic| u32::from_le_bytes(*magic));
        magic.is_some_and(|magic| [magic, magic.swap_bytes()].contains(&format::MAGIC))
    }

    /// Parses the map that starts at the first of `bytes`, which lies at `address` in memory. Bytes after its end are left alone.
    ///
    /// # Errors
    /// See [`MapError`].
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

    /// Compares the checksum, which every map has, with the bytes. Takes time in proportion to their number: a kernel calls it
    /// once, when a report begins, and hands the result to [`Self::verified`].
    ///
    /// # Errors
    /// [`Damage::Checksum`].
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

    /// Does the same as [`ImageTables::verify_code`](crate::ImageTables::verify_code).
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

    /// Does the same as [`Section::stack_pointer`](crate::sframe::Section::stack_pointer).
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

    /// Sets the result that [`Self::verify`] had for these bytes. A walk by a damaged map never ends
    /// [`Complete`](crate::End::Complete).
    #[must_use]
    pub const fn verified(mut self, outcome: Result<Verified, Damage>) -> Self {
        self.damage = match outcome {
            Ok(_) => None,
            Err(damage) => Some(damage),
        };
        self
    }

    /// The ABI, if it is one of SFrame's: all but that of 32-bit ARM.
    #[must_use]
    pub const fn abi(&self) -> Option<Abi> {
        self.abi
    }

    /// The architecture.
    #[must_use]
    pub const fn machine(&self) -> Machine {
        match self.abi {
            Some(abi) => abi.machine(),
            None => Machine::Arm,
        }
    }

    /// What offsets in rules that are not long are divided by.
    pub(super) const fn scale(&self) -> i64 {
        match self.abi {
            Some(_) => format::SCALE,
            None => format::ARM_SCALE,
        }
    }

    /// What the rule with this number says of the caller's `r4` to `r10`; `None` in a map for another architecture than 32-bit ARM.
    pub(super) fn kept(&self, rule: usize) -> Option<Kept> {
        if self.abi.is_some() {
            return None;
        }
        // They are the last part. Where it is, is not kept, because a map is copied often, and asked for them by 32-bit ARM only.
        let size = self.rules.len().checked_mul(format::KEPT_SIZE)?;
        let (_, before) = self.behind_kept();
        let all = before.get(before.len().checked_sub(size)?..)?;
        let (all, _) = all.as_chunks::<{ format::KEPT_SIZE }>();
        let [bytes @ .., _] = *all.get(rule)?;
        Some(Kept::of_bytes(bytes))
    }

    /// Whether the map contains a proof: all its rules are proven except the rules that are marked as unproven.
    #[must_use]
    pub const fn is_proven(&self) -> bool {
        matches!(self.proof, Proof::Proven)
    }

    /// The byte order of the map's own numbers.
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        self.order
    }

    /// The address of the map's first byte.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Bytes from the header to the checksum.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.data.len()
    }

    /// How far the map lies above the address that it was written for, modulo 2^64: what its image was moved by.
    #[must_use]
    pub const fn moved_by(&self) -> u64 {
        self.address.wrapping_sub(self.linked)
    }

    /// How many regions of code it has, at most [`format::MAX_REGIONS`].
    #[must_use]
    pub const fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// How many rules it has: those of rows, and what says that there is no function or no row.
    #[must_use]
    pub const fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// How many of its rules are long.
    #[must_use]
    pub const fn long_rule_count(&self) -> usize {
        self.long_rules.len()
    }

    /// How many changes of rule it has.
    #[must_use]
    pub const fn change_count(&self) -> usize {
        self.changes.len()
    }

    /// How many of the changes have a rule that no byte names.
    #[must_use]
    pub const fn exception_count(&self) -> usize {
        self.exceptions.len()
    }
}

/// The first `count` entries, and the bytes after them. Generic, because one function with a variable size takes 108 bytes more code, to
/// divide by the sizes.
fn part<const SIZE: usize>(bytes: &[u8], count: u32) -> Option<(&[[u8; SIZE]], &[u8])> {
    let size = (count as usize).checked_mul(SIZE)?;
    let (entries, rest) = bytes.split_at_checked(size)?;
    let (entries, _) = entries.as_chunks();
    Some((entries, rest))
}
