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
    /// What a report says that can read nothing.
    pub(crate) const MISSING: &str =
        "no stack can be read: the kernel calls neither physical_memory_at nor stacks_by\n";

    /// Those that are in use now, if physical memory is mapped from `physical` on.
    pub(crate) fn now(physical: Option<u64>) -> Option<Self> {
        let physical = physical?;
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
        Some(Self { tables, physical })
    }

    pub(crate) fn is_memory(&self, address: u64) -> bool {
        self.tables.is_memory(address, |entry| {
            // SAFETY: `physical_memory_at` was told that the page tables can be read there.
            unsafe { (self.physical.wrapping_add(entry) as *const u64).read_volatile() }
        })
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
