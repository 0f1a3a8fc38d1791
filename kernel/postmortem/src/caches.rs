//! Writes caches back, for memory that is to survive a reset: a reset empties the caches of the processor without writing them back.

/// Blocks of this many bytes are written back. If a line of the cache has another size, the lines of a block are.
pub(crate) const BLOCK: usize = 64;

/// Writes back the block with this address, which can be read.
#[inline(never)]
pub(crate) fn clean(address: *const u8) {
    let start = address as usize & !(BLOCK - 1);
    #[cfg(target_os = "none")]
    machine::clean(start);
    #[cfg(all(test, not(target_os = "none")))]
    model::clean(start);
    #[cfg(all(not(test), not(target_os = "none")))]
    let _ = start;
}

/// Manual: volume 2, "CLFLUSH"; no processor with 64 bits has shorter lines than a block.
#[cfg(all(target_os = "none", target_arch = "x86_64"))]
mod machine {
    #[inline(always)]
    pub(super) fn clean(start: usize) {
        // SAFETY: changes no value in memory; the caller guarantees that the block can be read.
        unsafe {
            core::arch::asm!("clflush [{}]", "mfence", in(reg) start, options(nostack, preserves_flags));
        }
    }
}

/// Manual: C5.3 "A64 System instructions for cache maintenance": to the point of coherency, which all of the machine shares.
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
mod machine {
    use super::BLOCK;

    #[inline(always)]
    pub(super) fn clean(start: usize) {
        let features: usize;
        // SAFETY: only reads a register.
        unsafe {
            core::arch::asm!("mrs {}, ctr_el0", out(reg) features, options(nomem, nostack, preserves_flags));
        }
        // DminLine: words of the shortest line, as a power of two.
        let line = 4_usize.wrapping_shl((features >> 16 & 15) as u32);
        let (mut at, end) = (start, start.saturating_add(BLOCK));
        while at < end {
            // SAFETY: changes no value in memory; the caller guarantees that the block can be read.
            unsafe {
                core::arch::asm!("dc cvac, {}", in(reg) at, options(nostack, preserves_flags));
            }
            at = at.saturating_add(line);
        }
        // SAFETY: only waits.
        unsafe { core::arch::asm!("dsb sy", options(nostack, preserves_flags)) };
    }
}

/// Manual: B4.2.1 "Cache and branch predictor maintenance operations": DCCMVAC, to the point of coherency.
#[cfg(all(target_os = "none", target_arch = "arm"))]
mod machine {
    use super::BLOCK;

    #[inline(always)]
    pub(super) fn clean(start: usize) {
        let features: usize;
        // SAFETY: only reads CTR, which every privileged mode may.
        unsafe {
            core::arch::asm!("mrc p15, 0, {features}, c0, c0, 1", features = out(reg) features, options(nomem, nostack, preserves_flags));
        }
        // DminLine: words of the shortest line, as a power of two.
        let line = 4_usize.wrapping_shl((features >> 16 & 15) as u32);
        let (mut at, end) = (start, start.saturating_add(BLOCK));
        while at < end {
            // SAFETY: changes no value in memory; the caller guarantees that the block can be read.
            unsafe {
                core::arch::asm!("mcr p15, 0, {at}, c7, c10, 1", at = in(reg) at, options(nostack, preserves_flags));
            }
            at = at.saturating_add(line);
        }
        // SAFETY: only waits.
        unsafe { core::arch::asm!("dsb", options(nostack, preserves_flags)) };
    }
}

/// A memory behind a cache that writes nothing back by itself.
#[cfg(all(test, not(target_os = "none")))]
pub(crate) mod model {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use super::BLOCK;

    std::thread_local! {
        /// The blocks that this thread has written back, with what they contained.
        static WRITTEN: RefCell<BTreeMap<usize, [u8; BLOCK]>> = const { RefCell::new(BTreeMap::new()) };
    }

    pub(super) fn clean(start: usize) {
        // SAFETY: a whole block of a type that is aligned to blocks, whose bytes are atomics, and which other threads may change: any value
        // of a byte is one that it has had.
        let block =
            std::array::from_fn(|at| unsafe { ((start + at) as *const u8).read_volatile() });
        WRITTEN.with_borrow_mut(|written| written.insert(start, block));
    }

    /// What memory contains at an address after a reset; zeros where nothing was written back.
    pub(crate) fn byte(address: usize) -> u8 {
        WRITTEN.with_borrow(|written| {
            let block = written.get(&(address & !(BLOCK - 1)));
            block.map_or(0, |block| block[address & (BLOCK - 1)])
        })
    }
}
