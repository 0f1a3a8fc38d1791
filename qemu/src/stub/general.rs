//! Registers as gdb has them of any processor of an architecture.

use super::{aarch64, armv7a, x86_64};
use crate::hardware::Processor;

/// The general registers, the program counter, the flags and, on x86-64, selectors, in gdb's order, as they lie in memory; those whose
/// names are not among these are not known.
#[must_use]
pub fn general(arch: Processor, named: &[(String, u64)]) -> Vec<Option<u8>> {
    let mut all = Vec::new();
    let mut add = |name: &str, size: usize| {
        // AArch64's processor state has two names: the architecture's and gdb's.
        let is_it = |known: &str| known == name || (known == "cpsr" && name == "pstate");
        let value = named.iter().find(|(known, _)| is_it(known));
        let bytes = value.map(|(_, value)| value.to_le_bytes());
        all.extend((0..size).map(|at| bytes.map(|bytes| bytes[at])));
    };
    match arch {
        Processor::X86_64 => x86_64::general().for_each(|(name, size)| add(name, size)),
        Processor::Aarch64 => aarch64::general().for_each(|(name, size)| add(&name, size)),
        Processor::Armv7a => armv7a::general().for_each(|(name, size)| add(&name, size)),
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_in_gdbs_order() {
        let named = [
            ("rsp", 0x8007),
            ("rip", 0x1122),
            ("cs", 8),
            ("rbx", 1 << 56),
        ];
        let named = named.map(|(name, value)| (name.to_owned(), value));
        let found = general(Processor::X86_64, &named);
        // As much as gdb takes for `org.gnu.gdb.i386.core` before the floating-point registers.
        assert_eq!(found.len(), 17 * 8 + 7 * 4);
        let at = |number: usize| found[8 * number..8 * number + 8].to_vec();
        assert_eq!(at(0), [None; 8]);
        assert_eq!(at(1)[7], Some(1));
        assert_eq!(at(7)[..3], [Some(7), Some(0x80), Some(0)]);
        assert_eq!(at(16)[..2], [Some(0x22), Some(0x11)]);
        assert_eq!(
            found[17 * 8 + 4..][..4],
            [Some(8), Some(0), Some(0), Some(0)]
        );

        let named = [("pc".to_owned(), 0x80), ("x30".to_owned(), 0x90)];
        let found = general(Processor::Aarch64, &named);
        assert_eq!(found.len(), 33 * 8 + 4);
        assert_eq!(
            (found[30 * 8], found[31 * 8], found[32 * 8]),
            (Some(0x90), None, Some(0x80))
        );

        let named = [("pc", 0x80), ("r11", 0x90), ("cpsr", 0xd3)];
        let named = named.map(|(name, value)| (name.to_owned(), value));
        let found = general(Processor::Armv7a, &named);
        // With the registers of floating point that old processors had, as gdb has them where nobody describes any.
        assert_eq!(found.len(), 16 * 4 + 8 * 12 + 2 * 4);
        assert_eq!(
            (found[11 * 4], found[12 * 4], found[15 * 4], found[164]),
            (Some(0x90), None, Some(0x80), Some(0xd3))
        );
    }
}
