//! The list of CPUs in ACPI's tables: "ACPI Specification" 6.5, 5.2.5 "Root System Description Pointer" to 5.2.12 "Multiple APIC
//! Description Table".
//!
//! The crate `acpi` was rejected, because it creates references to any address in a table. This module reads every byte through
//! [`BootMemory`].

use crate::BootMemory;

/// Bytes of a table's header: name, length of the whole, ...
const HEADER: u64 = 36;
/// Bytes between the header of a MADT and its entries.
const FIXED: u64 = 8;

/// Calls `found` with the APIC ID of each processor that can be used; `rsdp` is a physical address. Returns `None` if a table is missing,
/// or is not in mapped memory.
pub fn cpus(memory: &BootMemory, rsdp: u64, mut found: impl FnMut(u64)) -> Option<()> {
    if memory.bytes(rsdp, 8)? != b"RSD PTR " {
        return None;
    }
    // The table of 32-bit addresses, which every version has.
    let rsdt = word(memory, rsdp.checked_add(16)?)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of QEMU's `pc` with four CPUs, and where they were in memory: tests/data/make.
    const RSDP: (u64, &[u8]) = (0xf59d0, include_bytes!("../tests/data/pc-4.rsdp"));
    const TABLES: (u64, &[u8]) = (0x3fe_1a57, include_bytes!("../tests/data/pc-4.acpi"));

    fn translate(start: u64, length: u64) -> Option<u64> {
        let find = |(base, bytes): (u64, &'static [u8])| {
            let at = usize::try_from(start.checked_sub(base)?).ok()?;
            let found = bytes.get(at..at.checked_add(usize::try_from(length).ok()?)?)?;
            Some(found.as_ptr() as u64)
        };
        find(RSDP).or_else(|| find(TABLES))
    }

    fn found(translate: crate::boot_memory::Translate, rsdp: u64) -> (Option<()>, Vec<u64>) {
        // SAFETY: constants.
        let memory = unsafe { BootMemory::new(translate) };
        let mut ids = Vec::new();
        let result = cpus(&memory, rsdp, |id| ids.push(id));
        (result, ids)
    }

    #[test]
    fn all_processors_of_a_pc_are_found() {
        assert_eq!(found(translate, RSDP.0), (Some(()), vec![0, 1, 2, 3]));
    }

    #[test]
    fn a_wrong_address_finds_none() {
        assert_eq!(found(translate, RSDP.0 + 16), (None, vec![]));
        assert_eq!(found(translate, TABLES.0), (None, vec![]));
        assert_eq!(found(translate, u64::MAX), (None, vec![]));
    }

    /// A table that says it is longer than memory is.
    #[test]
    fn the_end_of_memory_ends_the_list() {
        const CUT: usize = 200;
        fn cut(start: u64, length: u64) -> Option<u64> {
            (start + length <= TABLES.0 + CUT as u64 || start < TABLES.0)
                .then(|| translate(start, length))
                .flatten()
        }
        // The list of tables itself lies behind.
        assert_eq!(found(cut, RSDP.0), (None, vec![]));
    }
}
