//! The text of an exception: the cause and the place. Manual: D1.3 "Exceptions".

use core::fmt;

use super::{Syndrome, TrapFrame};

/// The kind of an exception: the four vectors of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An exception of an instruction, which could not be executed or which requests the exception.
    Synchronous,
    /// An ordinary interrupt.
    Irq,
    /// An urgent interrupt.
    Fiq,
    /// An asynchronous error of the system.
    SError,
}

impl TrapFrame {
    /// Returns the kind of the exception.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self.vector & 3 {
            0 => Kind::Synchronous,
            1 => Kind::Irq,
            2 => Kind::Fiq,
            _ => Kind::SError,
        }
    }

    /// Returns whether the frame is on an overflow stack, because the other stack had no space.
    #[must_use]
    pub const fn is_on_overflow_stack(&self) -> bool {
        self.vector & 16 != 0
    }

    /// Returns whether the interrupted code can continue. From the overflow stack it cannot, because the trap code expects the interrupted
    /// stack directly above the frame, unless the overflow stack itself was interrupted.
    #[must_use]
    pub fn can_return(&self) -> bool {
        let end = core::ptr::from_ref(self).wrapping_add(1) as u64;
        !self.is_on_overflow_stack() || self.sp() == end
    }

    /// Returns whether the exception is a breakpoint. The interrupted program counter is the address of the instruction.
    #[must_use]
    pub fn is_breakpoint(&self) -> bool {
        self.kind() == Kind::Synchronous && self.syndrome().is_breakpoint()
    }

    /// Makes the interrupted code continue after the breakpoint instruction.
    pub const fn skip_breakpoint(&mut self) {
        self.elr = self.elr.wrapping_add(4);
    }

    /// Returns whether the exception is an NMI by architecture: always false on AArch64. A kernel that uses an interrupt as NMI
    /// distinguishes it by its ID.
    #[must_use]
    pub const fn is_nmi(&self) -> bool {
        false
    }

    /// Returns whether a memory access failed.
    #[must_use]
    pub fn is_bad_access(&self) -> bool {
        self.kind() == Kind::Synchronous && self.syndrome().is_data_abort()
    }

    /// Returns whether the exception is a machine check, which registers outside of the frame describe: always false on AArch64.
    #[must_use]
    pub const fn is_machine_check(&self) -> bool {
        false
    }

    /// Returns the cause of a synchronous exception.
    #[must_use]
    pub const fn syndrome(&self) -> Syndrome {
        Syndrome::from_bits_retain(self.esr)
    }
}

/// The text of an exception: the cause and the place.
pub type Words<'a> = crate::exception::Words<'a, TrapFrame>;

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = self.frame;
        if frame.is_on_overflow_stack() {
            f.write_str("no space left on the stack: ")?;
        }
        match frame.kind() {
            Kind::Synchronous => frame
                .syndrome()
                .describe(f, frame.far, self.names, frame.sp),
            Kind::Irq if frame.interrupt != 0 => match self.names.interrupt(frame.interrupt) {
                Some(name) => f.write_str(name),
                None => write!(f, "interrupt {}", frame.interrupt),
            },
            Kind::Irq => f.write_str("IRQ"),
            Kind::Fiq => f.write_str("FIQ"),
            Kind::SError => write!(f, "SError, syndrome {:#010x}", frame.esr),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stacks;
    use crate::tests::Kernel;

    fn words(vector: u64, esr: u64, far: u64) -> String {
        let frame = TrapFrame {
            vector,
            esr,
            far,
            sp: 0x1235,
            ..TrapFrame::default()
        };
        frame.words(&Stacks::of(&Kernel)).to_string()
    }

    const fn class(class: u64) -> u64 {
        class << 26 | 1 << 25
    }

    #[test]
    fn an_abort_says_what_was_tried_and_what_is_there() {
        assert_eq!(
            words(0, class(0x25) | 4, 0),
            "data abort: read of 0x0000000000000000, translation fault level 0"
        );
        assert_eq!(
            words(0, class(0x25) | 0x4f, Kernel::GUARD),
            "data abort: write to 0x0000000000001000, permission fault level 3, guard page of stack boot"
        );
        assert_eq!(
            words(0, class(0x21) | 7, 0x10),
            "instruction abort: execution of 0x0000000000000010, translation fault level 3"
        );
        assert_eq!(
            words(0, class(0x25) | 1 << 10 | 0x10, Kernel::GUARD),
            "data abort: read of an address that the CPU did not record, external abort"
        );
        assert_eq!(
            words(0, class(0x25) | 1 << 8 | 1 << 7 | 0x3f, 0),
            "data abort: read of 0x0000000000000000, fault status 0x3f, TABLE_WALK_STAGE_1, CACHE_MAINTENANCE"
        );
    }

    #[test]
    fn other_exceptions_have_their_names() {
        assert_eq!(words(4, class(0x3c) | 7, 0), "breakpoint 0x7");
        assert_eq!(words(0, class(0), 0), "undefined instruction");
        assert_eq!(
            words(0, class(0x26), 0),
            "misaligned stack pointer: 0x0000000000001235"
        );
        assert_eq!(
            words(0, class(0x22), 0x11),
            "misaligned program counter: 0x0000000000000011"
        );
        assert_eq!(
            words(0, class(0x07), 0),
            "trapped SVE, SIMD or floating-point instruction, syndrome 0x1e000000"
        );
        assert_eq!(
            words(0, class(0x3f), 0),
            "exception of unknown class 0x3f, syndrome 0xfe000000"
        );
        assert_eq!(words(7, 0xbe00_0000, 0), "SError, syndrome 0xbe000000");
    }

    #[test]
    fn traps_of_compilers_are_no_breakpoints() {
        let is_breakpoint =
            |immediate: u64| Syndrome::from_bits_retain(class(0x3c) | immediate).is_breakpoint();
        for trap in [1, 1000, 0x5500, 0x5516, 0x55ff, 0xc470, 0xc473] {
            assert!(!is_breakpoint(trap), "{trap:#x}");
            let text = format!("compiler-generated trap instruction: brk {trap:#x}");
            assert_eq!(words(4, class(0x3c) | trap, 0), text);
        }
        for breakpoint in [0, 2, 0x5600, 0xf000, 0xffff] {
            assert!(is_breakpoint(breakpoint), "{breakpoint:#x}");
        }
    }

    #[test]
    fn a_full_stack_of_exceptions_is_named() {
        assert_eq!(
            words(20, class(0), 0),
            "no space left on the stack: undefined instruction"
        );
    }

    #[test]
    fn interrupts_have_the_kernels_names() {
        assert_eq!(words(1, 0, 0), "IRQ");
        assert_eq!(words(6, 0, 0), "FIQ");
        let frame = |interrupt| TrapFrame {
            vector: 1,
            interrupt,
            ..TrapFrame::default()
        };
        assert_eq!(
            frame(32).words(&Stacks::of(&Kernel)).to_string(),
            "timer interrupt"
        );
        assert_eq!(
            frame(33).words(&Stacks::of(&Kernel)).to_string(),
            "interrupt 33"
        );
    }
}
