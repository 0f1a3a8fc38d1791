//! Errors of the hardware. Manual: volume 3, chapter 17 "Machine-Check Architecture".

use postmortem::x86_64::MachineCheck;
use x86_64::registers::control::{Cr4, Cr4Flags};
use x86_64::registers::model_specific::Msr;

/// IA32_MCG_CAP: bits 7 to 0 say how many banks there are.
const CAPABILITIES: u32 = 0x179;
/// IA32_MC0_STATUS; that of the next bank is four further, and the address of the error is in the MSR behind it.
const FIRST_STATUS: u32 = 0x401;

/// Has this processor raise an exception for its errors, instead of resetting the machine.
pub fn enable() {
    // SAFETY: the exception has an entry, and a stack.
    unsafe { Cr4::update(|flags| flags.insert(Cr4Flags::MACHINE_CHECK_EXCEPTION)) };
}

/// The error that this processor has met, if it is still noted. Read by no other one.
pub fn error() -> Option<MachineCheck> {
    // SAFETY: every processor that has this exception has this register; so many banks exist, and reading has no effect.
    let banks = unsafe { Msr::new(CAPABILITIES).read() } as u32 & 0xff;
    let mut errors = (0..banks).filter_map(|bank| {
        let register = FIRST_STATUS + 4 * bank;
        // SAFETY: as above.
        let status = unsafe { Msr::new(register).read() };
        // SAFETY: as above; called where the status says that the register is valid.
        let address = || unsafe { Msr::new(register + 1).read() };
        MachineCheck::new(u64::from(bank), status, address)
    });
    errors.next()
}
