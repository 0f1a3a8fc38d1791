//! Opcodes as text, as `readelf -u` prints them.

use core::fmt::{self, Write};

use super::Opcode;
use crate::text::decimal;

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Add(bytes) => {
                f.write_str("vsp = vsp + ")?;
                decimal(f, bytes)
            }
            Self::Subtract(bytes) => {
                f.write_str("vsp = vsp - ")?;
                decimal(f, bytes.into())
            }
            Self::Refuse => f.write_str("Refuse to unwind"),
            Self::Pop(mask) => list(f, "r", mask),
            Self::Set(register) => {
                f.write_str("vsp = r")?;
                decimal(f, register.into())
            }
            Self::Finish => f.write_str("finish"),
            Self::PopDoubles { first, count, .. } => range(f, "D", first, count),
            Self::PopWireless { first, count } => range(f, "wR", first, count),
            Self::PopWirelessControl(mask) => list(f, "wCGR", mask.into()),
            Self::PopAuthenticationCode => f.write_str("pop {ra_auth_code}"),
            Self::ModifierIsVsp => f.write_str("vsp as modifier for PAC validation"),
        }
    }
}

/// The registers of a mask.
fn list(f: &mut dyn Write, name: &str, mask: u16) -> fmt::Result {
    let mut before = "pop {";
    for register in 0..16_u8 {
        if mask.wrapping_shr(register.into()) & 1 != 0 {
            f.write_str(before)?;
            f.write_str(name)?;
            decimal(f, register.into())?;
            before = ", ";
        }
    }
    f.write_str("}")
}

/// So many registers, one after another.
fn range(f: &mut dyn Write, name: &str, first: u8, count: u8) -> fmt::Result {
    f.write_str("pop {")?;
    f.write_str(name)?;
    decimal(f, first.into())?;
    if let Some(more @ 1..) = count.checked_sub(1) {
        f.write_str("-")?;
        f.write_str(name)?;
        decimal(f, u64::from(first).wrapping_add(more.into()))?;
    }
    f.write_str("}")
}
