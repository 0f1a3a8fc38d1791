//! Whether memory is mapped at an address, on this CPU.

use core::arch::x86_64::{__cpuid, CpuidResult};

use super::mtrrs::Mtrrs;
use super::page_tables::PageTables;

/// `IA32_PAT`.
const PAT: u32 = 0x277;
/// `IA32_EFER`, and its bit NXE.
const EFER: u32 = 0xc000_0080;
const NO_EXECUTE: u64 = 1 << 11;
/// `IA32_PKRS`, which CR4 says that there is.
const PKRS: u32 = 0x6e1;
/// CR4: keys of user pages are in use, and keys of the kernel's pages.
const USER_KEYS: u64 = 1 << 22;
const KERNEL_KEYS: u64 = 1 << 24;

/// The page tables of this CPU, at the address that the kernel has set.
#[derive(Debug)]
pub(crate) struct Mapped {
    tables: PageTables,
    mtrrs: Mtrrs,
    physical: u64,
}

impl Mapped {
    /// Returns false: 64-bit mode needs paging.
    pub(crate) const fn is_off() -> bool {
        false
    }

    /// Those that are in use now, if physical memory is mapped from `physical` on; or why they cannot be read.
    pub(crate) fn now(physical: Option<u64>) -> Result<Self, &'static str> {
        let physical = physical.ok_or("physical_memory_at was not called")?;
        let (root, flags): (u64, u64);
        // SAFETY: only reads registers, which the kernel may.
        unsafe {
            core::arch::asm!(
                "mov {root}, cr3",
                "mov {flags}, cr4",
                root = out(reg) root,
                flags = out(reg) flags,
                options(nomem, nostack, preserves_flags)
            );
        }
        let tables = PageTables {
            root,
            levels: if flags & 1 << 12 == 0 { 4 } else { 5 },
            hides_user: flags & 1 << 21 != 0,
            address_bits: address_bits(),
            types: read_register(PAT),
            has_no_execute: read_register(EFER) & NO_EXECUTE != 0,
            has_gibibytes: extended(0x8000_0001).edx & 1 << 26 != 0,
            keys: [
                match flags & KERNEL_KEYS {
                    0 => 0,
                    _ => read_register(PKRS) as u32,
                },
                match flags & USER_KEYS {
                    0 => 0,
                    _ => user_keys(),
                },
            ],
            encryption: encryption(),
        };
        let mtrrs = match has_mtrrs() {
            true => Mtrrs::new(read_register),
            false => Mtrrs::NONE,
        };
        let mapped = Self {
            tables,
            mtrrs,
            physical,
        };
        // A wrong address leads to something else. It does not say there that it is the first table.
        let is_right = physical.is_multiple_of(0x1000) && mapped.holds(mapped.tables.first());
        is_right
            .then_some(mapped)
            .ok_or("the memory at the address passed to physical_memory_at contains no page tables")
    }

    /// Whether memory that can be read is mapped at this address.
    pub(crate) fn is_memory(&self, address: u64) -> bool {
        // An entry that a stray write has damaged leads to anything.
        let read = |entry| self.holds(entry).then(|| self.read(entry))?;
        let found = self.tables.find(address, &read);
        found.is_some_and(|found| self.may_be_cached(found))
    }

    /// Whether a physical address is mapped at the address that the kernel has set for it.
    fn holds(&self, address: u64) -> bool {
        let mapped_at = self.physical.wrapping_add(address);
        let found = self.tables.find(mapped_at, &|entry| self.read(entry));
        found == Some(address)
    }

    /// The entry at a physical address, unless a device is there.
    fn read(&self, entry: u64) -> Option<u64> {
        let mapped_at = self.physical.wrapping_add(entry) as *const u64;
        // SAFETY: the caller of `physical_memory_at` guarantees that the page tables can be read there.
        (self.may_be_cached(entry)).then(|| unsafe { mapped_at.read_volatile() })
    }

    #[inline(never)]
    fn may_be_cached(&self, address: u64) -> bool {
        self.mtrrs.may_be_cached(address, read_register)
    }
}

/// Reads a model-specific register that this processor has.
fn read_register(number: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: it has `IA32_PAT`, as all with 64 bits have, and MTRRs if CPUID says so; reading them changes nothing.
    unsafe {
        core::arch::asm!(
            "rdmsr",
            in("ecx") number,
            out("eax") low,
            out("edx") high,
            options(nomem, nostack, preserves_flags)
        );
    }
    u64::from(high) << 32 | u64::from(low)
}

fn has_mtrrs() -> bool {
    __cpuid(1).edx & 1 << 12 != 0
}

/// How many bits a physical address has. Manual: volume 3, 4.1.4 "Enumeration of Paging Features by CPUID".
fn address_bits() -> u32 {
    match extended(0x8000_0008).eax & 0xff {
        0 => 36,
        bits => bits,
    }
}

/// What CPUID says at a number from 0x8000_0000 on; zeros if it has none.
fn extended(number: u32) -> CpuidResult {
    match __cpuid(0x8000_0000).eax >= number {
        true => __cpuid(number),
        false => CpuidResult {
            eax: 0,
            ebx: 0,
            ecx: 0,
            edx: 0,
        },
    }
}

/// PKRU.
fn user_keys() -> u32 {
    let keys: u32;
    // SAFETY: only reads a register, which there is, as CR4 says.
    unsafe {
        core::arch::asm!("rdpkru", in("ecx") 0, out("eax") keys, out("edx") _, options(nomem, nostack, preserves_flags));
    }
    keys
}

/// The bit of page table entries that says that memory is encrypted; or 0. AMD's manual: volume 2, 7.10.1 "Determining Support for Secure
/// Memory Encryption", and 15.34.1 for guests.
fn encryption() -> u64 {
    /// `SYSCFG`, and its bit for SME.
    const SYSCFG: u32 = 0xc001_0010;
    const SME_IS_ON: u64 = 1 << 23;
    /// `SEV_STATUS`, and its bit for SEV.
    const SEV_STATUS: u32 = 0xc001_0131;
    const SEV_IS_ON: u64 = 1;
    const HYPERVISOR: u32 = 1 << 31;
    let features = extended(0x8000_001f);
    let is_guest = __cpuid(1).ecx & HYPERVISOR != 0;
    let is_on = match (is_guest, features.eax & 1 != 0, features.eax & 2 != 0) {
        (true, _, true) => read_register(SEV_STATUS) & SEV_IS_ON != 0,
        (false, true, _) => read_register(SYSCFG) & SME_IS_ON != 0,
        _ => false,
    };
    match is_on {
        true => 1_u64.wrapping_shl(features.ebx & 0x3f),
        false => 0,
    }
}
