//! From the addresses that a CPU uses to those of memory, by its page tables: as QEMU does it for a debugger, which may read what
//! is mapped.

mod aarch64;
mod armv7a;
mod x86_64;

use anyhow::Result;

use super::pages::Pages;
use crate::stub::Paging;

/// The physical address of a virtual one; `None` if it is not mapped.
pub(super) fn translate(paging: Paging, pages: &mut Pages, address: u64) -> Result<Option<u64>> {
    let mut failed = None;
    let mut word = |at: u64| match pages.bytes(at) {
        Ok(bytes) => bytes.map(u64::from_le_bytes),
        Err(error) => {
            failed = Some(error);
            None
        }
    };
    let found = match paging {
        Paging::X86 {
            cr0,
            cr3,
            cr4,
            efer,
        } => x86_64::translate([cr0, cr3, cr4, efer], &mut word, address),
        Paging::Arm {
            is_user,
            control,
            translation,
            tables,
        } => {
            let half = aarch64::Half::of_kernel(translation, tables, address);
            half.translate(control, is_user, &mut word, address)
        }
        Paging::Hypervisor {
            control,
            translation,
            table,
        } => {
            let half = aarch64::Half::of_hypervisor(translation, table);
            half.translate(control, false, &mut word, address)
        }
        Paging::Arm32 {
            is_user,
            control,
            translation,
            tables,
        } => armv7a::translate((control, translation, tables), is_user, &mut word, address),
    };
    failed.map_or(Ok(found), Err)
}
