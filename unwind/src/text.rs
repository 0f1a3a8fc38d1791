//! Numbers as text.
//!
//! `core::fmt`'s own number formatting is not used: the linker cannot see that it never panics, and a report must link without
//! a reachable panic.
//!
//! The writer is a trait object here and in all code that writes a report: generic code, with a copy for each type of writer,
//! was half the code that a report adds to a kernel.

mod filled;

use core::fmt::{Result, Write};

pub(crate) use filled::{Filled, are_texts, fill, texts};

#[inline(never)]
fn digit(out: &mut dyn Write, value: u64) -> Result {
    let value = (value & 0xf) as u8;
    let first = match value {
        ..10 => b'0',
        _ => const { b'a'.wrapping_sub(10) },
    };
    out.write_char(first.wrapping_add(value).into())
}

/// Writes `0x` and `value` in lower-case hexadecimal, with at least `least` digits (at most 16).
#[inline(never)]
pub(crate) fn hex(out: &mut dyn Write, value: u64, least: u32) -> Result {
    out.write_str("0x")?;
    plain_hex(out, value, least)
}

/// [`hex`] without the `0x`.
#[inline(never)]
pub(crate) fn plain_hex(out: &mut dyn Write, value: u64, least: u32) -> Result {
    let mut left = 16_u32;
    while let Some(next) = left.checked_sub(1) {
        let rest = value.checked_shr(next.wrapping_mul(4)).unwrap_or(0);
        if rest != 0 || left <= least || next == 0 {
            digit(out, rest)?;
        }
        left = next;
    }
    Ok(())
}

/// Writes `value` in decimal.
pub(crate) fn decimal(out: &mut dyn Write, value: u64) -> Result {
    padded_decimal(out, value, 1)
}

/// Writes `value` in decimal, with spaces before it up to `width` characters.
#[inline(never)]
pub(crate) fn padded_decimal(out: &mut dyn Write, value: u64, width: u32) -> Result {
    // 10^19 is the greatest power of ten below 2^64: 20 digits.
    let mut left = 20_u32;
    let mut power = 10_000_000_000_000_000_000_u64;
    let mut rest = value;
    let mut started = false;
    while left > 0 {
        let value = rest.checked_div(power).unwrap_or(0);
        rest = rest.checked_rem(power).unwrap_or(0);
        if value != 0 || started || left == 1 {
            started = true;
            digit(out, value)?;
        } else if left <= width {
            out.write_str(" ")?;
        }
        power /= 10;
        left = left.wrapping_sub(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{format, string::String};

    #[test]
    fn numbers_are_written_as_core_writes_them() {
        for value in [
            0,
            1,
            9,
            10,
            15,
            16,
            255,
            4096,
            123_456_789,
            u64::MAX - 1,
            u64::MAX,
        ] {
            let mut out = String::new();
            super::decimal(&mut out, value).unwrap();
            out.push(' ');
            super::padded_decimal(&mut out, value, 4).unwrap();
            out.push(' ');
            super::hex(&mut out, value, 1).unwrap();
            out.push(' ');
            super::hex(&mut out, value, 16).unwrap();
            assert_eq!(out, format!("{value} {value:>4} {value:#x} {value:#018x}"));
        }
    }
}
