//! Whether memory is mapped at an address, by the MMU itself. Manual: B3.12.8 "Virtual Address to Physical Address translation operations".

/// What the MMU answers (B4.1.112 "PAR"): the lower word and, where page tables have long descriptors, the upper one.
#[derive(Clone, Copy)]
struct Answer(u32, u32);

impl Answer {
    const HAS_FAILED: u32 = 1;
    /// The answer is of long descriptors.
    const IS_LONG: u32 = 1 << 11;
    /// Of short ones: the inner attributes are those of a device or strongly ordered: 0b001, 0b011.
    const DEVICE: u32 = 1 << 4;
    const NOT_DEVICE: u32 = 1 << 6;

    /// Whether it is memory: mapped, and not a device.
    const fn is_memory(self) -> bool {
        let Self(low, high) = self;
        let is_normal = match low & Self::IS_LONG != 0 {
            // Attributes as MAIR has them: devices have zeros there.
            true => high >> 28 != 0,
            false => low & Self::NOT_DEVICE != 0 || low & Self::DEVICE == 0,
        };
        low & Self::HAS_FAILED == 0 && is_normal
    }
}

/// The MMU of this CPU, in a privileged mode that is not a hypervisor's.
#[cfg(target_os = "none")]
#[derive(Debug)]
pub(crate) struct Mapped(());

#[cfg(target_os = "none")]
impl Mapped {
    /// The MMU, if it is on; or why it cannot be asked.
    pub(crate) fn now(_: Option<u64>) -> Result<Self, &'static str> {
        const USER: u32 = 0x10;
        const HYPERVISOR: u32 = 0x1a;
        let (state, control): (u32, u32);
        // SAFETY: only reads the processor's state.
        unsafe {
            core::arch::asm!("mrs {}, cpsr", out(reg) state, options(nomem, nostack, preserves_flags))
        };
        if matches!(state & 0x1f, USER | HYPERVISOR) {
            return Err("this is no mode of a kernel");
        }
        // SAFETY: only reads SCTLR, which every privileged mode may.
        unsafe {
            core::arch::asm!(
                "mrc p15, 0, {}, c1, c0, 0",
                out(reg) control,
                options(nomem, nostack, preserves_flags)
            );
        }
        (control & 1 != 0)
            .then_some(Self(()))
            .ok_or("the MMU is off")
    }

    /// Whether this address is memory that can be read.
    pub(crate) fn is_memory(&self, address: u64) -> bool {
        let Ok(address) = u32::try_from(address) else {
            return false;
        };
        let (low, high): (u32, u32);
        // Asks (ATS1CPR), with all exceptions masked, because a handler may ask too. What was interrupted may have asked just before, and
        // finds its answer, of one word, where it was.
        // SAFETY: changes nothing but the flags and a register that it restores. The upper word is read only where there is one.
        unsafe {
            core::arch::asm!(
                "mrs {masks}, cpsr",
                "cpsid aif",
                "mrc p15, 0, {before}, c7, c4, 0",
                "mcr p15, 0, {address}, c7, c8, 0",
                "isb",
                "mrc p15, 0, {low}, c7, c4, 0",
                "mov {high}, #0",
                "tst {low}, #0x800",
                "beq 2f",
                "mrrc p15, 0, {low}, {high}, c7",
                "2:",
                "mcr p15, 0, {before}, c7, c4, 0",
                // Not by a write of the whole state, which may change the mode, so that no unwind row after it could be proven.
                "tst {masks}, #0x100",
                "bne 3f",
                "cpsie a",
                "3: tst {masks}, #0x80",
                "bne 4f",
                "cpsie i",
                "4: tst {masks}, #0x40",
                "bne 5f",
                "cpsie f",
                "5:",
                address = in(reg) address,
                masks = out(reg) _,
                before = out(reg) _,
                low = out(reg) low,
                high = out(reg) high,
                options(nostack)
            );
        }
        Answer(low, high).is_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::Answer;

    #[test]
    fn only_normal_memory_is_memory() {
        // Long descriptors: write-back; not cached. Short ones: the same.
        for (low, high) in [
            (0x4020_0b80, 0xff00_0000),
            (0x4020_0b80, 0x4400_0000),
            (0x4020_00fe, 0),
            (0x4020_0000, 0),
        ] {
            assert!(Answer(low, high).is_memory(), "{low:#x} {high:#x}");
        }
        // Devices, and strongly ordered; not mapped.
        for (low, high) in [
            (0x0900_0b80, 0x0000_0000),
            (0x0900_0b80, 0x0400_0000),
            (0x0900_0010, 0),
            (0x0900_0030, 0),
            (0x0000_080b, 0),
            (0x4020_0b81, 0xff00_0000),
        ] {
            assert!(!Answer(low, high).is_memory(), "{low:#x} {high:#x}");
        }
    }
}
