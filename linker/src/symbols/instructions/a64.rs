//! Recognises A64 instructions by the bits of their encoding class: Arm Architecture Reference Manual, C4.1.

/// BL, BLR, and BLRAA, BLRAB, BLRAAZ, BLRABZ ("Branches, Exception Generating and System instructions").
pub(super) const fn is_call(word: u32) -> bool {
    word & 0xfc00_0000 == 0x9400_0000 || word & 0xfeff_f000 == 0xd63f_0000
}

/// The instruction may raise an exception.
pub(super) const fn can_fault(word: u32) -> bool {
    is_access(word) || is_trap(word) || is_system(word)
}

/// A load, a store, or one that does both ("Loads and Stores"), except by the stack pointer.
const fn is_access(word: u32) -> bool {
    word & 0x0a00_0000 == 0x0800_0000 && !is_prefetch(word) && !is_by_stack_pointer(word)
}

/// PRFM with its four kinds of addresses, and RPRFM, which shares its encoding: they never raise an exception.
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

/// SYS and SYSL for caches and address translation (DC, IC, AT: CRn is 7), which take an address, and MSR and MRS ("System
/// register move") of a register that may not exist. DAIF and NZCV always exist, and are excluded because each lock uses them.
const fn is_system(word: u32) -> bool {
    let is_move = word & 0xffd0_0000 == 0xd510_0000;
    let is_of_state = word & 0xffdf_ff00 == 0xd51b_4200;
    word & 0xffd8_f000 == 0xd508_7000 || is_move && !is_of_state
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

    /// Words by `llvm-mc --show-encoding`.
    #[test]
    fn faults() {
        let can = [
            ("ldr x0, [x1]", 0xf940_0020),
            ("str x0, [x1, #8]!", 0xf800_8c20),
            ("ldp x0, x1, [x2], #16", 0xa8c1_0440),
            ("ldrb w0, [x1, x2]", 0x3862_6820),
            ("ldr x0, .", 0x5800_0000),
            ("ldr xzr, .", 0x5800_001f),
            ("ldr d0, [x1]", 0xfd40_0020),
            ("ld1 { v0.16b }, [x0]", 0x4c40_7000),
            ("ldaxr x0, [x1]", 0xc85f_fc20),
            ("cas x0, x1, [x2]", 0xc8a0_7c41),
            ("ldadd x0, x1, [x2]", 0xf820_0041),
            ("stg x0, [x1]", 0xd920_0820),
            ("ldraa x0, [x1]", 0xf820_0420),
            ("dc zva, x0", 0xd50b_7420),
            ("at s1e1r, x0", 0xd508_7800),
            ("brk #1", 0xd420_0020),
            ("svc #0", 0xd400_0001),
            ("hlt #0", 0xd440_0000),
            ("udf #0", 0x0000_0000),
            ("msr VBAR_EL1, x0", 0xd518_c000),
            ("mrs x0, MIDR_EL1", 0xd538_0000),
        ];
        let cannot = [
            ("ldr x0, [sp, #8]", 0xf940_07e0),
            ("stp x29, x30, [sp, #-16]!", 0xa9bf_7bfd),
            ("str x0, [sp], #16", 0xf801_07e0),
            ("ldaxr x0, [sp]", 0xc85f_ffe0),
            ("prfm pldl1keep, [x0]", 0xf980_0000),
            ("prfm pldl1keep, [x0, x1]", 0xf8a1_6800),
            ("prfum pldl1keep, [x0, #1]", 0xf880_1000),
            ("prfm pldl1keep, .", 0xd800_0000),
            ("udiv x0, x1, x2", 0x9ac2_0820),
            ("add x0, x1, x2", 0x8b02_0020),
            ("movi v0.16b, #0", 0x4f00_e400),
            ("adrp x0, .", 0x9000_0000),
            ("b .", 0x1400_0000),
            ("bl .", 0x9400_0000),
            ("ret", 0xd65f_03c0),
            ("isb", 0xd503_3fdf),
            ("wfi", 0xd503_207f),
            ("msr DAIFSet, #2", 0xd503_42df),
            ("mrs x0, DAIF", 0xd53b_4220),
            ("msr DAIF, x0", 0xd51b_4220),
        ];
        for (text, word) in can {
            assert!(can_fault(word), "{text}");
        }
        for (text, word) in cannot {
            assert!(!can_fault(word), "{text}");
        }
    }
}
