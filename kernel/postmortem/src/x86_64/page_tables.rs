//! Whether memory is mapped at an address, by the page tables. Manual: volume 3, 5.5 "4-Level Paging and 5-Level Paging".

use bitflags::bitflags;

use crate::stack::ReadWord;

/// Where the physical address is in an entry and in CR3.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

bitflags! {
    /// An entry of a page table.
    #[derive(Clone, Copy)]
    struct Entry: u64 {
        const PRESENT = 1;
        const USER = 1 << 2;
        const WRITE_THROUGH = 1 << 3;
        const CACHE_DISABLE = 1 << 4;
        /// It maps a large page; in the last level, and only there, this is the attribute of a page.
        const LARGE = 1 << 7;
        const LARGE_ATTRIBUTE = 1 << 12;
        const NO_EXECUTE = 1 << 63;
        const _ = !0;
    }
}

/// The page tables of a CPU, and what its registers say of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageTables {
    /// CR3: the physical address of the first table, and flags.
    pub(super) root: u64,
    pub(super) levels: u32,
    /// What user code may read, the kernel may not (SMAP).
    pub(super) hides_user: bool,
    /// How many bits a physical address has (MAXPHYADDR).
    pub(super) address_bits: u32,
    /// `IA32_PAT`: the types of memory that attributes choose.
    pub(super) types: u64,
    /// Entries may forbid execution (`IA32_EFER.NXE`).
    pub(super) has_no_execute: bool,
    /// A gibibyte may be one page.
    pub(super) has_gibibytes: bool,
    /// Two bits for each key of the kernel's pages, and of user pages, of which the first forbids access: `IA32_PKRS` and PKRU, 0 where
    /// keys are not in use.
    pub(super) keys: [u32; 2],
    /// The bit of an entry that says that memory is encrypted (AMD's SME and SEV), which is no part of the address; or 0.
    pub(super) encryption: u64,
}

/// The bits of a page's key.
const KEY: u32 = 59;

impl PageTables {
    /// The physical address of the first table.
    pub(super) const fn first(&self) -> u64 {
        self.root & ADDRESS & !self.encryption
    }

    /// The physical address in an entry.
    const fn address_in(&self, entry: Entry) -> u64 {
        entry.bits() & ADDRESS & !self.encryption
    }

    /// The physical address of the word at an aligned address, if it is memory that can be read: mapped by entries without a reserved bit,
    /// not forbidden by a key, and with a type of memory that may be cached, as no device has it. `read` reads an entry at a physical address, if there is one.
    pub(super) fn find(&self, address: u64, read: ReadWord<'_>) -> Option<u64> {
        // The bits above those that are translated are copies of the highest one of these.
        let unused = 64_u32.saturating_sub(self.levels.saturating_mul(9).saturating_add(12));
        let extended = ((address << unused) as i64 >> unused) as u64;
        if extended != address {
            return None;
        }
        let (mut table, mut all) = (self.first(), Entry::USER);
        for level in (0..self.levels).rev() {
            let shift = level.saturating_mul(9).saturating_add(12);
            let index = (address >> shift) & 0x1ff;
            let entry = Entry::from_bits_retain(read(table | index << 3)?);
            all &= entry;
            if !entry.contains(Entry::PRESENT) || self.has_reserved(entry, level) {
                return None;
            }
            let is_page = level == 0 || (level <= 2 && entry.contains(Entry::LARGE));
            if is_page {
                let is_user = all.contains(Entry::USER);
                let is_hidden = self.hides_user && is_user || self.is_locked(entry, is_user);
                let within = 1_u64.wrapping_shl(shift).wrapping_sub(1);
                let physical = self.address_in(entry) & !within | address & within;
                return (!is_hidden && self.is_cached(entry, level)).then_some(physical);
            }
            table = self.address_in(entry);
        }
        None
    }

    /// Whether a bit of an entry is set that has to be 0: the processor faults, so it is damaged. Manual: 5.5.4 "Linear-Address Translation
    /// with 4-Level Paging and 5-Level Paging".
    const fn has_reserved(&self, entry: Entry, level: u32) -> bool {
        let address = self.address_in(entry);
        let is_too_high = matches!(address.checked_shr(self.address_bits), Some(high) if high != 0);
        let is_large = level > 0 && entry.contains(Entry::LARGE);
        let may_be_large = level == 1 || (level == 2 && self.has_gibibytes);
        // In a large page the bits of the address within it, but for the attribute.
        let within = 1_u64
            .wrapping_shl(level.saturating_mul(9).saturating_add(12))
            .wrapping_sub(1);
        let is_misaligned = is_large && address & within & !Entry::LARGE_ATTRIBUTE.bits() != 0;
        let is_forbidden = entry.contains(Entry::NO_EXECUTE) && !self.has_no_execute;
        is_too_high || (is_large && !may_be_large) || is_misaligned || is_forbidden
    }

    /// Whether the key of a page forbids to read it: 5.6.2 "Protection Keys".
    const fn is_locked(&self, page: Entry, is_user: bool) -> bool {
        let [of_kernel, of_user] = self.keys;
        let keys = if is_user { of_user } else { of_kernel };
        let key = (page.bits() >> KEY & 15) as u32;
        keys.wrapping_shr(key.wrapping_mul(2)) & 1 != 0
    }

    /// Whether a page has a type of memory that may be cached: 11.12.4 "Programming the PAT".
    fn is_cached(&self, page: Entry, level: u32) -> bool {
        let attribute = match level {
            0 => Entry::LARGE,
            _ => Entry::LARGE_ATTRIBUTE,
        };
        let bit = |flag, value| if page.contains(flag) { value } else { 0_u32 };
        let index = bit(Entry::WRITE_THROUGH, 1) | bit(Entry::CACHE_DISABLE, 2) | bit(attribute, 4);
        // Write-through, write-protected and write-back.
        matches!((self.types >> (index << 3)) & 0xff, 4..=6)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const PAGE: u64 = 1;
    const LARGE: u64 = 1 << 7;

    fn tables(levels: u32) -> PageTables {
        PageTables {
            // With a PCID.
            root: 0x1000 | 5,
            levels,
            hides_user: false,
            address_bits: 40,
            // As after a reset: write-back, write-through, uncached, uncached, and again.
            types: 0x0007_0406_0007_0406,
            has_no_execute: true,
            has_gibibytes: true,
            keys: [0; 2],
            encryption: 0,
        }
    }

    /// Where memory is, by entries at physical addresses; everything else is no table.
    fn find(tables: &PageTables, entries: &[(u64, u64)], address: u64) -> Option<u64> {
        let entries: BTreeMap<_, _> = entries.iter().copied().collect();
        tables.find(address, &|at| {
            let is_table = (0x1000..0x6000).contains(&at) && at.is_multiple_of(8);
            assert!(is_table, "{at:#x} is no entry");
            Some(entries.get(&at).copied().unwrap_or(0))
        })
    }

    fn is_memory(tables: &PageTables, entries: &[(u64, u64)], address: u64) -> bool {
        find(tables, entries, address).is_some()
    }

    /// Every level of a page at `0xffff_8000_0020_3000`, which has the entry given.
    fn small(page: u64) -> [(u64, u64); 4] {
        [
            (0x1000 + 256 * 8, 0x2000 | PAGE),
            (0x2000, 0x3000 | PAGE),
            (0x3000 + 8, 0x4000 | PAGE),
            (0x4000 + 3 * 8, 0x7000 | page),
        ]
    }

    const ADDRESS: u64 = 0xffff_8000_0020_3000;

    #[test]
    fn what_every_level_maps_is_memory() {
        let sound = small(PAGE);
        for offset in [0, 8, 0xff8] {
            assert!(is_memory(&tables(4), &sound, ADDRESS + offset));
        }
        for other in [
            ADDRESS - 8,
            ADDRESS + 0x1000,
            ADDRESS + 0x20_0000,
            0x20_3000,
            0,
            u64::MAX - 7,
        ] {
            assert!(!is_memory(&tables(4), &sound, other), "{other:#x}");
        }
        // Not canonical.
        assert!(!is_memory(&tables(4), &sound, ADDRESS & !(1 << 63)));
        for damaged in 0..4 {
            let mut entries = sound;
            entries[damaged].1 &= !PAGE;
            assert!(!is_memory(&tables(4), &entries, ADDRESS), "level {damaged}");
            for bit in 40..52 {
                let mut entries = sound;
                entries[damaged].1 |= 1 << bit;
                let found = is_memory(&tables(4), &entries, ADDRESS);
                assert!(!found, "level {damaged}, bit {bit}");
            }
        }
    }

    #[test]
    fn large_pages_and_a_fifth_level_are_known() {
        let (first, second) = ((0x1000, 0x2000 | PAGE), (0x2000 + 8, PAGE | LARGE));
        for offset in [0, 0x3fff_fff8] {
            assert!(is_memory(
                &tables(4),
                &[first, second],
                0x4000_0000 + offset
            ));
        }
        assert!(!is_memory(&tables(4), &[first, second], 0x8000_0000));
        let [second, third] = [
            (0x2000, 0x3000 | PAGE),
            (0x3000 + 16, 0x40_0000 | PAGE | LARGE),
        ];
        assert!(is_memory(&tables(4), &[first, second, third], 0x40_0008));
        let top = (0x1000 + 8, 0x5000 | PAGE);
        let rest = [(0x5000, 0x2000 | PAGE), second, third];
        let entries: Vec<_> = [top].into_iter().chain(rest).collect();
        assert!(is_memory(&tables(5), &entries, (1 << 48) + 0x40_0008));
        assert!(!is_memory(&tables(4), &entries, (1 << 48) + 0x40_0008));
    }

    #[test]
    fn the_physical_address_is_that_of_the_page_and_what_lies_in_it() {
        assert_eq!(find(&tables(4), &small(PAGE), ADDRESS + 8), Some(0x7008));
        let first = (0x1000, 0x2000 | PAGE);
        // The attribute of a large page is no part of its address.
        let large = (0x2000 + 8, 0x8000_0000 | PAGE | LARGE | 1 << 12);
        let found = find(&tables(4), &[first, large], 0x4012_3458);
        assert_eq!(found, Some(0x8012_3458));
        let entries = [
            first,
            (0x2000, 0x3000 | PAGE),
            (0x3000 + 16, 0x60_0000 | PAGE | LARGE),
        ];
        assert_eq!(find(&tables(4), &entries, 0x40_0008), Some(0x60_0008));
        // An entry that cannot be read.
        let entry = |at| (at != 0x3008).then_some(0x3000 | PAGE);
        assert_eq!(tables(4).find(0x1_0000, &entry), Some(0x3000));
        assert_eq!(tables(4).find(0x20_0000, &entry), None);
    }

    #[test]
    fn what_is_not_cached_is_a_device() {
        let (write_through, uncached, attribute) = (1 << 3, 1 << 4, 1 << 7);
        for (flags, expected) in [
            (0, true),
            (write_through, true),
            (uncached, false),
            (uncached | write_through, false),
            (attribute, true),
            (attribute | uncached, false),
        ] {
            assert_eq!(
                is_memory(&tables(4), &small(PAGE | flags), ADDRESS),
                expected,
                "{flags:#x}"
            );
        }
        // What the attributes mean is the kernel's choice: here the first one is write-combining.
        let types = 0x0007_0406_0007_0401;
        let combined = PageTables { types, ..tables(4) };
        assert!(!is_memory(&combined, &small(PAGE), ADDRESS));
        let large = [(0x1000, 0x2000 | PAGE), (0x2000, PAGE | LARGE | 1 << 12)];
        assert!(is_memory(&combined, &large, 8));
        assert!(!is_memory(
            &combined,
            &[large[0], (0x2000, PAGE | LARGE)],
            8
        ));
    }

    #[test]
    fn pages_of_users_are_not_read_where_that_fails() {
        let user = small(PAGE).map(|(at, entry)| (at, entry | 1 << 2));
        let careful = PageTables {
            hides_user: true,
            ..tables(4)
        };
        assert!(is_memory(&tables(4), &user, ADDRESS));
        assert!(!is_memory(&careful, &user, ADDRESS));
        for level in 0..4 {
            let mut entries = user;
            entries[level].1 &= !(1 << 2);
            assert!(is_memory(&careful, &entries, ADDRESS), "level {level}");
        }
    }

    #[test]
    fn an_entry_with_a_reserved_bit_maps_nothing() {
        let sound = small(PAGE);
        for level in 0..4 {
            let mut entries = sound;
            entries[level].1 |= 1 << 63;
            assert!(is_memory(&tables(4), &entries, ADDRESS));
            let without = PageTables {
                has_no_execute: false,
                ..tables(4)
            };
            assert!(!is_memory(&without, &entries, ADDRESS), "level {level}");
        }
        // Only the two levels above the last have large pages.
        let mut entries = sound;
        entries[0].1 |= LARGE;
        assert!(!is_memory(&tables(4), &entries, ADDRESS));
        let first = (0x1000, 0x2000 | PAGE);
        for (entries, size) in [
            (vec![first, (0x2000, PAGE | LARGE)], 30),
            (
                vec![first, (0x2000, 0x3000 | PAGE), (0x3000, PAGE | LARGE)],
                21,
            ),
        ] {
            assert!(is_memory(&tables(4), &entries, 8));
            for bit in 12..40 {
                let mut entries = entries.clone();
                if let Some((_, page)) = entries.last_mut() {
                    *page |= 1 << bit;
                }
                let is_reserved = (13..size).contains(&bit);
                assert_eq!(
                    is_memory(&tables(4), &entries, 8),
                    !is_reserved,
                    "{size} {bit}"
                );
            }
        }
        let without = PageTables {
            has_gibibytes: false,
            ..tables(4)
        };
        assert!(!is_memory(&without, &[first, (0x2000, PAGE | LARGE)], 8));
    }

    #[test]
    fn a_page_whose_key_forbids_access_is_not_read() {
        let page = |key: u64, user| small(PAGE | key << 59).map(|(at, entry)| (at, entry | user));
        // Key 3 forbids access, and key 5 only writing.
        let keys = 1 << 6 | 2 << 10;
        for (keys, user, other) in [([keys, 0], 0, 1 << 2), ([0, keys], 1 << 2, 0)] {
            let tables = PageTables { keys, ..tables(4) };
            for (key, expected) in [(0, true), (3, false), (5, true), (15, true)] {
                assert_eq!(
                    is_memory(&tables, &page(key, user), ADDRESS),
                    expected,
                    "{key}"
                );
            }
            assert!(is_memory(&tables, &page(3, other), ADDRESS));
        }
    }

    #[test]
    fn the_bit_of_encrypted_memory_is_no_part_of_the_address() {
        let bit = 1 << 47;
        let encrypted = small(PAGE).map(|(at, entry)| (at, entry | bit));
        let tables = PageTables {
            root: 0x1000 | bit,
            encryption: bit,
            ..tables(4)
        };
        assert_eq!(find(&tables, &encrypted, ADDRESS + 8), Some(0x7008));
        // Shared with the hypervisor.
        assert_eq!(find(&tables, &small(PAGE), ADDRESS + 8), Some(0x7008));
        let above = small(PAGE | 1 << 46);
        assert_eq!(find(&tables, &above, ADDRESS), None);
    }
}
