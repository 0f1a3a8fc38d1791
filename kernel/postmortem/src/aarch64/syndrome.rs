//! The exception syndrome: why the CPU raised an exception. Manual: D24.2.40 "ESR_EL1, Exception Syndrome Register".

use core::fmt;

use bitflags::bitflags;

use crate::names::Names;

bitflags! {
    /// The exception syndrome, `ESR_EL1`. The flags apply to data aborts; the class and the fault status are numbers in the other bits.
    #[derive(Clone, Copy, Debug)]
    pub struct Syndrome: u64 {
        /// The access was a write.
        const WRITE = 1 << 6;
        /// The access was a read of a stage 1 page table, and failed in stage 2.
        const TABLE_WALK_STAGE_1 = 1 << 7;
        /// The access was a cache maintenance instruction.
        const CACHE_MAINTENANCE = 1 << 8;
        /// The fault address register does not contain the address.
        const NO_ADDRESS = 1 << 10;
        /// The instruction has 32 bits.
        const LONG = 1 << 25;
        const _ = !0;
    }
}

/// Names of the exception classes, bits 31 to 26.
const CLASSES: [(u64, &str); 48] = [
    (0x00, "undefined instruction"),
    (0x01, "trapped WFI or WFE"),
    (0x03, "trapped MCR or MRC access to coprocessor 15"),
    (0x04, "trapped MCRR or MRRC access to coprocessor 15"),
    (0x05, "trapped MCR or MRC access to coprocessor 14"),
    (0x06, "trapped LDC or STC"),
    (0x07, "trapped SVE, SIMD or floating-point instruction"),
    (0x08, "trapped VMRS"),
    (0x09, "trapped pointer authentication"),
    (0x0a, "trapped 64-byte load or store"),
    (0x0c, "trapped MRRC access to coprocessor 14"),
    (0x0d, "branch target exception"),
    (0x0e, "illegal execution state"),
    (0x11, "SVC from AArch32"),
    (0x12, "HVC from AArch32"),
    (0x13, "SMC from AArch32"),
    (0x14, "trapped MSRR, MRRS or 128-bit system instruction"),
    (0x15, "SVC"),
    (0x16, "HVC"),
    (0x17, "SMC"),
    (0x18, "trapped system register"),
    (0x19, "trapped SVE"),
    (0x1a, "trapped ERET"),
    (0x1b, "transaction start"),
    (0x1c, "pointer authentication failure"),
    (0x1d, "trapped SME"),
    (0x1e, "granule protection check"),
    (0x20, "instruction abort from EL0"),
    (0x21, "instruction abort"),
    (0x22, "misaligned program counter"),
    (0x24, "data abort from EL0"),
    (DATA_ABORT, "data abort"),
    (0x26, "misaligned stack pointer"),
    (0x27, "memory copy or memory set exception"),
    (0x28, "floating-point exception in AArch32"),
    (0x2c, "floating-point exception"),
    (0x2d, "guarded control stack"),
    (0x2f, "SError"),
    (0x30, "hardware breakpoint from EL0"),
    (0x31, "hardware breakpoint"),
    (0x32, "software step from EL0"),
    (0x33, "software step"),
    (0x34, "watchpoint from EL0"),
    (0x35, "watchpoint"),
    (0x38, "BKPT"),
    (0x3a, "vector catch from AArch32"),
    (BRK, "breakpoint"),
    (0x3d, "profiling exception"),
];

const DATA_ABORT: u64 = 0x25;
const BRK: u64 = 0x3c;

impl Syndrome {
    /// Bits 31 to 26.
    fn class(self) -> u64 {
        (self.bits() >> 26) & 0x3f
    }

    /// Returns whether the instruction was `brk`, and not a [trap](Self::is_compiler_trap) of the compiler, so that the code can continue
    /// after it.
    #[must_use]
    pub fn is_breakpoint(self) -> bool {
        self.class() == BRK && !self.is_compiler_trap()
    }

    /// Returns whether the instruction was a `brk` that compilers emit where code must not continue, because another function may follow.
    ///
    /// Such instructions are LLVM's `trap` (1), `ubsantrap` (0x5500 plus the kind of the check) and checks of signed pointers (0xc470 plus the key),
    /// and GCC's `__builtin_trap` (1000).
    #[must_use]
    pub fn is_compiler_trap(self) -> bool {
        self.class() == BRK
            && matches!(self.immediate(), 1 | 1000 | 0x5500..=0x55ff | 0xc470..=0xc473)
    }

    /// The number in a `brk` instruction: bits 15 to 0.
    const fn immediate(self) -> u64 {
        self.bits() & 0xffff
    }

    /// Returns whether the exception is a data abort at EL1.
    #[must_use]
    pub fn is_data_abort(self) -> bool {
        self.class() == DATA_ABORT
    }

    /// Writes what happened: for an access to `address`, with the stack pointer `sp`.
    pub(super) fn describe(
        self,
        f: &mut fmt::Formatter<'_>,
        address: u64,
        names: &dyn Names,
        sp: u64,
    ) -> fmt::Result {
        let class = self.class();
        match CLASSES.iter().find(|(number, _)| *number == class) {
            _ if self.is_compiler_trap() => {
                f.write_str("compiler-generated trap instruction: brk")?
            }
            Some((_, name)) => f.write_str(name)?,
            None => write!(f, "exception of unknown class {class:#04x}")?,
        }
        match class {
            0x00 | 0x0e => Ok(()),
            0x20 | 0x21 => self.abort(f, "execution of", address, names),
            0x22 => write!(f, ": {address:#018x}"),
            0x24 | DATA_ABORT if self.contains(Self::WRITE) => {
                self.abort(f, "write to", address, names)
            }
            0x24 | DATA_ABORT => self.abort(f, "read of", address, names),
            0x26 => write!(f, ": {sp:#018x}"),
            BRK => write!(f, " {:#x}", self.immediate()),
            _ => write!(f, ", syndrome {:#010x}", self.bits()),
        }
    }

    fn abort(
        self,
        f: &mut fmt::Formatter<'_>,
        action: &str,
        address: u64,
        names: &dyn Names,
    ) -> fmt::Result {
        let status = Status(self.bits() & 0x3f);
        if self.contains(Self::NO_ADDRESS) {
            // The register has the address of an earlier fault.
            write!(
                f,
                ": {action} an address that the CPU did not record, {status}"
            )?;
        } else {
            write!(f, ": {action} {address:#018x}, {status}")?;
            names.write_guard(f, address)?;
        }
        for flag in [Self::TABLE_WALK_STAGE_1, Self::CACHE_MAINTENANCE] {
            for (name, _) in self.intersection(flag).iter_names() {
                write!(f, ", {name}")?;
            }
        }
        Ok(())
    }
}

/// Why an access failed: the fault status code, the low six bits of an abort's syndrome.
struct Status(u64);

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.0 & 3;
        match self.0 {
            0x00..=0x03 => write!(f, "address size fault level {level}"),
            0x04..=0x07 => write!(f, "translation fault level {level}"),
            0x08..=0x0b => write!(f, "access flag fault level {level}"),
            0x0c..=0x0f => write!(f, "permission fault level {level}"),
            0x10 => f.write_str("external abort"),
            0x11 => f.write_str("tag check fault"),
            0x14..=0x17 => write!(f, "external abort in a page table walk, level {level}"),
            0x18 => f.write_str("parity or ECC error"),
            0x1c..=0x1f => write!(f, "parity or ECC error in a page table walk, level {level}"),
            0x21 => f.write_str("alignment fault"),
            0x30 => f.write_str("TLB conflict"),
            0x31 => f.write_str("unsupported atomic hardware update of the page tables"),
            status => write!(f, "fault status {status:#04x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_in_order_so_that_none_is_there_twice() {
        assert!(CLASSES.is_sorted_by(|(one, _), (next, _)| one < next));
    }
}
