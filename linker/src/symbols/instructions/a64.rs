//! A64, by the bits that encoding classes have in common: Arm Architecture Reference Manual, C4.1.

/// BL, BLR, and BLRAA, BLRAB, BLRAAZ, BLRABZ ("Branches, Exception Generating and System instructions").
pub(super) const fn is_call(word: u32) -> bool {
    word & 0xfc00_0000 == 0x9400_0000 || word & 0xfeff_f000 == 0xd63f_0000
}

/// An exception may be raised at it.
pub(super) const fn can_fault(word: u32) -> bool {
    is_access(word) || is_trap(word) || is_system(word)
}

/// A load, a store, or one that does both ("Loads and Stores"), except by the stack pointer.
const fn is_access(word: u32) -> bool {
    word & 0x0a00_0000 == 0x0800_0000 && !is_prefetch(word) && !is_by_stack_pointer(word)
}

/// PRFM with its four kinds of addresses, and what extensions have made of its fields (RPRFM): never an exception.
const fn is_prefetch(word: u32) -> bool {
    // Literal; unsigned offset; register; unscaled offset (PRFUM).
    word & 0xff00_0000 == 0xd800_0000
        || word & 0xffc0_0000 == 0xf980_0000
        || word & 0xffe0_0c00 == 0xf8a0_0800
        || word & 0xffe0_0c00 == 0xf880_0000
}

/// The base register is number 31, which is the stack pointer there. Literals have no base register.
const fn is_by_stack_pointer(word: u32) -> bool {
    let is_literal = word & 0x3b00_0000 == 0x1800_0000;
    !is_literal && word >> 5 & 31 == 31
}

/// SVC, HVC, SMC, BRK, HLT, DCPS ("Exception generation"), and UDF.
const fn is_trap(word: u32) -> bool {
    word & 0xff00_0000 == 0xd400_0000 || word & 0xffff_0000 == 0
}

/// SYS and SYSL for caches and address translation (DC, IC, AT: CRn is 7), which take an address, and MSR and MRS of a
/// register ("System register move"), which may not be there or not be allowed.
const fn is_system(word: u32) -> bool {
    word & 0xffd8_f000 == 0xd508_7000 || word & 0xffd0_0000 == 0xd510_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls() {
        // b .; bl .; blr x8; br x8; ret; blraaz x1; braaz x1; retaa
        let words = [
            (0x1400_0000, false),
            (0x9400_0000, true),
            (0xd63f_0100, true),
            (0xd61f_0100, false),
            (0xd65f_03c0, false),
            (0xd63f_083f, true),
            (0xd61f_083f, false),
            (0xd65f_0bff, false),
        ];
        for (word, expected) in words {
            assert_eq!(is_call(word), expected, "{word:#x}");
        }
    }
}
