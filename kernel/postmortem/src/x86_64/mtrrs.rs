//! Memory types of the firmware, which distinguish memory from devices independently of page tables. Manual: volume 3, "Memory Type Range
//! Registers (MTRRs)".

/// Registers.
const CAPABILITIES: u32 = 0xfe;
/// The base of the first variable range. The mask of each is the register behind.
const FIRST_BASE: u32 = 0x200;
const DEFAULT: u32 = 0x2ff;

/// In the capabilities: how many variable ranges there are, and that there are fixed ones.
const COUNT: u64 = 0xff;
const HAS_FIXED: u64 = 1 << 8;
/// In the default: the fixed ranges are in use; all of them are.
const FIXED_IN_USE: u64 = 1 << 10;
const IN_USE: u64 = 1 << 11;
/// In a mask: the range is in use.
const VALID: u64 = 1 << 11;
/// In bases and masks.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// More than any processor has.
const MOST: usize = 16;

/// The registers as they are, but the fixed ones, which are read when they are needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mtrrs {
    default: u64,
    has_fixed: bool,
    /// Base and mask of each range in use, so many of them; the others are 0.
    ranges: [(u64, u64); MOST],
    count: usize,
    /// There are more.
    is_cut: bool,
}

impl Mtrrs {
    /// Those of a processor that has none, or uses none: page tables alone tell.
    pub(super) const NONE: Self = Self {
        default: 0,
        has_fixed: false,
        ranges: [(0, 0); MOST],
        count: 0,
        is_cut: false,
    };

    /// Those that `read` reads by their numbers.
    pub(super) fn new(read: impl Fn(u32) -> u64) -> Self {
        let (default, capabilities) = (read(DEFAULT), read(CAPABILITIES));
        let mut mtrrs = Self {
            default,
            has_fixed: default & FIXED_IN_USE != 0 && capabilities & HAS_FIXED != 0,
            ..Self::NONE
        };
        let mut base = FIRST_BASE;
        for _ in 0..capabilities & COUNT {
            let mask = read(base | 1);
            if mask & VALID != 0 {
                match mtrrs.ranges.get_mut(mtrrs.count) {
                    Some(range) => *range = (read(base), mask),
                    None => mtrrs.is_cut = true,
                }
                mtrrs.count = mtrrs.count.saturating_add(1).min(MOST);
            }
            base = base.saturating_add(2);
        }
        mtrrs
    }

    /// Whether what lies at a physical address may be cached. `read` reads a register by its number.
    pub(super) fn may_be_cached(&self, address: u64, read: impl Fn(u32) -> u64) -> bool {
        // Without them nothing is cached, devices or not, so they tell nothing.
        if self.default & IN_USE == 0 {
            return true;
        }
        if let (true, Some((number, byte))) = (self.has_fixed, fixed(address)) {
            return is_cached(read(number) >> (byte << 3));
        }
        let of_address = |(base, mask): &&(u64, u64)| (address ^ base) & mask & ADDRESS == 0;
        let ranges = self.ranges.iter().take(self.count);
        let mut types = ranges.filter(of_address).map(|(base, _)| *base);
        match types.next() {
            None => !self.is_cut && is_cached(self.default),
            // Where ranges overlap, what is not cached prevails.
            Some(first) => !self.is_cut && is_cached(first) && types.all(is_cached),
        }
    }
}

/// Whether the type in the lowest byte is write-through, write-protected or write-back.
const fn is_cached(register: u64) -> bool {
    matches!(register & 0xff, 4..=6)
}

/// The register of the fixed range at an address, and which of its bytes has the type.
fn fixed(address: u64) -> Option<(u32, u64)> {
    let (number, from, size) = match address {
        0..0x8_0000 => (0x250, 0, 16),
        0x8_0000..0xa_0000 => (0x258, 0x8_0000, 14),
        0xa_0000..0xc_0000 => (0x259, 0xa_0000, 14),
        0xc_0000..0x10_0000 => (0x268, 0xc_0000, 12),
        _ => return None,
    };
    let index = address.checked_sub(from)? >> size;
    Some((u32::checked_add(number, (index >> 3) as u32)?, index & 7))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACK: u64 = 6;
    const UNCACHED: u64 = 0;
    /// Both kinds are in use.
    const BOTH: u64 = IN_USE | FIXED_IN_USE;

    /// Whether an address may be cached, by registers that have values; all others must not be read.
    fn may(registers: &[(u32, u64)], address: u64) -> bool {
        let read = |number| {
            let register = registers.iter().find(|(its, _)| *its == number);
            let (_, value) = register.unwrap_or_else(|| panic!("{number:#x} is read"));
            *value
        };
        Mtrrs::new(read).may_be_cached(address, read)
    }

    #[test]
    fn a_range_has_its_type_and_all_else_the_default() {
        // As a PC's firmware has them: the last gigabyte is for devices.
        let (base, mask) = (0xc000_0000 | UNCACHED, 0xff_c000_0000 | VALID);
        let of_pc = [
            (DEFAULT, IN_USE | BACK),
            (CAPABILITIES, 2),
            (0x200, base),
            (0x201, mask),
            (0x203, 0),
        ];
        for (address, expected) in [
            (0, true),
            (0xb_8000, true),
            (0xbfff_fff8, true),
            (0xc000_0000, false),
            (0xfee0_0020, false),
            (0xffff_fff8, false),
            (0x1_0000_0000, true),
            (0x1_fee0_0020, true),
        ] {
            assert_eq!(may(&of_pc, address), expected, "{address:#x}");
        }
        // The other way: only the first gigabyte is memory.
        let mut inverse = of_pc;
        (inverse[0].1, inverse[2].1) = (IN_USE | UNCACHED, BACK);
        assert!(may(&inverse, 0x3fff_fff8));
        assert!(!may(&inverse, 0x4000_0000));
    }

    #[test]
    fn what_is_not_cached_prevails() {
        for (first, second, expected) in [
            (BACK, BACK, true),
            (BACK, UNCACHED, false),
            (UNCACHED, BACK, false),
            (4, 6, true),
            (1, 6, false),
        ] {
            let registers = [
                (DEFAULT, IN_USE | UNCACHED),
                (CAPABILITIES, 2),
                (0x200, first),
                (0x201, 0xff_8000_0000 | VALID),
                (0x202, 0x4000_0000 | second),
                (0x203, 0xff_c000_0000 | VALID),
            ];
            assert_eq!(may(&registers, 0x4000_0000), expected, "{first} {second}");
        }
    }

    #[test]
    fn each_fixed_range_is_one_byte() {
        let types = |at: u32| -> u64 { if at == 3 { 6 << 24 } else { 6 << 56 } };
        for (number, start, size, last) in [
            (0x250, 0, 0x1_0000, 0x7_0000),
            (0x258, 0x8_0000, 0x4000, 0x9_c000),
            (0x259, 0xa_0000, 0x4000, 0xb_c000),
            (0x268, 0xc_0000, 0x1000, 0xc_7000),
            (0x26b, 0xd_8000, 0x1000, 0xd_f000),
            (0x26f, 0xf_8000, 0x1000, 0xf_f000),
        ] {
            for (value, address) in [(types(3), start + 3 * size), (types(7), last)] {
                let registers = [
                    (DEFAULT, BOTH | BACK),
                    (CAPABILITIES, HAS_FIXED),
                    (number, value),
                ];
                assert!(may(&registers, address), "{address:#x}");
                assert!(may(&registers, address + size - 8), "{address:#x}");
                assert!(!may(&registers, start), "{start:#x}");
                assert!(!may(&registers, address - 8), "{address:#x}");
            }
        }
        let registers = [(DEFAULT, BOTH | BACK), (CAPABILITIES, HAS_FIXED)];
        assert!(may(&registers, 0x10_0000));
        // Not there, or not in use.
        for (default, capabilities) in [(BOTH, 0), (IN_USE, HAS_FIXED)] {
            assert!(may(
                &[(DEFAULT, default | BACK), (CAPABILITIES, capabilities)],
                0
            ));
        }
    }

    #[test]
    fn those_that_are_not_in_use_tell_nothing() {
        assert!(may(
            &[(DEFAULT, FIXED_IN_USE), (CAPABILITIES, HAS_FIXED)],
            0xa_0000
        ));
        assert!(Mtrrs::NONE.may_be_cached(0xfee0_0000, |_| panic!("one is read")));
    }

    /// Of more ranges than are known here nothing is claimed.
    #[test]
    fn too_many_ranges_are_not_believed() {
        for (count, expected) in [(MOST, true), (MOST + 1, false)] {
            let read = |number| match number {
                DEFAULT => IN_USE | BACK,
                CAPABILITIES => count as u64,
                _ if number % 2 == 1 => 0xff_ffff_f000 | VALID,
                _ => u64::from(number) << 12 | BACK,
            };
            assert_eq!(
                Mtrrs::new(read).may_be_cached(0x10_0000, read),
                expected,
                "{count}"
            );
        }
    }
}
