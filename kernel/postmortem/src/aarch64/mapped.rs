//! Whether memory is mapped at an address, by the MMU itself. Manual: C5.5 "A64 System instructions for address translation".

/// Whether the answer to an address translation is memory: mapped, and not a device. Manual: D24.2.143 "PAR_EL1".
const fn is_memory(answer: u64) -> bool {
    let has_failed = answer & 1 != 0;
    // Attributes as MAIR_EL1 has them: devices have zeros there.
    let is_normal = answer >> 60 != 0;
    !has_failed && is_normal
}

/// The MMU of this CPU, at EL1.
#[cfg(target_os = "none")]
#[derive(Debug)]
pub(crate) struct Mapped {
    /// Whether a page that EL0 can read may be hidden from EL1, and the MMU can be asked that, too (`FEAT_PAN2`).
    hides_user: bool,
}

#[cfg(target_os = "none")]
impl Mapped {
    /// The MMU, if it is on; or why it cannot be asked.
    pub(crate) fn now(_: Option<u64>) -> Result<Self, &'static str> {
        let (level, control, features): (u64, u64, u64);
        // SAFETY: only reads registers that can be read at EL1 and above.
        unsafe {
            core::arch::asm!(
                "mrs {}, currentel",
                "mrs {}, sctlr_el1",
                "mrs {}, id_aa64mmfr1_el1",
                out(reg) level,
                out(reg) control,
                out(reg) features,
                options(nomem, nostack, preserves_flags)
            );
        }
        let is_on = level >> 2 & 3 == 1 && control & 1 != 0;
        let hides_user = features >> 20 & 15 >= 2;
        is_on
            .then_some(Self { hides_user })
            .ok_or("there is no MMU on at EL1")
    }

    /// Whether this address is memory that can be read.
    pub(crate) fn is_memory(&self, address: u64) -> bool {
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
        is_memory(match self.hides_user {
            // `at s1e1rp`, which assemblers do not know by default.
            true => ask!("sys #0, c7, c9, #0, {address}"),
            false => ask!("at s1e1r, {address}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_memory;

    #[test]
    fn only_normal_memory_is_memory() {
        // Write-back; not cached; tagged.
        for answer in [
            0xff00_0000_4020_0b80,
            0x4400_0000_4020_0b80,
            0xf000_0000_4020_0b80,
        ] {
            assert!(is_memory(answer), "{answer:#x}");
        }
        // Devices; not mapped.
        for answer in [
            0x0000_0000_0900_0b80,
            0x0400_0000_0900_0b80,
            0x0c00_0000_0900_0b80,
            0x80b,
            0xff00_0000_4020_0b81,
        ] {
            assert!(!is_memory(answer), "{answer:#x}");
        }
    }
}
