//! Machine checks: the CPU's records of hardware errors. Manual: volume 3, chapter 17 "Machine-Check Architecture".

use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

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

/// An error that a bank of machine-check registers describes. Its text begins with a colon, to follow the exception's name.
///
/// ```
/// use postmortem::x86_64::MachineCheck;
///
/// // Valid, with a valid address.
/// let status = 1 << 63 | 1 << 58 | 0x0135;
/// let error = MachineCheck::new(4, status, || 0x1234_5000).expect("the bank describes an error");
/// assert_eq!(error.to_string(), ": bank 4, error 0x0135 at physical address 0x12345000");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineCheck {
    bank: u64,
    status: u64,
    address: u64,
}

impl MachineCheck {
    /// Creates the description from the bank's number and its register `IA32_MCi_STATUS`. Calls `address` to read the register
    /// `IA32_MCi_ADDR` only if its content is valid. Returns `None` if the bank describes no error.
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

/// Writes a text that begins with a colon, to follow the exception's name.
impl fmt::Display for MachineCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = Status::from_bits_retain(self.status);
        write!(
            f,
            ": bank {bank}, error {code:#06x}",
            bank = self.bank,
            code = self.status & 0xffff
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

/// The last machine check of a CPU, which alone writes it. Another CPU, which may write the report, cannot read that CPU's registers.
#[derive(Debug)]
pub(crate) struct LastMachineCheck {
    /// How often the record was begun and finished: odd while it is being written, and 0 before.
    changes: AtomicU32,
    bank: AtomicU64,
    status: AtomicU64,
    address: AtomicU64,
}

impl LastMachineCheck {
    pub(crate) const fn new() -> Self {
        Self {
            changes: AtomicU32::new(0),
            bank: AtomicU64::new(0),
            status: AtomicU64::new(0),
            address: AtomicU64::new(0),
        }
    }

    pub(crate) fn note(&self, error: MachineCheck) {
        let changes = self.changes.load(Ordering::Relaxed) | 1;
        self.changes.store(changes, Ordering::Relaxed);
        // Release: a reader that finds one of the words finds the record in change, too.
        self.bank.store(error.bank, Ordering::Release);
        self.status.store(error.status, Ordering::Release);
        self.address.store(error.address, Ordering::Release);
        self.changes
            .store(changes.wrapping_add(1), Ordering::Release);
    }

    /// The record, unless there is none, or it is being written.
    pub(crate) fn get(&self) -> Option<MachineCheck> {
        let changes = self.changes.load(Ordering::Acquire);
        // Acquire: the number is read again after the words.
        let error = MachineCheck {
            bank: self.bank.load(Ordering::Acquire),
            status: self.status.load(Ordering::Acquire),
            address: self.address.load(Ordering::Acquire),
        };
        let is_whole = changes & 1 == 0 && self.changes.load(Ordering::Relaxed) == changes;
        (changes != 0 && is_whole).then_some(error)
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

    #[test]
    fn a_record_in_change_is_not_told() {
        let noted = LastMachineCheck::new();
        let error = |bank| MachineCheck::new(bank, 1 << 63, || 0).expect("a valid status");
        noted.note(error(1));
        // The CPU has begun another one, and does not go on.
        noted.changes.fetch_add(1, Ordering::Relaxed);
        noted.bank.store(2, Ordering::Relaxed);
        assert_eq!(noted.get(), None);
        noted.note(error(2));
        assert_eq!(noted.get(), Some(error(2)));
    }

    /// The reader has either what was noted before or what is noted meanwhile.
    #[test]
    fn a_record_is_never_a_mixture() {
        let noted = LastMachineCheck::new();
        let is_done = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..1_000_000 {
                    noted.note(MachineCheck {
                        bank: number,
                        status: number,
                        address: number,
                    });
                }
                is_done.store(1, Ordering::Release);
            });
            while is_done.load(Ordering::Acquire) == 0 {
                if let Some(error) = noted.get() {
                    assert_eq!((error.bank, error.bank), (error.status, error.address));
                }
            }
        });
    }
}
