//! What the hardware says of an error of its own. Manual: volume 3, chapter 17 "Machine-Check Architecture".

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

use bitflags::bitflags;
use x86_64::registers::control::{Cr4, Cr4Flags};
use x86_64::registers::model_specific::Msr;

/// IA32_MCG_CAP: bits 7 to 0 say how many banks there are.
const CAPABILITIES: u32 = 0x179;
/// IA32_MC0_STATUS; that of the next bank is four further, and the address of the error is in the MSR behind it.
const FIRST_STATUS: u32 = 0x401;

bitflags! {
    /// A bank's status. Bits 15 to 0 are a code for the kind of error.
    #[derive(Clone, Copy, Debug)]
    struct Status: u64 {
        const CONTEXT_CORRUPT = 1 << 57;
        const ADDRESS_VALID = 1 << 58;
        const MISC_VALID = 1 << 59;
        const ENABLED = 1 << 60;
        const UNCORRECTED = 1 << 61;
        const OVERFLOW = 1 << 62;
        const VALID = 1 << 63;
        const _ = !0;
    }
}

/// The error that was noted: bank, status (zero for none), address.
static BANK: AtomicU64 = AtomicU64::new(0);
static STATUS: AtomicU64 = AtomicU64::new(0);
static ADDRESS: AtomicU64 = AtomicU64::new(0);

/// Has this processor raise an exception for its errors, instead of resetting the machine.
pub fn enable() {
    // SAFETY: the exception has an entry, and a stack.
    unsafe { Cr4::update(|flags| flags.insert(Cr4Flags::MACHINE_CHECK_EXCEPTION)) };
}

/// Notes the error that this processor has met: another one may have to report it, which cannot read these registers.
pub fn note() {
    // SAFETY: every processor that has this exception has this register; so many banks exist, and reading has no effect.
    let banks = unsafe { Msr::new(CAPABILITIES).read() } as u32 & 0xff;
    for bank in 0..banks {
        let status = FIRST_STATUS + 4 * bank;
        // SAFETY: as above.
        let value = unsafe { Msr::new(status).read() };
        let flags = Status::from_bits_retain(value);
        if flags.contains(Status::VALID) {
            if flags.contains(Status::ADDRESS_VALID) {
                // SAFETY: as above; it exists where the flag is set.
                ADDRESS.store(unsafe { Msr::new(status + 1).read() }, Ordering::Relaxed);
            }
            BANK.store(u64::from(bank), Ordering::Relaxed);
            STATUS.store(value, Ordering::Release);
            return;
        }
    }
}

/// The noted error, as text.
#[derive(Clone, Copy, Debug)]
pub struct Noted;

impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = STATUS.load(Ordering::Acquire);
        if status == 0 {
            return Ok(());
        }
        let flags = Status::from_bits_retain(status);
        let bank = BANK.load(Ordering::Relaxed);
        write!(f, ": bank {bank}, error {:#06x}", status & 0xffff)?;
        if flags.contains(Status::ADDRESS_VALID) {
            write!(
                f,
                " at physical address {:#x}",
                ADDRESS.load(Ordering::Relaxed)
            )?;
        }
        for (name, _) in flags
            .difference(Status::VALID | Status::ADDRESS_VALID)
            .iter_names()
        {
            write!(f, ", {name}")?;
        }
        Ok(())
    }
}
