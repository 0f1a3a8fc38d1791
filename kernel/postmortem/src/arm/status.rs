//! The cause of a failed memory access: the fault status registers. Manual: B4.1.52 "DFSR", B4.1.96 "IFSR".

use core::fmt;

/// The register `DFSR` or `IFSR`. The status has the format of the page tables, long or short descriptors; the bit `LPAE` distinguishes the
/// two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u32);

/// The page tables have long descriptors.
const LPAE: u32 = 1 << 9;
/// In `DFSR`: the access was a write.
const WRITE: u32 = 1 << 11;

/// Debug events, in either format: `bkpt`, unless a debugger takes it.
const DEBUG_SHORT: u32 = 0x02;
const DEBUG_LONG: u32 = 0x22;

impl Status {
    const fn is_long(self) -> bool {
        self.0 & LPAE != 0
    }

    /// The status code, of six bits in the long format and five in the short one.
    const fn code(self) -> u32 {
        match self.is_long() {
            true => self.0 & 0x3f,
            false => self.0 & 0xf | self.0 >> 6 & 0x10,
        }
    }

    /// Returns whether the cause is a debug event: for a prefetch abort, a breakpoint.
    #[must_use]
    pub const fn is_debug(self) -> bool {
        self.code()
            == match self.is_long() {
                true => DEBUG_LONG,
                false => DEBUG_SHORT,
            }
    }

    /// Returns whether the abort is a late report of an earlier access, whose address and direction are unknown.
    #[must_use]
    pub const fn is_asynchronous(self) -> bool {
        match self.is_long() {
            true => matches!(self.code(), 0x11 | 0x19),
            false => matches!(self.code(), 0x16 | 0x18),
        }
    }

    /// Returns whether the access was a write. Valid for data aborts only.
    #[must_use]
    pub const fn is_write(self) -> bool {
        self.0 & WRITE != 0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_long() {
            true => long(self.code(), f),
            false => short(self.code(), f),
        }
    }
}

/// B3.13.3 "Fault status codes for the Long-descriptor translation table format".
fn long(code: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let level = code & 3;
    match code {
        0x04..=0x07 => write!(f, "translation fault level {level}"),
        0x08..=0x0b => write!(f, "access flag fault level {level}"),
        0x0c..=0x0f => write!(f, "permission fault level {level}"),
        0x10 => f.write_str("external abort"),
        0x11 => f.write_str("asynchronous external abort"),
        0x14..=0x17 => write!(f, "external abort in a page table walk, level {level}"),
        0x18 => f.write_str("parity error"),
        0x19 => f.write_str("asynchronous parity error"),
        0x1c..=0x1f => write!(f, "parity error in a page table walk, level {level}"),
        0x21 => f.write_str("alignment fault"),
        DEBUG_LONG => f.write_str("debug event"),
        0x30 => f.write_str("TLB conflict"),
        code => write!(f, "fault status {code:#04x}"),
    }
}

/// B3.13.3 "Fault status codes for the Short-descriptor translation table format".
fn short(code: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(match code {
        0x01 => "alignment fault",
        DEBUG_SHORT => "debug event",
        0x03 => "access flag fault, section",
        0x04 => "instruction cache maintenance fault",
        0x05 => "translation fault, section",
        0x06 => "access flag fault, page",
        0x07 => "translation fault, page",
        0x08 => "external abort",
        0x09 => "domain fault, section",
        0x0b => "domain fault, page",
        0x0c => "external abort in a page table walk, level 1",
        0x0d => "permission fault, section",
        0x0e => "external abort in a page table walk, level 2",
        0x0f => "permission fault, page",
        0x10 => "TLB conflict",
        0x16 => "asynchronous external abort",
        0x18 => "asynchronous parity error",
        0x19 => "parity error",
        0x1c => "parity error in a page table walk, level 1",
        0x1e => "parity error in a page table walk, level 2",
        code => return write!(f, "fault status {code:#04x}"),
    })
}
