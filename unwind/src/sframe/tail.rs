//! The trailer that `linker` writes after the rows of a little-endian table: the list of stack pointers, the list of interrupted link registers, the list of unproven
//! ranges, the checksums of the code, the linked address, and the checksum of the table. Other readers never look there. [`format`] defines the fields.

use crate::bytes::ByteOrder;
use crate::code_checksums::{self, CodeChecksums};
use crate::list;
use crate::lookup::Proof;
use crate::row::{Base, Rule};
use crate::sframe::format;
use crate::sframe::search::last_at_most;
use crate::stack_pointers::{self, StackPointers};

/// Ranges of code whose rows are unproven, in ascending order.
pub(super) type Unproven<'a> = &'a [[u8; format::UNPROVEN_SIZE]];

/// Returns the address for which the table was written, and the bytes before that field.
pub(super) fn linked(table: &[u8]) -> Option<(u64, &[u8])> {
    let (before, checksum) = table.split_last_chunk::<{ format::CHECKSUM_SIZE }>()?;
    let (before, magic) = before.split_last_chunk()?;
    let (before, linked) = before.split_last_chunk()?;
    let is_there = checksum.ends_with(&format::CHECKSUM_MAGIC.to_le_bytes())
        && u32::from_le_bytes(*magic) == format::LINKED_MAGIC;
    is_there.then_some((u64::from_le_bytes(*linked), before))
}

/// Returns the checksums of the code; an empty list if the table contains none.
pub(super) fn code_checksums(table: &[u8]) -> CodeChecksums<'_> {
    linked(table).map_or(&[], |(_, before)| behind_proof(before).0)
}

/// Returns the checksums of the code, and the bytes before them.
fn behind_proof(before: &[u8]) -> (CodeChecksums<'_>, &[u8]) {
    code_checksums::at_end(before, ByteOrder::Little)
}

/// Returns the unproven ranges; `None` if the table contains no proof.
pub(super) fn unproven(table: &[u8]) -> Option<Unproven<'_>> {
    Some(proof_list(table)?.0)
}

/// Returns the unproven ranges, and the bytes before their list.
fn proof_list(table: &[u8]) -> Option<(Unproven<'_>, &[u8])> {
    let (_, before) = linked(table)?;
    let (_, before) = behind_proof(before);
    list::at_end(before, ByteOrder::Little, format::PROOF_MAGIC)
}

/// Returns the ranges of trap code with the place of the interrupted link register; an empty list if the table contains none.
fn links(table: &[u8]) -> &[[u8; format::LINK_SIZE]] {
    behind_links(table).0
}

/// Returns the list of interrupted link registers, and the bytes before it.
fn behind_links(table: &[u8]) -> (&[[u8; format::LINK_SIZE]], &[u8]) {
    let Some((_, before)) = proof_list(table) else {
        return (&[], &[]);
    };
    list::at_end(before, ByteOrder::Little, format::LINK_MAGIC).unwrap_or((&[], before))
}

/// Returns the stack pointers of code without a caller; an empty list if the table contains none.
pub(super) fn stack_pointers(table: &[u8]) -> StackPointers<'_> {
    stack_pointers::at_end(behind_links(table).1, ByteOrder::Little).0
}

/// Returns the size of the list of interrupted link registers, in bytes; 0 if the table contains none.
pub(super) fn links_size(table: &[u8]) -> usize {
    match links(table).len() {
        0 => 0,
        count => count
            .saturating_mul(format::LINK_SIZE)
            .saturating_add(format::LINKS_SIZE),
    }
}

/// Returns where the interrupted link register is in trap code at address `pc`, by the list of a table at address `address`.
pub(super) fn interrupted_link(table: &[u8], address: u64, pc: u64) -> Option<Rule> {
    let links = links(table);
    // Distances from the table to the code have a sign.
    let distance = pc.wrapping_sub(address);
    let start = |number: usize| Some(fields(links, number)?.0.cast_signed());
    let number = last_at_most::<1, _>(links.len(), distance.cast_signed(), start)?;
    let (start, size, place) = fields(links, number)?;
    if distance.wrapping_sub(start) >= u64::from(size) {
        return None;
    }
    Some(match place {
        format::LINK_IN_REGISTER => Rule::Value {
            base: Base::Register(crate::aarch64::LR),
            offset: 0,
        },
        offset => Rule::Saved {
            base: Base::StackPointer,
            offset: offset.into(),
        },
    })
}

/// Returns the start of range `number` as a distance from the table, its size in bytes, and the place of the link register.
fn fields(links: &[[u8; format::LINK_SIZE]], number: usize) -> Option<(u64, u32, u32)> {
    let (start, rest) = links.get(number)?.split_first_chunk()?;
    let (size, place) = rest.split_first_chunk()?;
    let place = u32::from_le_bytes(*place.first_chunk()?);
    Some((u64::from_le_bytes(*start), u32::from_le_bytes(*size), place))
}

/// Returns whether the row for address `pc` is proven, by the ranges of the table at address `table`.
#[inline(always)]
pub(super) fn proof(unproven: Option<Unproven<'_>>, table: u64, pc: u64) -> Proof {
    match unproven {
        None => Proof::Unknown,
        Some([]) => Proof::Proven,
        Some(ranges) => search(ranges, pc.wrapping_sub(table) as u32),
    }
}

/// Returns whether the row at distance `distance` from the table, modulo 2^32, is proven.
#[inline(never)]
fn search(ranges: Unproven<'_>, distance: u32) -> Proof {
    let (mut from, mut rest) = (0_usize, ranges.len());
    while rest > 1 {
        let half = rest >> 1;
        let middle = from.wrapping_add(half);
        if range(ranges, middle).is_none_or(|(start, _)| start <= distance) {
            from = middle;
        }
        rest = rest.wrapping_sub(half);
    }
    let contains = |number: usize| {
        range(ranges, number).is_none_or(|(start, size)| distance.wrapping_sub(start) < size)
    };
    // Only the last range can continue at distance 0.
    let last = ranges.len().wrapping_sub(1);
    let Some(number) = [from, last].into_iter().find(|number| contains(*number)) else {
        return Proof::Proven;
    };
    match ranges.get(number) {
        Some([.., high]) if high & format::IF_ENTERED != 0 => Proof::IfEntered,
        _ => Proof::Unproven,
    }
}

/// Returns the start of range `number`, as a distance from the table modulo 2^32, and its size in bytes.
#[inline(always)]
fn range(ranges: Unproven<'_>, number: usize) -> Option<(u32, u32)> {
    let [a, b, c, d, size @ ..] = *ranges.get(number)?;
    let [low, high] = size;
    let size = u16::from_le_bytes([low, high & !format::IF_ENTERED]);
    Some((u32::from_le_bytes([a, b, c, d]), size.into()))
}
