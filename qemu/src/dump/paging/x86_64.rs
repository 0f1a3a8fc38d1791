//! Page tables of x86-64 ("Intel 64 and IA-32 Architectures Software Developer's Manual", volume 3, chapter 4).

/// Bit of CR0: there are page tables.
const PAGING: u64 = 1 << 31;
/// Bit of CR4: they have five levels, not four.
const FIVE_LEVELS: u64 = 1 << 12;
/// Bit of EFER: they are those of 64 bits.
const LONG: u64 = 1 << 10;

/// Bits of an entry: it is there, and is a large page.
const PRESENT: u64 = 1;
const LARGE: u64 = 1 << 7;
/// The bits of an entry that are an address.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// The physical address, by these registers: CR0, CR3, CR4 and EFER. Tables of 32-bit code are not followed.
pub(super) fn translate(
    [cr0, cr3, cr4, efer]: [u64; 4],
    word: &mut dyn FnMut(u64) -> Option<u64>,
    address: u64,
) -> Option<u64> {
    if cr0 & PAGING == 0 {
        return Some(address);
    }
    if efer & LONG == 0 {
        return None;
    }
    let levels = if cr4 & FIVE_LEVELS == 0 { 4 } else { 5 };
    let width = 12 + 9 * levels;
    // The bits above are copies of the highest one that counts.
    let above = address.cast_signed() >> (width - 1);
    if above != 0 && above != -1 {
        return None;
    }
    let mut table = cr3 & ADDRESS;
    for level in (0..levels).rev() {
        let shift = 12 + 9 * level;
        let entry = word(table + (address >> shift & 0x1ff) * 8)?;
        if entry & PRESENT == 0 {
            return None;
        }
        let is_page = level == 0 || (level <= 2 && entry & LARGE != 0);
        if is_page {
            let offset = (1 << shift) - 1;
            return Some(entry & ADDRESS & !offset | address & offset);
        }
        table = entry & ADDRESS;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Tables at 0x1000 and above, each of whose entries leads to the next; the last one is `last`.
    fn tables(indices: &[u64], last: u64) -> HashMap<u64, u64> {
        let mut words = HashMap::new();
        for (number, index) in (1..).zip(indices) {
            let next = ((number + 1) * 0x1000) | PRESENT;
            words.insert(number * 0x1000 + index * 8, next);
        }
        let count = indices.len() as u64;
        words.insert(count * 0x1000 + indices[indices.len() - 1] * 8, last);
        words
    }

    fn find(words: &HashMap<u64, u64>, cr4: u64, address: u64) -> Option<u64> {
        // CR3's lowest bits are no address.
        let registers = [PAGING, 0x1018, cr4, LONG];
        translate(registers, &mut |at| words.get(&at).copied(), address)
    }

    const HIGH: u64 = 0xffff_ffff_8012_3456;

    #[test]
    fn pages_of_each_size_are_found() {
        let no_execute = 1 << 63;
        let small = tables(&[511, 510, 0, 0x123], 0x7654_3000 | PRESENT | no_execute);
        assert_eq!(find(&small, 0, HIGH), Some(0x7654_3456));
        assert_eq!(find(&small, 0, HIGH + 0x1000), None);
        let large = tables(&[511, 510, 0], 0x7640_0000 | PRESENT | LARGE);
        assert_eq!(find(&large, 0, HIGH), Some(0x7652_3456));
        let huge = tables(&[511, 510], 0x4000_0000 | PRESENT | LARGE);
        assert_eq!(find(&huge, 0, HIGH), Some(0x4012_3456));
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let absent = tables(&[511, 510, 0, 0x123], 0x7654_3000);
        assert_eq!(find(&absent, 0, HIGH), None);
        let there = tables(&[511, 510, 0, 0x123], 0x7654_3000 | PRESENT);
        // No copies of its highest bit that counts.
        assert_eq!(find(&there, 0, HIGH & !(1 << 60)), None);
        assert_eq!(find(&there, 0, HIGH & (u64::MAX >> 16)), None);
    }

    #[test]
    fn there_can_be_five_levels() {
        let words = tables(&[3, 511, 510, 0, 0x123], 0x7654_3000 | PRESENT);
        let address = 3 << 48 | HIGH & (u64::MAX >> 16);
        assert_eq!(find(&words, FIVE_LEVELS, address), Some(0x7654_3456));
        assert_eq!(find(&words, 0, address), None);
    }

    #[test]
    fn without_page_tables_each_address_is_its_own() {
        let none = |registers| translate(registers, &mut |_| None, 0x1234);
        assert_eq!(none([0; 4]), Some(0x1234));
        assert_eq!(none([PAGING, 0, 0, 0]), None);
    }
}
