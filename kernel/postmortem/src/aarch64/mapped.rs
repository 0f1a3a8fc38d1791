//! Queries the MMU whether memory is mapped at an address. Manual: C5.5 "A64 System instructions for address translation".

/// Whether the answer to an address translation is memory: mapped, and not a device. Manual: D24.2.143 "PAR_EL1". What is not cached may be
/// memory of a device, such as that of a screen, unless the kernel's own `stack` is not cached either.
const fn is_memory(answer: u64, stack: u64) -> bool {
    is_cached(answer) || (is_uncached(answer) && is_uncached(stack))
}

/// Whether it is memory that is cached: neither the outer attributes (bits 63 to 60) nor the inner ones, as MAIR_EL1 has them, are those of
/// a device or of memory that is not cached.
const fn is_cached(answer: u64) -> bool {
    let (outer, inner) = (answer >> 60, answer >> 56 & 15);
    let is_tagged = outer == 15 && inner == 0;
    let has_failed = answer & 1 != 0;
    !has_failed && !matches!(outer, 0 | 4) && (is_tagged || !matches!(inner, 0 | 4))
}

/// Whether it is memory that is not cached, at least not by all.
const fn is_uncached(answer: u64) -> bool {
    let (outer, inner) = (answer >> 60, answer >> 56 & 15);
    let has_failed = answer & 1 != 0;
    !has_failed && outer != 0 && inner != 0 && (outer == 4 || inner == 4)
}

/// The MMU of this CPU, at EL1.
#[cfg(target_os = "none")]
#[derive(Debug)]
pub(crate) struct Mapped {
    /// Whether a page that EL0 can read may be hidden from EL1, and the MMU can be asked that, too (`FEAT_PAN2`).
    hides_user: bool,
    /// The MMU's translation of an address on the stack that the report runs on.
    stack: u64,
}

#[cfg(target_os = "none")]
impl Mapped {
    /// The MMU, if it is on; or why it cannot be asked.
    pub(crate) fn now(_: Option<u64>) -> Result<Self, &'static str> {
        let (level, control, features) = Self::registers();
        let hides_user = features >> 20 & 15 >= 2;
        if control & 1 == 0 {
            return Err("the MMU is off");
        }
        // `at s1e1r` translates for EL1.
        if level != 1 {
            return Err("the kernel does not run at EL1");
        }
        let mut mapped = Self {
            hides_user,
            stack: 0,
        };
        mapped.stack = mapped.ask((&raw const level) as u64);
        Ok(mapped)
    }

    /// Whether this CPU's MMU is off.
    pub(crate) fn is_off() -> bool {
        let (_, control, _) = Self::registers();
        control & 1 == 0
    }

    /// Returns the exception level, its `SCTLR` and `ID_AA64MMFR1_EL1`.
    fn registers() -> (u64, u64, u64) {
        macro_rules! read {
            ($register:literal) => {{
                let value: u64;
                // SAFETY: only reads a register that can be read at the exception level at which this code runs.
                unsafe {
                    core::arch::asm!(
                        concat!("mrs {}, ", $register),
                        out(reg) value,
                        options(nomem, nostack, preserves_flags)
                    );
                }
                value
            }};
        }
        let level = read!("currentel") >> 2 & 3;
        let control = match level {
            1 => read!("sctlr_el1"),
            2 => read!("sctlr_el2"),
            _ => read!("sctlr_el3"),
        };
        (level, control, read!("id_aa64mmfr1_el1"))
    }

    /// Whether this address is memory that can be read.
    pub(crate) fn is_memory(&self, address: u64) -> bool {
        is_memory(self.ask(address), self.stack)
    }

    /// The MMU's translation of this address.
    fn ask(&self, address: u64) -> u64 {
        /// Asks, with all exceptions masked, because a handler may ask too. What was interrupted may have asked just before, and
        /// finds its answer where it was.
        macro_rules! ask {
            ($instruction:literal) => {{
                let answer: u64;
                // SAFETY: changes nothing but a register that it restores.
                unsafe {
                    core::arch::asm!(
                        "mrs {masks}, daif",
                        "msr daifset, #15",
                        "mrs {before}, par_el1",
                        $instruction,
                        "isb",
                        "mrs {answer}, par_el1",
                        "msr par_el1, {before}",
                        "msr daif, {masks}",
                        address = in(reg) address,
                        masks = out(reg) _,
                        before = out(reg) _,
                        answer = lateout(reg) answer,
                        options(nostack)
                    );
                }
                answer
            }};
        }
        match self.hides_user {
            // `at s1e1rp`, which assemblers do not know by default.
            true => ask!("sys #0, c7, c9, #0, {address}"),
            false => ask!("at s1e1r, {address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_memory;

    const CACHED: u64 = 0xff00_0000_4020_0b80;
    const UNCACHED: u64 = 0x4400_0000_4020_0b80;

    #[test]
    fn only_normal_memory_is_memory() {
        // Write-back; write-through; tagged.
        for answer in [CACHED, 0xaa00_0000_4020_0b80, 0xf000_0000_4020_0b80] {
            for stack in [CACHED, UNCACHED] {
                assert!(is_memory(answer, stack), "{answer:#x}");
            }
        }
        // Devices; not mapped; attributes that mean nothing.
        for answer in [
            0x0000_0000_0900_0b80,
            0x0400_0000_0900_0b80,
            0x0c00_0000_0900_0b80,
            0x80b,
            0xff00_0000_4020_0b81,
            0x4400_0000_4020_0b81,
            0x4000_0000_4020_0b80,
            0xe000_0000_4020_0b80,
        ] {
            for stack in [CACHED, UNCACHED] {
                assert!(!is_memory(answer, stack), "{answer:#x}");
            }
        }
    }

    /// Kernels that have no use for caches map all memory so.
    #[test]
    fn what_is_not_cached_is_memory_if_the_stack_is_not_cached_either() {
        for answer in [UNCACHED, 0x4f00_0000_4020_0b80, 0xf400_0000_4020_0b80] {
            assert!(!is_memory(answer, CACHED), "{answer:#x}");
            assert!(is_memory(answer, UNCACHED), "{answer:#x}");
        }
    }
}
