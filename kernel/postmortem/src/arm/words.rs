//! The text of an exception: the cause and the place. Manual: B1.8 "Exception handling".

use core::fmt;

use super::{Status, TrapFrame};

/// The kind of an exception, given by the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A jump of code to the reset vector.
    Reset,
    /// An instruction that could not be executed.
    Undefined,
    /// An `svc` instruction.
    SupervisorCall,
    /// A failed read of code, or a `bkpt` instruction.
    PrefetchAbort,
    /// A failed memory access.
    DataAbort,
    /// A jump of code to the vector of hypervisors.
    Unused,
    /// An ordinary interrupt.
    Irq,
    /// An urgent interrupt.
    Fiq,
}

impl TrapFrame {
    /// Returns the kind of the exception.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self.vector & 7 {
            0 => Kind::Reset,
            1 => Kind::Undefined,
            2 => Kind::SupervisorCall,
            3 => Kind::PrefetchAbort,
            4 => Kind::DataAbort,
            5 => Kind::Unused,
            6 => Kind::Irq,
            _ => Kind::Fiq,
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
        !self.is_on_overflow_stack() || u64::from(self.above).wrapping_sub(end) < 8
    }

    /// Returns whether the exception is a breakpoint. The interrupted program counter is the address of the instruction.
    #[must_use]
    pub fn is_breakpoint(&self) -> bool {
        self.kind() == Kind::PrefetchAbort && self.status().is_debug()
    }

    /// Makes the interrupted code continue after the breakpoint instruction, which has two bytes in Thumb code.
    pub const fn skip_breakpoint(&mut self) {
        let size = if self.is_thumb() { 2 } else { 4 };
        self.pc = self.pc.wrapping_add(size);
    }

    /// Returns whether the exception is an NMI by architecture: always false on ARM. A kernel that uses FIQ as NMI distinguishes it by its
    /// kind.
    #[must_use]
    pub const fn is_nmi(&self) -> bool {
        false
    }

    /// Returns whether a memory access of the interrupted instruction failed.
    #[must_use]
    pub fn is_bad_access(&self) -> bool {
        self.kind() == Kind::DataAbort && !self.status().is_asynchronous()
    }

    /// Returns whether the exception is a machine check, which registers outside of the frame describe: always false on ARM.
    #[must_use]
    pub const fn is_machine_check(&self) -> bool {
        false
    }

    /// Returns the cause of an abort.
    #[must_use]
    pub const fn status(&self) -> Status {
        Status(self.fsr)
    }
}

/// The text of an exception: the cause and the place.
pub type Words<'a> = crate::exception::Words<'a, TrapFrame>;

impl Words<'_> {
    fn abort(&self, f: &mut fmt::Formatter<'_>, action: &str) -> fmt::Result {
        let (address, status) = (self.frame.far, self.frame.status());
        write!(f, "{action} {address:#010x}, {status}")?;
        self.names.write_guard(f, address.into())
    }
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = self.frame;
        if frame.is_on_overflow_stack() {
            f.write_str("no space left on the stack: ")?;
        }
        match frame.kind() {
            Kind::Reset => f.write_str("reset vector"),
            Kind::Undefined => f.write_str("undefined instruction"),
            Kind::SupervisorCall => f.write_str("SVC"),
            Kind::PrefetchAbort if frame.is_breakpoint() => f.write_str("breakpoint"),
            Kind::PrefetchAbort => self.abort(f, "prefetch abort: execution of"),
            Kind::DataAbort if frame.status().is_asynchronous() => {
                let status = frame.status();
                write!(
                    f,
                    "data abort: access to an address that the CPU did not record, {status}"
                )
            }
            Kind::DataAbort if frame.status().is_write() => self.abort(f, "data abort: write to"),
            Kind::DataAbort => self.abort(f, "data abort: read of"),
            Kind::Unused => f.write_str("vector 5"),
            Kind::Irq if frame.interrupt != 0 => {
                match self.names.interrupt(frame.interrupt.into()) {
                    Some(name) => f.write_str(name),
                    None => write!(f, "interrupt {}", frame.interrupt),
                }
            }
            Kind::Irq => f.write_str("IRQ"),
            Kind::Fiq => f.write_str("FIQ"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stacks;
    use crate::tests::Kernel;

    fn words(vector: u32, fsr: u32, far: u32) -> String {
        let frame = TrapFrame {
            vector,
            fsr,
            far,
            ..TrapFrame::default()
        };
        frame.words(&Stacks::of(&Kernel)).to_string()
    }

    #[test]
    fn an_abort_says_what_was_tried_and_what_is_there() {
        assert_eq!(
            words(4, 0x206, 0),
            "data abort: read of 0x00000000, translation fault level 2"
        );
        assert_eq!(
            words(4, 0xa0f, Kernel::GUARD as u32),
            "data abort: write to 0x00001000, permission fault level 3, guard page of stack boot"
        );
        assert_eq!(
            words(4, 0x805, 0x10),
            "data abort: write to 0x00000010, translation fault, section"
        );
        for status in [0x406, 0xc06, 0x211, 0xa11] {
            assert_eq!(
                words(4, status, Kernel::GUARD as u32),
                "data abort: access to an address that the CPU did not record, asynchronous external abort"
            );
        }
        assert_eq!(
            words(3, 0x207, 0x1000_0000),
            "prefetch abort: execution of 0x10000000, translation fault level 3"
        );
    }

    #[test]
    fn other_exceptions_have_their_names() {
        assert_eq!(words(1, 0, 0), "undefined instruction");
        assert_eq!(
            words(17, 0, 0),
            "no space left on the stack: undefined instruction"
        );
        for breakpoint in [0x222, 0x002] {
            assert_eq!(words(3, breakpoint, 0), "breakpoint");
        }
        assert_eq!(words(2, 0, 0), "SVC");
        assert_eq!([words(6, 0, 0), words(7, 0, 0)], ["IRQ", "FIQ"]);
    }

    #[test]
    fn a_breakpoint_of_thumb_code_is_shorter() {
        for (spsr, after) in [(0x1f, 0x1004), (0x3f, 0x1002)] {
            let mut frame = TrapFrame {
                pc: 0x1000,
                spsr,
                ..TrapFrame::default()
            };
            frame.skip_breakpoint();
            assert_eq!(frame.pc(), after);
        }
    }
}
