//! The code around an address, as bytes for a disassembler.

use core::fmt;

use crate::image;

/// Bytes that a report shows on each side.
const AROUND: usize = 16;

/// Writes the bytes around `pc`, or on AArch64 the instructions, with the one at `pc` in angle brackets.
pub fn write(f: &mut impl fmt::Write, pc: u64) -> fmt::Result {
    // Smallest instruction, in bytes.
    const UNIT: usize = if cfg!(target_arch = "aarch64") { 4 } else { 1 };
    let code = image::code();
    if pc < code.start() || pc >= code.end() {
        return writeln!(f, "code: there is none at {pc:#018x}");
    }
    f.write_str("code:")?;
    let at = (pc - code.start()) as usize;
    let from = at.saturating_sub(AROUND);
    let bytes = code.bytes();
    let end = bytes.len().min(at + AROUND);
    for (index, unit) in bytes[from..end].chunks(UNIT).enumerate() {
        let is_at = from + index * UNIT == at;
        f.write_str(if is_at { " <" } else { " " })?;
        // Both architectures are little-endian.
        for byte in unit.iter().rev() {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(if is_at { ">" } else { "" })?;
    }
    f.write_str("\n")
}
