//! Page tables of a few entries.

use std::collections::HashMap;

use super::*;

/// Tables at these addresses, with an entry each, of this index; each leads to the next, and the last one is `last`.
fn tables(entries: &[(u64, u64)], last: u64) -> HashMap<u64, u64> {
    let next = entries[1..].iter().map(|(at, _)| at | PRESENT | TABLE);
    let next = next.chain([last]);
    let words = entries.iter().zip(next);
    words
        .map(|((at, index), entry)| (at + index * 8, entry))
        .collect()
}

/// Of a kernel whose upper half has this size of pages (TG1) and so many bits at the top that are the same.
fn find(words: &HashMap<u64, u64>, tg1: u64, same: u64, address: u64) -> Option<u64> {
    // The lowest bit is none of the address.
    let tables = [0, 0x1_0001];
    let half = Half::of_kernel(tg1 << 30 | same << 16, tables, address);
    half.translate(PAGING, false, &mut |at| words.get(&at).copied(), address)
}

const SMALL: u64 = 2;
const MIDDLE: u64 = 1;
const LARGE: u64 = 3;
const PAGE: u64 = PRESENT | TABLE | ACCESSED;
const BLOCK: u64 = PRESENT | ACCESSED;
const HIGH: u64 = 0xffff_0000_4021_4458;

#[test]
fn pages_of_each_size_are_found() {
    let four = [
        (0x1_0000, 0),
        (0x2_0000, 1),
        (0x3_0000, 1),
        (0x4_0000, 0x14),
    ];
    let words = tables(&four, 0x7654_3000 | PAGE);
    assert_eq!(find(&words, SMALL, 16, HIGH), Some(0x7654_3458));
    let words = tables(&four[..3], 0x7660_0000 | BLOCK);
    assert_eq!(find(&words, SMALL, 16, HIGH), Some(0x7661_4458));
    let words = tables(&four[..2], 0x8000_0000 | BLOCK);
    assert_eq!(find(&words, SMALL, 16, HIGH), Some(0x8021_4458));
    // 16 KiB: the first table has two entries.
    let middle = [
        (0x1_0000, 0),
        (0x2_0000, 0),
        (0x3_0000, 32),
        (0x4_0000, 0x85),
    ];
    let words = tables(&middle, 0x7654_0000 | PAGE);
    assert_eq!(find(&words, MIDDLE, 16, HIGH), Some(0x7654_0458));
    // 64 KiB, three levels.
    let large = [(0x1_0000, 0), (0x2_0000, 2), (0x3_0000, 0x21)];
    let words = tables(&large, 0x7655_0000 | PAGE);
    assert_eq!(find(&words, LARGE, 16, HIGH), Some(0x7655_4458));
}

#[test]
fn a_smaller_half_has_fewer_levels() {
    // 39 bits: three levels.
    let address = 0xffff_ff80_4021_4458;
    let words = tables(
        &[(0x1_0000, 1), (0x2_0000, 1), (0x3_0000, 0x14)],
        0x7654_3000 | PAGE,
    );
    assert_eq!(find(&words, SMALL, 25, address), Some(0x7654_3458));
    assert_eq!(find(&words, SMALL, 25, HIGH), None);
}

#[test]
fn what_may_not_be_read_is_not_found() {
    let entries = [(0x1_0000, 0), (0x2_0000, 1), (0x3_0000, 1)];
    for last in [0x7660_0000, 0x7660_0000 | PRESENT] {
        assert_eq!(find(&tables(&entries, last), SMALL, 16, HIGH), None);
    }
    // No block is in the first of four levels.
    let words = tables(&entries[..1], 0x7660_0000 | BLOCK);
    assert_eq!(find(&words, SMALL, 16, HIGH), None);
    let words = tables(&entries, 0x7660_0000 | BLOCK);
    let half = Half::of_kernel(SMALL << 30 | 16 << 16, [0, 0x1_0000], HIGH);
    let by = |is_user, words: &HashMap<u64, u64>| {
        half.translate(PAGING, is_user, &mut |at| words.get(&at).copied(), HIGH)
    };
    assert_eq!(by(false, &words), Some(0x7661_4458));
    assert_eq!(by(true, &words), None);
    let words = tables(&entries, 0x7660_0000 | BLOCK | USER);
    assert_eq!(by(true, &words), Some(0x7661_4458));
}

#[test]
fn the_highest_byte_may_count_for_nothing() {
    let words = tables(
        &[(0x1_0000, 0), (0x2_0000, 1), (0x3_0000, 1)],
        0x7660_0000 | BLOCK,
    );
    let tagged = HIGH & (u64::MAX >> 8) | 0x5a << 56;
    let by = |translation: u64| {
        let translation = translation | SMALL << 30 | 16 << 16;
        let half = Half::of_kernel(translation, [0, 0x1_0000], tagged);
        half.translate(PAGING, false, &mut |at| words.get(&at).copied(), tagged)
    };
    assert_eq!(by(1 << 38), Some(0x7661_4458));
    assert_eq!(by(0), None);
    assert_eq!(by(1 << 38 | 1 << 23), None);
}

/// The fields of the lower half are others, and their values mean other sizes of pages.
#[test]
fn the_lower_half_has_fields_of_its_own() {
    const LOW: u64 = 0x4021_4458;
    type Entries = &'static [(u64, u64)];
    const SIZES: [(u64, Entries, u64, u64); 3] = [
        (
            0,
            &[
                (0x1_0000, 0),
                (0x2_0000, 1),
                (0x3_0000, 1),
                (0x4_0000, 0x14),
            ],
            0x7654_3000,
            0x7654_3458,
        ),
        (
            2,
            &[
                (0x1_0000, 0),
                (0x2_0000, 0),
                (0x3_0000, 32),
                (0x4_0000, 0x85),
            ],
            0x7654_0000,
            0x7654_0458,
        ),
        (
            1,
            &[(0x1_0000, 0), (0x2_0000, 2), (0x3_0000, 0x21)],
            0x7655_0000,
            0x7655_4458,
        ),
    ];
    for (tg0, entries, last, expected) in SIZES {
        let words = tables(entries, last | PAGE);
        let by = |translation: u64, address: u64| {
            let translation = translation | tg0 << 14 | 16;
            let half = Half::of_kernel(translation, [0x1_0001, 0], address);
            half.translate(PAGING, false, &mut |at| words.get(&at).copied(), address)
        };
        assert_eq!(by(0, LOW), Some(expected));
        // Without tables.
        assert_eq!(by(1 << 7, LOW), None);
        assert_eq!(by(1 << 23, LOW), Some(expected));
        // With a highest byte that counts for nothing.
        let tagged = LOW | 0x5a << 56;
        assert_eq!(by(0, tagged), None);
        assert_eq!(by(1 << 37, tagged), Some(expected));
        assert_eq!(by(1 << 38, tagged), None);
        // A hypervisor has that half only.
        let by = |translation: u64, address: u64| {
            let half = Half::of_hypervisor(translation | tg0 << 14 | 16, 0x1_0001);
            half.translate(PAGING, false, &mut |at| words.get(&at).copied(), address)
        };
        assert_eq!(by(0, LOW), Some(expected));
        assert_eq!(by(0, tagged), None);
        assert_eq!(by(1 << 20, tagged), Some(expected));
        assert_eq!(by(0, HIGH), None);
    }
}

#[test]
fn without_page_tables_each_address_is_its_own() {
    let half = Half::of_hypervisor(0, 0);
    assert_eq!(
        half.translate(0, false, &mut |_| None, 0x1234),
        Some(0x1234)
    );
}
