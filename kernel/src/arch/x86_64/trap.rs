//! What happened when an exception came. Manual: volume 3, chapter 7 "Interrupt and Exception Handling".

use core::fmt;

use x86_64::structures::idt::{PageFaultErrorCode, SelectorErrorCode};

pub use super::frame::TrapFrame;
use super::{interrupts, machine_check, probe};
use crate::interrupt;
use crate::stack::Guarded;
use crate::{breakpoint, nmi, panic};

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

/// Called by vectors.s. When it returns, so does the interrupted code.
pub extern "C" fn exception(frame: &mut TrapFrame) {
    if probe::recover(frame) {
        return;
    }
    match frame.vector {
        // The saved rip is behind the instruction.
        BREAKPOINT => breakpoint::hit(frame),
        NMI => nmi::received(frame),
        MACHINE_CHECK => {
            machine_check::note();
            panic::fault(frame);
        }
        interrupts::FIRST.. => interrupts::handle_on_stack(frame),
        _ => panic::fault(frame),
    }
}

impl TrapFrame {
    /// Whether memory could not be used, in one of the ways to say so.
    pub fn is_bad_access(&self) -> bool {
        matches!(
            self.vector,
            STACK_SEGMENT_FAULT | GENERAL_PROTECTION | PAGE_FAULT | ALIGNMENT_CHECK
        )
    }
}

/// What happened, in words.
impl fmt::Display for TrapFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.vector as usize) {
            Some(name) => f.write_str(name)?,
            None => interrupt::name(f, self.vector)?,
        }
        match self.vector {
            PAGE_FAULT => page_fault(f, self),
            MACHINE_CHECK => machine_check::Noted.fmt(f),
            // Its error code is zero; what led to it may be known by this register.
            DOUBLE_FAULT => write!(
                f,
                ", last page fault at {:#018x}{}",
                self.cr2,
                Guarded(self.cr2)
            ),
            _ if self.error_code == 0 => Ok(()),
            CONTROL_PROTECTION => control_protection(f, self.error_code),
            INVALID_TSS..=GENERAL_PROTECTION => selector(f, self.error_code),
            _ => write!(f, ", error code {:#x}", self.error_code),
        }
    }
}

/// Figure 7-6 "Error Code".
fn selector(f: &mut fmt::Formatter<'_>, code: u64) -> fmt::Result {
    match SelectorErrorCode::new(code) {
        Some(selector) => write!(
            f,
            ": {:?} entry {}{}",
            selector.descriptor_table(),
            selector.index(),
            if selector.external() {
                ", external"
            } else {
                ""
            }
        ),
        None => write!(f, ", error code {code:#x}"),
    }
}

/// Volume 3, 7.15, "Interrupt 21": what the shadow stack or an indirect branch did not fit.
fn control_protection(f: &mut fmt::Formatter<'_>, code: u64) -> fmt::Result {
    let what = match code & 0x7fff {
        1 => "near return",
        2 => "far return or interrupt return",
        3 => "missing ENDBRANCH",
        4 => "restore of a shadow stack",
        5 => "busy bit of a shadow stack",
        _ => return write!(f, ", error code {code:#x}"),
    };
    write!(f, ": {what}")
}

fn page_fault(f: &mut fmt::Formatter<'_>, frame: &TrapFrame) -> fmt::Result {
    use PageFaultErrorCode as Code;
    let code = Code::from_bits_retain(frame.error_code);
    let action = if code.contains(Code::INSTRUCTION_FETCH) {
        "execution of"
    } else if code.contains(Code::CAUSED_BY_WRITE) {
        "write to"
    } else {
        "read of"
    };
    let reason = if code.contains(Code::PROTECTION_VIOLATION) {
        "not permitted"
    } else {
        "not mapped"
    };
    let address = frame.cr2;
    write!(
        f,
        ": {action} {address:#018x}, {reason}{}",
        Guarded(address)
    )?;
    let said = Code::INSTRUCTION_FETCH | Code::CAUSED_BY_WRITE | Code::PROTECTION_VIOLATION;
    for (name, _) in code.difference(said).iter_names() {
        write!(f, ", {name}")?;
    }
    Ok(())
}
