//! Whether memory is mapped at an address, on this CPU.

use core::arch::x86_64::__cpuid;

use super::page_tables::PageTables;

/// The page tables of this CPU, where the kernel has said that they are.
#[derive(Debug)]
pub(crate) struct Mapped {
    tables: PageTables,
    physical: u64,
}

impl Mapped {
    /// Those that are in use now, if physical memory is mapped from `physical` on; or why they cannot be read.
    pub(crate) fn now(physical: Option<u64>) -> Result<Self, &'static str> {
        let physical = physical.ok_or("physical_memory_at is not called")?;
        let (root, flags, low, high): (u64, u64, u32, u32);
        // SAFETY: only reads registers, which the kernel may.
        unsafe {
            core::arch::asm!(
                "mov {root}, cr3",
                "mov {flags}, cr4",
                "rdmsr",
                root = out(reg) root,
                flags = out(reg) flags,
                in("ecx") 0x277,
                out("eax") low,
                out("edx") high,
                options(nomem, nostack, preserves_flags)
            );
        }
        let tables = PageTables {
            root,
            levels: if flags & 1 << 12 == 0 { 4 } else { 5 },
            hides_user: flags & 1 << 21 != 0,
            address_bits: address_bits(),
            types: u64::from(high) << 32 | u64::from(low),
        };
        let mapped = Self { tables, physical };
        // A wrong address leads to something else. It does not say there that it is the first table.
        let is_right = physical.is_multiple_of(0x1000) && mapped.holds(mapped.tables.first());
        is_right
            .then_some(mapped)
            .ok_or("the page tables are not where physical_memory_at says")
    }

    /// Whether memory that can be read is mapped at this address.
    pub(crate) fn is_memory(&self, address: u64) -> bool {
        // An entry that a stray write has damaged leads to anything.
        let read = |entry| self.holds(entry).then(|| self.read(entry));
        self.tables.find(address, read).is_some()
    }

    /// Whether a physical address is mapped where physical memory is told to be.
    fn holds(&self, address: u64) -> bool {
        let read = |entry| Some(self.read(entry));
        let mapped_at = self.physical.wrapping_add(address);
        self.tables.find(mapped_at, read) == Some(address)
    }

    fn read(&self, entry: u64) -> u64 {
        // SAFETY: `physical_memory_at` was told that the page tables can be read there.
        unsafe { (self.physical.wrapping_add(entry) as *const u64).read_volatile() }
    }
}

/// How many bits a physical address has. Manual: volume 3, 4.1.4 "Enumeration of Paging Features by CPUID".
fn address_bits() -> u32 {
    const HIGHEST: u32 = 0x8000_0000;
    const ADDRESS_SIZES: u32 = 0x8000_0008;
    match __cpuid(HIGHEST).eax >= ADDRESS_SIZES {
        true => __cpuid(ADDRESS_SIZES).eax & 0xff,
        false => 36,
    }
}
