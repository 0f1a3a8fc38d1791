//! The list of processors in ACPI's tables: "ACPI Specification" 6.5, 5.2.5 "Root System Description Pointer" to 5.2.12
//! "Multiple APIC Description Table".
//!
//! The crate `acpi` makes references to wherever a table points; here every byte is read through [`BootMemory`].

use crate::boot_memory::BootMemory;

/// Bytes of a table's header: name, length of the whole, ...
const HEADER: u64 = 36;
/// Bytes between the header of a MADT and its entries.
const FIXED: u64 = 8;

/// Calls `found` with the APIC ID of each processor that can be used; `rsdp` is a physical address.
pub fn processors(memory: &BootMemory, rsdp: u64, mut found: impl FnMut(u64)) -> Option<()> {
    if memory.bytes(rsdp, 8)? != b"RSD PTR " {
        return None;
    }
    // The table of 32-bit addresses, which every version has.
    let rsdt = word(memory, rsdp + 16)?;
    let is_madt = |table: &u64| memory.bytes(*table, 4) == Some(b"APIC");
    let madt = (rsdt + HEADER..rsdt + length(memory, rsdt)?)
        .step_by(4)
        .filter_map(|at| word(memory, at))
        .find(is_madt)?;
    let end = madt + length(memory, madt)?;
    let mut at = madt + HEADER + FIXED;
    while at < end {
        let &[kind, length] = memory.bytes(at, 2)?.first_chunk()?;
        match kind {
            // Processor local APIC: ID in byte 3, flags in bytes 4 to 7.
            0 if word(memory, at + 4)? & 1 == 1 => {
                found(u64::from(*memory.bytes(at + 3, 1)?.first()?));
            }
            // Processor local x2APIC: ID in bytes 4 to 7, flags in bytes 8 to 11.
            9 if word(memory, at + 8)? & 1 == 1 => found(word(memory, at + 4)?),
            _ => {}
        }
        // An entry is never shorter than its kind and length.
        at += u64::from(length.max(2));
    }
    Some(())
}

fn length(memory: &BootMemory, table: u64) -> Option<u64> {
    word(memory, table + 4)
}

/// The 32-bit word at a physical address.
fn word(memory: &BootMemory, address: u64) -> Option<u64> {
    let bytes = memory.bytes(address, 4)?.first_chunk()?;
    Some(u64::from(u32::from_le_bytes(*bytes)))
}
