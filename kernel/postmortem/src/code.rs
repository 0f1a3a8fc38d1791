//! The code around an address, as bytes for a disassembler.

use core::fmt::{self, Write};

use crate::image::Section;

/// Bytes that a report shows on each side.
const AROUND: usize = 16;

/// Writes the code around `pc` as numbers of `unit` bytes each, with the number at `pc` in angle brackets. If all instructions have the
/// same size, `unit` is that size.
pub(crate) fn write(out: &mut dyn Write, code: Section, pc: u64, unit: usize) -> fmt::Result {
    let at = pc.checked_sub(code.address).map(usize::try_from);
    let (Some(Ok(at)), true) = (at, pc < code.end()) else {
        return writeln!(out, "code: address {pc:#018x} is outside the known code");
    };
    out.write_str("code:")?;
    let from = at.saturating_sub(AROUND);
    let end = code.bytes.len().min(at.saturating_add(AROUND));
    let bytes = code.bytes.get(from..end).unwrap_or_default();
    for (bytes, offset) in bytes.chunks(unit).zip((from..).step_by(unit)) {
        out.write_str(if offset == at { " <" } else { " " })?;
        // Both architectures are little-endian.
        for byte in bytes.iter().rev() {
            write!(out, "{byte:02x}")?;
        }
        out.write_str(if offset == at { ">" } else { "" })?;
    }
    out.write_str("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: Section = Section {
        bytes: &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
            24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
        ],
        address: 0x1000,
    };

    fn text(pc: u64, unit: usize) -> String {
        let mut text = String::new();
        write(&mut text, CODE, pc, unit).expect("a string takes everything");
        text
    }

    #[test]
    fn bytes_around_an_address_are_shown() {
        assert_eq!(
            text(0x1002, 1),
            "code: 00 01 <02> 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11\n"
        );
        assert_eq!(
            text(0x1014, 4),
            "code: 07060504 0b0a0908 0f0e0d0c 13121110 <17161514> 1b1a1918 1f1e1d1c 23222120\n"
        );
        assert_eq!(text(0x1027, 1).split(' ').next_back(), Some("<27>\n"));
    }

    #[test]
    fn elsewhere_there_is_none() {
        for pc in [0, 0xfff, 0x1028, u64::MAX] {
            let outside = format!("code: address {pc:#018x} is outside the known code\n");
            assert_eq!(text(pc, 1), outside);
        }
    }
}
