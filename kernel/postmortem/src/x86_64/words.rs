//! The text of an exception: the cause and the place. Manual: volume 3, chapter 7 "Interrupt and Exception Handling".

use core::fmt;

use bitflags::bitflags;

use super::TrapFrame;

const NMI: u64 = 2;
const BREAKPOINT: u64 = 3;
const DOUBLE_FAULT: u64 = 8;
const INVALID_TSS: u64 = 10;
const STACK_SEGMENT_FAULT: u64 = 12;
const GENERAL_PROTECTION: u64 = 13;
const PAGE_FAULT: u64 = 14;
const ALIGNMENT_CHECK: u64 = 17;
const MACHINE_CHECK: u64 = 18;
const CONTROL_PROTECTION: u64 = 21;

/// The exceptions' names, by vector: table 7-1 "Protected-Mode Exceptions and Interrupts", and AMD's from 28 on.
const NAMES: [&str; 32] = [
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
    "reserved exception 15",
    "x87 floating-point error",
    "alignment check",
    "machine check",
    "SIMD floating-point exception",
    "virtualization exception",
    "control protection exception",
    "reserved exception 22",
    "reserved exception 23",
    "reserved exception 24",
    "reserved exception 25",
    "reserved exception 26",
    "reserved exception 27",
    "hypervisor injection exception",
    "VMM communication exception",
    "security exception",
    "reserved exception 31",
];

bitflags! {
    /// The error code of a page fault: figure 5-12 "Page-Fault Error Code".
    #[derive(Clone, Copy)]
    struct PageFault: u64 {
        const PROTECTION_VIOLATION = 1;
        const CAUSED_BY_WRITE = 1 << 1;
        const USER_MODE = 1 << 2;
        const MALFORMED_TABLE = 1 << 3;
        const INSTRUCTION_FETCH = 1 << 4;
        const PROTECTION_KEY = 1 << 5;
        const SHADOW_STACK = 1 << 6;
        const HLAT = 1 << 7;
        const SGX = 1 << 15;
        const RMP = 1 << 31;
    }
}

impl TrapFrame {
    /// Returns whether a memory access failed, with one of the exceptions that the CPU raises for that.
    #[must_use]
    pub const fn is_bad_access(&self) -> bool {
        matches!(
            self.vector,
            STACK_SEGMENT_FAULT | GENERAL_PROTECTION | PAGE_FAULT | ALIGNMENT_CHECK
        )
    }

    /// Returns whether the interruption is a non-maskable interrupt.
    #[must_use]
    pub const fn is_nmi(&self) -> bool {
        self.vector == NMI
    }

    /// Returns whether the exception is a breakpoint. The interrupted program counter is the address after the instruction.
    #[must_use]
    pub const fn is_breakpoint(&self) -> bool {
        self.vector == BREAKPOINT
    }

    /// Does nothing, because the saved program counter is already the address of the next instruction.
    pub const fn skip_breakpoint(&mut self) {}

    /// Returns whether the trap code can return to the interrupted code: always true on x86-64.
    #[must_use]
    pub const fn can_return(&self) -> bool {
        true
    }

    /// Returns whether the exception is a machine check.
    #[must_use]
    pub const fn is_machine_check(&self) -> bool {
        self.vector == MACHINE_CHECK
    }
}

/// The text of an exception: the cause and the place.
pub type Words<'a> = crate::exception::Words<'a, TrapFrame>;

impl Words<'_> {
    fn page_fault(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = PageFault::from_bits_retain(self.frame.error_code);
        let action = if code.contains(PageFault::INSTRUCTION_FETCH) {
            "execution of"
        } else if code.contains(PageFault::CAUSED_BY_WRITE) {
            "write to"
        } else {
            "read of"
        };
        let reason = if code.contains(PageFault::PROTECTION_VIOLATION) {
            "not permitted"
        } else {
            "not mapped"
        };
        let address = self.frame.cr2;
        write!(f, ": {action} {address:#018x}, {reason}")?;
        self.names.write_guard(f, address)?;
        let said = PageFault::INSTRUCTION_FETCH
            | PageFault::CAUSED_BY_WRITE
            | PageFault::PROTECTION_VIOLATION;
        for (name, _) in code.difference(said).iter_names() {
            write!(f, ", {name}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = self.frame;
        let name = usize::try_from(frame.vector)
            .ok()
            .and_then(|at| NAMES.get(at));
        match name.copied().or_else(|| self.names.interrupt(frame.vector)) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "interrupt {}", frame.vector)?,
        }
        match frame.vector {
            PAGE_FAULT => self.page_fault(f),
            // Its error code is zero; cr2 may tell the page fault that led to it.
            DOUBLE_FAULT => {
                let address = frame.cr2;
                write!(f, ", last page-fault address {address:#018x}")?;
                self.names.write_guard(f, address)
            }
            _ if frame.error_code == 0 => Ok(()),
            CONTROL_PROTECTION => control_protection(f, frame.error_code),
            INVALID_TSS..=GENERAL_PROTECTION => selector(f, frame.error_code),
            _ => write!(f, ", error code {:#x}", frame.error_code),
        }
    }
}

/// Figure 7-6 "Error Code": bit 0 external, bits 1 and 2 the table, bits 15 to 3 the index in it.
fn selector(f: &mut fmt::Formatter<'_>, code: u64) -> fmt::Result {
    if code > 0xffff {
        return write!(f, ", error code {code:#x}");
    }
    let table = match (code >> 1) & 3 {
        0 => "Gdt",
        2 => "Ldt",
        _ => "Idt",
    };
    let external = if code & 1 == 0 { "" } else { ", external" };
    write!(f, ": {table} entry {}{external}", code >> 3)
}

/// Volume 3, 7.15, "Interrupt 21": what the shadow stack or an indirect branch did not fit.
fn control_protection(f: &mut fmt::Formatter<'_>, code: u64) -> fmt::Result {
    let what = match code & 0x7fff {
        1 => "caused by a near return",
        2 => "caused by a far return or an interrupt return",
        3 => "missing ENDBRANCH",
        4 => "invalid restore token on a shadow stack",
        5 => "invalid supervisor token on a shadow stack",
        _ => return write!(f, ", error code {code:#x}"),
    };
    write!(f, ": {what}")
}

#[cfg(test)]
mod tests {
    use x86_64::structures::idt::{PageFaultErrorCode, SelectorErrorCode};

    use super::*;
    use crate::Stacks;
    use crate::tests::Kernel;

    fn words(vector: u64, error_code: u64, cr2: u64) -> String {
        let frame = TrapFrame {
            vector,
            error_code,
            cr2,
            ..TrapFrame::default()
        };
        frame.words(&Stacks::of(&Kernel)).to_string()
    }

    #[test]
    fn page_fault_flags_have_the_names_of_the_crate_x86_64() {
        let ours: Vec<_> = PageFault::all()
            .iter_names()
            .map(|(name, flag)| (name, flag.bits()))
            .collect();
        let theirs = PageFaultErrorCode::all();
        let theirs: Vec<_> = theirs
            .iter_names()
            .map(|(name, flag)| (name, flag.bits()))
            .collect();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn a_page_fault_says_what_was_tried_and_what_is_there() {
        assert_eq!(
            words(14, 2, 0x10),
            "page fault: write to 0x0000000000000010, not mapped"
        );
        assert_eq!(
            words(14, 0x11, Kernel::GUARD),
            "page fault: execution of 0x0000000000001000, not permitted, guard page of stack boot"
        );
        assert_eq!(
            words(14, 1 << 2 | 1 << 3, Kernel::GUARD_OF_TASK),
            "page fault: read of 0x0000000000005000, not mapped, guard page of stack task worker, USER_MODE, MALFORMED_TABLE"
        );
    }

    #[test]
    fn error_codes_are_read_as_the_crate_x86_64_reads_them() {
        for code in 1..=0xffff_u64 {
            let theirs = SelectorErrorCode::new(code).expect("16 bits");
            let external = if theirs.external() { ", external" } else { "" };
            let table = theirs.descriptor_table();
            assert_eq!(
                words(13, code, 0),
                format!(
                    "general protection: {table:?} entry {}{external}",
                    theirs.index()
                )
            );
        }
        assert_eq!(
            words(13, 0x10000, 0),
            "general protection, error code 0x10000"
        );
        assert_eq!(words(13, 0, 0), "general protection");
        assert_eq!(
            words(21, 3, 0),
            "control protection exception: missing ENDBRANCH"
        );
        assert_eq!(
            words(21, 6, 0),
            "control protection exception, error code 0x6"
        );
        assert_eq!(words(17, 1, 0), "alignment check, error code 0x1");
    }

    #[test]
    fn a_double_fault_tells_of_the_page_fault_before_it() {
        assert_eq!(
            words(8, 0, Kernel::GUARD),
            "double fault, last page-fault address 0x0000000000001000, guard page of stack boot"
        );
    }

    #[test]
    fn interrupts_have_the_kernels_names() {
        assert_eq!(words(32, 0, 0), "timer interrupt");
        assert_eq!(words(33, 0, 0), "interrupt 33");
        assert_eq!(words(u64::MAX, 0, 0), "interrupt 18446744073709551615");
    }
}
