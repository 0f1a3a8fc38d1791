//! Page tables of 32-bit ARM ("Arm Architecture Reference Manual, ARMv7-A and ARMv7-R edition", B3.6 "Long-descriptor translation table
//! format").

use super::aarch64::Half;

/// Bits of TTBCR: how many bits at the top of an address are zeros for the first table, and ones for the second; and that there is
/// no such table.
const SIZE: u64 = 7;
const SECOND: u64 = 16;
const NONE: [u64; 2] = [1 << 7, 1 << 23];

/// The physical address, by SCTLR, TTBCR, and TTBR0 and TTBR1. An address has 32 bits.
pub(super) fn translate(
    (control, translation, tables): (u64, u64, [u64; 2]),
    is_user: bool,
    word: &mut dyn FnMut(u64) -> Option<u64>,
    address: u64,
) -> Option<u64> {
    if address >> 32 != 0 {
        return None;
    }
    let sizes = [translation & SIZE, translation >> SECOND & SIZE];
    let number = choose(sizes, address)?;
    let width = 32 - sizes[number] as u32;
    let is_none = translation & NONE[number] != 0;
    let half = Half::of_32_bits(width, tables[number]);
    let within = address & ((1 << width) - 1);
    // Without page tables, all of the address counts.
    let is_on = control & 1 != 0;
    match is_on {
        false => Some(address),
        true if is_none => None,
        true => half.translate(control, is_user, word, within),
    }
}

/// Which table has an address (B3.6.4 "Selecting between TTBR0 and TTBR1").
fn choose([first, second]: [u64; 2], address: u64) -> Option<usize> {
    let zeros = address >> (32 - first) == 0;
    let ones = address >> (32 - second) == (1 << second) - 1;
    match (first, second) {
        (0, 0) => Some(0),
        (_, 0) => Some(usize::from(!zeros)),
        (0, _) => Some(usize::from(ones)),
        _ if zeros => Some(0),
        _ => ones.then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// The long format; IRGN0, ORGN0 and SH0.
    const LONG: u64 = 1 << 31 | 0x3500;
    const TABLE: u64 = 3;
    const PAGE: u64 = 3 | 1 << 10;
    const BLOCK: u64 = 1 | 1 << 10;
    const USER: u64 = 1 << 6;

    fn find(
        words: &HashMap<u64, u64>,
        translation: u64,
        is_user: bool,
        address: u64,
    ) -> Option<u64> {
        let tables = [1 << 48 | 0x1000, 0x8000];
        let registers = (1, translation, tables);
        translate(
            registers,
            is_user,
            &mut |at| words.get(&at).copied(),
            address,
        )
    }

    #[test]
    fn pages_and_blocks_are_found() {
        let words = HashMap::from([
            // The second of four gigabytes.
            (0x1008, 0x2000 | TABLE),
            (0x2000 + 8, 0x3000 | TABLE),
            (0x3000 + 8 * 5, 0x7654_3000 | PAGE),
            (0x2000 + 8 * 2, 0x4040_0000 | BLOCK | USER),
            // The fourth one, beyond the first 4 GiB of memory.
            (0x1018, 0x8_c000_0000 | BLOCK),
        ]);
        let all = LONG | NONE[1];
        assert_eq!(find(&words, all, false, 0x4020_5678), Some(0x7654_3678));
        assert_eq!(find(&words, all, true, 0x4020_5678), None);
        assert_eq!(find(&words, all, true, 0x4041_2345), Some(0x4041_2345));
        assert_eq!(find(&words, all, false, 0xc000_1234), Some(0x8_c000_1234));
        for absent in [0x4020_6000, 0x4060_0000, 0x0000_1000, 0x1_4020_5678] {
            assert_eq!(find(&words, all, false, absent), None, "{absent:#x}");
        }
        assert_eq!(find(&words, all | NONE[0], false, 0x4020_5678), None);
    }

    #[test]
    fn each_address_has_its_table() {
        // T1SZ is 1: the upper half by TTBR1, whose table has two entries.
        let words = HashMap::from([(0x1000, BLOCK), (0x8008, 0x4000_0000 | BLOCK)]);
        let split = LONG | 1 << SECOND;
        assert_eq!(find(&words, split, false, 0x1234), Some(0x1234));
        assert_eq!(find(&words, split, false, 0xc000_1234), Some(0x4000_1234));
        // T0SZ is 2, and T1SZ is 0: all but the first gigabyte, whose table is of the second level.
        let words = HashMap::from([
            (0x1000 + 8 * 3, 0x0060_0000 | BLOCK),
            (0x8018, 0x4000_0000 | BLOCK),
        ]);
        let split = LONG | 2;
        assert_eq!(find(&words, split, false, 0x0060_1234), Some(0x0060_1234));
        assert_eq!(find(&words, split, false, 0xc000_1234), Some(0x4000_1234));
        // Both are smaller: what is between them has none.
        assert_eq!(choose([1, 2], 0x7fff_ffff), Some(0));
        assert_eq!(choose([1, 2], 0x8000_0000), None);
        assert_eq!(choose([1, 2], 0xc000_0000), Some(1));
    }

    #[test]
    fn without_page_tables_each_address_is_its_own() {
        let registers = (0, LONG | NONE[0], [0; 2]);
        let found = translate(registers, false, &mut |_| None, 0x4020_0001);
        assert_eq!(found, Some(0x4020_0001));
    }
}
