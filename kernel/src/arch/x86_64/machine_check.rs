//! Machine checks: errors that the hardware detects in itself. Manual: volume 3, chapter 17 "Machine-Check Architecture".

use postmortem::x86_64::MachineCheck;
use x86_64::registers::control::{Cr4, Cr4Flags};
use x86_64::registers::model_specific::Msr;

/// IA32_MCG_CAP: bits 7 to 0 say how many banks there are.
const CAPABILITIES: u32 = 0x179;
/// IA32_MC0_STATUS. The next bank's status is four MSRs further; the MSR after each status has the error's address.
const FIRST_STATUS: u32 = 0x401;

/// Makes this CPU raise an exception for its errors, instead of resetting the machine.
pub fn enable() {
    // SAFETY: the exception has an entry in the IDT, and a stack of its own.
    unsafe { Cr4::update(|flags| flags.insert(Cr4Flags::MACHINE_CHECK_EXCEPTION)) };
}

/// The error that this CPU has recorded, if there is one. No other CPU can read it.
pub fn error() -> Option<MachineCheck> {
    // SAFETY: a CPU with this exception has this register, and reading it has no effect.
    let banks = unsafe { Msr::new(CAPABILITIES).read() } as u32 & 0xff;
    let mut errors = (0..banks).filter_map(|bank| {
        let register = FIRST_STATUS + 4 * bank;
        // SAFETY: the bank exists, as IA32_MCG_CAP says, and reading has no effect.
        let status = unsafe { Msr::new(register).read() };
        // SAFETY: called only if the status says that this register is valid; reading it has no effect.
        let address = || unsafe { Msr::new(register + 1).read() };
        MachineCheck::new(u64::from(bank), status, address)
    });
    errors.next()
}
