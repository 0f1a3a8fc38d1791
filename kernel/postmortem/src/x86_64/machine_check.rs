//! Machine checks: what the CPU records of an error of the hardware. Manual: volume 3, chapter 17 "Machine-Check Architecture".

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bitflags::bitflags;

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

/// An error that a bank of machine-check registers describes; as text, its description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineCheck {
    bank: u64,
    status: u64,
    address: u64,
}

impl MachineCheck {
    /// From the bank's number, its register `IA32_MCi_STATUS`, and `IA32_MCi_ADDR`, which is read only where it is valid. `None`
    /// when the bank describes no error.
    pub fn new(bank: u64, status: u64, address: impl FnOnce() -> u64) -> Option<Self> {
        let flags = Status::from_bits_retain(status);
        let address = match flags.contains(Status::ADDRESS_VALID) {
            true if flags.contains(Status::VALID) => address(),
            _ => 0,
        };
        flags.contains(Status::VALID).then_some(Self {
            bank,
            status,
            address,
        })
    }
}

/// Begins with a colon, to follow the exception's name.
impl fmt::Display for MachineCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = Status::from_bits_retain(self.status);
        write!(
            f,
            ": bank {}, error {:#06x}",
            self.bank,
            self.status & 0xffff
        )?;
        if flags.contains(Status::ADDRESS_VALID) {
            write!(f, " at physical address {:#x}", self.address)?;
        }
        let said = Status::VALID | Status::ADDRESS_VALID;
        for (name, _) in flags.difference(said).iter_names() {
            write!(f, ", {name}")?;
        }
        Ok(())
    }
}

/// The last machine check. The CPU that it happened on keeps it here, because another CPU, which may write the report, cannot
/// read these registers.
#[derive(Debug)]
pub(crate) struct LastMachineCheck {
    is_valid: AtomicBool,
    bank: AtomicU64,
    status: AtomicU64,
    address: AtomicU64,
}

impl LastMachineCheck {
    pub(crate) const fn new() -> Self {
        Self {
            is_valid: AtomicBool::new(false),
            bank: AtomicU64::new(0),
            status: AtomicU64::new(0),
            address: AtomicU64::new(0),
        }
    }

    pub(crate) fn note(&self, error: MachineCheck) {
        self.bank.store(error.bank, Ordering::Relaxed);
        self.status.store(error.status, Ordering::Relaxed);
        self.address.store(error.address, Ordering::Relaxed);
        self.is_valid.store(true, Ordering::Release);
    }

    pub(crate) fn get(&self) -> Option<MachineCheck> {
        self.is_valid.load(Ordering::Acquire).then(|| MachineCheck {
            bank: self.bank.load(Ordering::Relaxed),
            status: self.status.load(Ordering::Relaxed),
            address: self.address.load(Ordering::Relaxed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_with_its_address_if_that_is_valid() {
        let text = |status| {
            let error = MachineCheck::new(4, status, || 0x1234);
            error.map(|error| error.to_string())
        };
        assert_eq!(text(0x7fff_ffff_ffff_ffff), None);
        assert_eq!(
            text(1 << 63 | 1 << 58 | 1 << 61 | 0x136).as_deref(),
            Some(": bank 4, error 0x0136 at physical address 0x1234, UNCORRECTED")
        );
        assert_eq!(
            text(1 << 63 | 1 << 62 | 5).as_deref(),
            Some(": bank 4, error 0x0005, OVERFLOW")
        );
    }

    #[test]
    fn what_was_noted_is_there() {
        let noted = LastMachineCheck::new();
        assert_eq!(noted.get(), None);
        let error = MachineCheck::new(1, 1 << 63, || 0).expect("a valid status");
        noted.note(error);
        assert_eq!(noted.get(), Some(error));
    }
}
