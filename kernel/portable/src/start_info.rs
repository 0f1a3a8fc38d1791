//! PVH start info: the data that a boot loader passes to a PC's kernel, and the map of memory in it (Xen,
//! `public/arch-x86/hvm/start_info.h`).

use core::ops::Range;

use crate::BootMemory;
use crate::boot_memory::Map;

/// Its first word.
const MAGIC: u32 = 0x336e_c578;

/// Offsets of words in it: its version; the addresses of the command line, of ACPI's RSDP, and of the map; entries of the map. The
/// last two are there from version 1 on.
const VERSION: u64 = 4;
const COMMAND_LINE: u64 = 24;
const RSDP: u64 = 32;
const MAP: u64 = 40;
const ENTRIES: u64 = 48;

/// Bytes of an entry of the map: address, size, kind.
const ENTRY: u64 = 24;
/// The most entries that are looked at.
const MAX_ENTRIES: u64 = 128;

/// Kinds of memory: RAM; reserved, which may be devices; ACPI's tables, and its memory that must be kept.
const RAM: u32 = 1;
const RESERVED: u32 = 2;
const ACPI: u32 = 3;
const ACPI_KEPT: u32 = 4;

/// The memory of a PC's firmware, which has ACPI's RSDP.
const FIRMWARE: Range<u64> = 0xe_0000..0x10_0000;
/// A PC's devices among memory: the display's below firmware, and below 16 MB those that a hole may be left for.
const DEVICES: Range<u64> = 0xa_0000..0x100_0000;

/// The PVH start info, by its physical address.
#[derive(Clone, Copy, Debug)]
pub struct StartInfo(u64);

impl StartInfo {
    /// Returns the start info at this physical address, if there is one.
    #[must_use]
    pub fn at(memory: &BootMemory, address: u64) -> Option<Self> {
        let is_one = word(memory, address)? == MAGIC;
        is_one.then_some(Self(address))
    }

    /// Returns the map of memory, which is empty if the boot loader passes none.
    #[must_use]
    pub fn map(self, memory: &BootMemory) -> Map {
        let mut map = Map::new();
        let _ = self.add_to(&mut map, memory);
        map
    }

    fn add_to(self, map: &mut Map, memory: &BootMemory) -> Option<()> {
        if word(memory, self.0.checked_add(VERSION)?)? == 0 {
            return None;
        }
        let entries = u64::from(word(memory, self.0.checked_add(ENTRIES)?)?);
        let first = self.address(memory, MAP)?;
        for index in 0..entries.min(MAX_ENTRIES) {
            let at = first.checked_add(index * ENTRY)?;
            let (start, size) = (long(memory, at)?, long(memory, at.checked_add(8)?)?);
            let kind = word(memory, at.checked_add(16)?)?;
            let end = start.checked_add(size)?;
            let is_memory = match kind {
                RAM | ACPI | ACPI_KEPT => true,
                // The firmware's; or taken by it from the end of RAM, as SeaBIOS does for ACPI's tables, but not where devices follow
                // RAM.
                RESERVED => {
                    let is_behind_ram =
                        start.checked_sub(1).is_some_and(|last| map.is_ram(last, 1));
                    let is_of_ram = is_behind_ram && (end <= DEVICES.start || DEVICES.end <= start);
                    is_of_ram || FIRMWARE.start <= start && end <= FIRMWARE.end
                }
                _ => false,
            };
            if is_memory {
                map.add(start..end, kind == RAM);
            }
        }
        Some(())
    }

    /// Returns the physical address of the command line.
    #[must_use]
    pub fn command_line(self, memory: &BootMemory) -> Option<u64> {
        self.address(memory, COMMAND_LINE)
    }

    /// Returns the physical address of ACPI's RSDP.
    #[must_use]
    pub fn rsdp(self, memory: &BootMemory) -> Option<u64> {
        self.address(memory, RSDP)
    }

    /// The address at this offset, unless it is zero.
    fn address(self, memory: &BootMemory, offset: u64) -> Option<u64> {
        long(memory, self.0.checked_add(offset)?).filter(|address| *address != 0)
    }
}

fn word(memory: &BootMemory, address: u64) -> Option<u32> {
    let bytes = memory.bytes(address, 4)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn long(memory: &BootMemory, address: u64) -> Option<u64> {
    let bytes = memory.bytes(address, 8)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start info of version 1, and 64 bytes behind it a map: RAM, what firmware has taken from its end, a hole, what may be devices,
    /// defective RAM, ACPI's tables, the firmware's own; devices right behind RAM, below 1 MB and below 16 MB, and what is taken from RAM
    /// above; and more that the loader has not counted.
    const BASE: u64 = 0x1000;
    static MEMORY: [u64; 48] = {
        let mut memory = [0; 48];
        memory[0] = 1 << 32 | MAGIC as u64;
        memory[3] = 0x2000;
        memory[5] = BASE + 64;
        memory[6] = 12;
        let entries = [
            (0, 0x8000, 1),
            (0x8000, 0x1000, 2),
            (0xa000, 0x1000, 2),
            (0xb000, 0x1000, 5),
            (0xc000, 0x1000, 3),
            (0xf_0000, 0x1_0000, 2),
            (0x9_0000, 0x1_0000, 1),
            (0xa_0000, 0x6_0000, 2),
            (0x10_0000, 0xe0_0000, 1),
            (0xf0_0000, 0x10_0000, 2),
            (0x100_0000, 0x10_0000, 1),
            (0x110_0000, 0x1000, 2),
            (0xd000, 0x1000, 1),
        ];
        let mut entry = 0;
        while entry < entries.len() {
            let (start, size, kind) = entries[entry];
            memory[8 + 3 * entry] = start;
            memory[9 + 3 * entry] = size;
            memory[10 + 3 * entry] = kind;
            entry += 1;
        }
        memory
    };

    fn translate(start: u64, length: u64) -> Option<u64> {
        let at = start.checked_sub(BASE)?;
        let is_in = at.checked_add(length)? <= size_of_val(&MEMORY) as u64;
        is_in.then(|| MEMORY.as_ptr() as u64 + at)
    }

    fn memory() -> BootMemory {
        // SAFETY: a constant.
        unsafe { BootMemory::new(translate) }
    }

    #[test]
    fn its_addresses_are_found() {
        let memory = memory();
        let info = StartInfo::at(&memory, BASE).expect("it is one");
        assert_eq!(info.command_line(&memory), Some(0x2000));
        assert_eq!(info.rsdp(&memory), None, "zero is no address");
        for wrong in [0, BASE + 8, BASE + 4096, u64::MAX] {
            assert!(StartInfo::at(&memory, wrong).is_none(), "{wrong:#x}");
        }
    }

    #[test]
    fn its_map_has_what_may_be_read_and_what_may_be_written() {
        let memory = memory();
        let info = StartInfo::at(&memory, BASE).expect("it is one");
        let map = info.map(&memory);
        let of = |start, length| [map.holds(start, length), map.is_ram(start, length)];
        assert_eq!(of(0, 0x8000), [true, true]);
        assert_eq!(of(0x7fff, 2), [false, false], "it ends in between");
        assert_eq!(of(0x8000, 0x1000), [true, false], "taken from RAM");
        assert_eq!(of(0x9000, 1), [false, false], "a hole");
        assert_eq!(of(0xa000, 1), [false, false], "perhaps a device");
        assert_eq!(of(0xb000, 1), [false, false], "defective");
        assert_eq!(of(0xc000, 0x1000), [true, false], "ACPI's");
        assert_eq!(of(0xf_0000, 0x1_0000), [true, false], "the firmware's");
        assert_eq!(of(0xa_0000, 1), [false, false], "the display");
        assert_eq!(of(0xf0_0000, 1), [false, false], "a hole for devices");
        assert_eq!(of(0x110_0000, 0x1000), [true, false], "taken from RAM");
        assert_eq!(of(0xd000, 1), [false, false], "not counted");
        assert_eq!(of(u64::MAX, 2), [false, false]);
    }

    /// Nothing but what the map lists is read.
    #[test]
    fn memory_that_is_limited_to_a_map_has_nothing_else() {
        let mut memory = memory();
        let mut map = Map::new();
        map.add(BASE..BASE + 8, true);
        memory.limit(map);
        assert_eq!(memory.bytes(BASE, 8).map(<[u8]>::len), Some(8));
        assert_eq!(memory.bytes(BASE, 9), None);
        assert_eq!(memory.bytes(BASE + 8, 1), None);
    }
}
