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
}

impl PageTables {
    /// The physical address of the first table.
    pub(super) const fn first(&self) -> u64 {
        self.root & ADDRESS
    }

    /// The physical address of the word at an aligned address, if it is memory that can be read: mapped, and with a type of memory
    /// that may be cached, as no device has it. `read` reads an entry at a physical address, if there is one.
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
            if !entry.contains(Entry::PRESENT) || self.is_too_high(entry) {
                return None;
            }
            let is_page = level == 0 || (level <= 2 && entry.contains(Entry::LARGE));
            if is_page {
                let is_hidden = self.hides_user && all.contains(Entry::USER);
                let within = 1_u64.wrapping_shl(shift).wrapping_sub(1);
                let physical = entry.bits() & ADDRESS & !within | address & within;
                return (!is_hidden && self.is_cached(entry, level)).then_some(physical);
            }
            table = entry.bits() & ADDRESS;
        }
        None
    }

    /// Whether an entry leads to where no physical address is: the processor faults, so it is damaged.
    const fn is_too_high(&self, entry: Entry) -> bool {
        matches!((entry.bits() & ADDRESS).checked_shr(self.address_bits), Some(high) if high != 0)
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
}
