//! What happened when an exception came. Manual: D1.3 "Exceptions", D24.2.40 "ESR_EL1, Exception Syndrome Register".

use core::fmt;

use super::exit;
use super::registers::Registers;
use crate::panic;
use crate::verdict::Verdict;

/// What vectors.s leaves on the stack.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TrapFrame {
    /// `x0` to `x30`.
    pub x: [u64; 31],
    /// The interrupted stack pointer.
    pub sp: u64,
    /// Where the exception came: the instruction that failed, or the next one.
    pub elr: u64,
    /// The interrupted state.
    pub spsr: u64,
    /// What happened.
    pub esr: u64,
    /// The address that could not be used, if that is what happened.
    pub far: u64,
    /// Which of the 16 vectors.
    pub vector: u64,
    padding: u64,
}

impl TrapFrame {
    /// The registers of what was interrupted.
    pub fn registers(&self) -> Registers {
        Registers::new(self.elr, self.sp, self.x[29], self.x[30])
    }

    /// Bits 31 to 26 of the syndrome: the exception's class.
    fn class(&self) -> u64 {
        (self.esr >> 26) & 0x3f
    }
}

/// What happened, in words.
impl fmt::Display for TrapFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KINDS: [&str; 4] = ["synchronous exception", "IRQ", "FIQ", "SError"];
        let kind = KINDS[(self.vector & 3) as usize];
        if self.vector & 3 != 0 {
            return write!(f, "{kind}, syndrome {:#010x}", self.esr);
        }
        let address = self.far;
        let reason = Reason(self.esr & 0x3f);
        match self.class() {
            0x00 => f.write_str("undefined instruction"),
            0x20 | 0x21 => write!(
                f,
                "instruction abort: execution of {address:#018x}, {reason}"
            ),
            0x22 => write!(f, "misaligned program counter {address:#018x}"),
            // Bit 6 of the syndrome: a write.
            0x24 | 0x25 if self.esr & (1 << 6) != 0 => {
                write!(f, "data abort: write to {address:#018x}, {reason}")
            }
            0x24 | 0x25 => write!(f, "data abort: read of {address:#018x}, {reason}"),
            0x26 => write!(f, "misaligned stack pointer {:#018x}", self.sp),
            0x3c => write!(f, "brk {:#x}", self.esr & 0xffff),
            class => write!(f, "{kind} of class {class:#x}, syndrome {:#010x}", self.esr),
        }
    }
}

/// Why an access failed: the fault status code, the low six bits of an abort's syndrome.
struct Reason(u64);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.0 & 3;
        match self.0 >> 2 {
            0 => write!(f, "address size fault level {level}"),
            1 => write!(f, "translation fault level {level}"),
            2 => write!(f, "access flag fault level {level}"),
            3 => write!(f, "permission fault level {level}"),
            _ if self.0 == 0x21 => f.write_str("alignment fault"),
            _ if self.0 == 0x10 => f.write_str("external abort"),
            _ => write!(f, "fault status {:#x}", self.0),
        }
    }
}

/// Called by vectors.s.
pub extern "C" fn exception(frame: &TrapFrame) -> ! {
    if exit::is_leaving() {
        // The verdict is already known; this is `hlt` where nobody listens for semihosting.
        exit::leave(Verdict::Panicked);
    }
    panic::fault(format_args!("{frame}"), frame.registers())
}
