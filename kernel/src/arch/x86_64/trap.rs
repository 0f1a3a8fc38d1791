//! What happened when an exception came. Manual: volume 3, chapter 7 "Interrupt and Exception Handling".

use core::fmt;

use x86_64::registers::control::Cr2;
use x86_64::structures::idt::PageFaultErrorCode;

use super::registers::Registers;
use crate::panic;

/// What vectors.s leaves on the stack.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TrapFrame {
    pub r15: u64,
    pub r14: u64,
    pub r13: u64,
    pub r12: u64,
    pub r11: u64,
    pub r10: u64,
    pub r9: u64,
    pub r8: u64,
    pub rbp: u64,
    pub rdi: u64,
    pub rsi: u64,
    pub rdx: u64,
    pub rcx: u64,
    pub rbx: u64,
    pub rax: u64,
    /// Which exception.
    pub vector: u64,
    /// Zero for those without.
    pub error_code: u64,
    pub rip: u64,
    pub cs: u64,
    pub rflags: u64,
    pub rsp: u64,
    pub ss: u64,
}

impl TrapFrame {
    /// The registers of what was interrupted.
    pub fn registers(&self) -> Registers {
        let mut registers = Registers::new(self.rip, self.rsp, self.rbp);
        registers.r10 = Some(self.r10);
        registers.r11 = Some(self.r11);
        registers
    }
}

/// What happened, in words.
impl fmt::Display for TrapFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.vector == PAGE_FAULT {
            return self.page_fault(f);
        }
        match NAMES.get(self.vector as usize) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "exception {}", self.vector)?,
        }
        write!(f, ", error code {:#x}", self.error_code)
    }
}

impl TrapFrame {
    fn page_fault(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = PageFaultErrorCode::from_bits_truncate(self.error_code);
        let action = if code.contains(PageFaultErrorCode::INSTRUCTION_FETCH) {
            "execution of"
        } else if code.contains(PageFaultErrorCode::CAUSED_BY_WRITE) {
            "write to"
        } else {
            "read of"
        };
        let reason = if code.contains(PageFaultErrorCode::PROTECTION_VIOLATION) {
            "not permitted"
        } else {
            "not mapped"
        };
        // The register holds what was used, which need not be a valid address.
        let address = Cr2::read_raw();
        write!(f, "page fault: {action} {address:#018x}, {reason}")
    }
}

const PAGE_FAULT: u64 = 14;

/// The exceptions' names, by vector: table 7-1 "Protected-Mode Exceptions and Interrupts".
const NAMES: [&str; 22] = [
    "divide error",
    "debug exception",
    "NMI",
    "breakpoint",
    "overflow",
    "bound range exceeded",
    "invalid opcode",
    "device not available",
    "double fault",
    "coprocessor segment overrun",
    "invalid TSS",
    "segment not present",
    "stack-segment fault",
    "general protection",
    "page fault",
    "reserved exception",
    "x87 floating-point error",
    "alignment check",
    "machine check",
    "SIMD floating-point exception",
    "virtualization exception",
    "control protection exception",
];

/// Called by vectors.s.
pub extern "C" fn exception(frame: &TrapFrame) -> ! {
    panic::fault(format_args!("{frame}"), frame.registers())
}
