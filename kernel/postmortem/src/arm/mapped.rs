//! Queries the MMU whether memory is mapped at an address. Manual: B3.12.8 "Virtual Address to Physical Address translation operations".

/// What the MMU answers (B4.1.112 "PAR"): the lower word and, where page tables have long descriptors, the upper one.
#[derive(Clone, Copy, Debug)]
struct Answer(u32, u32);

impl Answer {
    const HAS_FAILED: u32 = 1;
    /// The answer is of long descriptors.
    const IS_LONG: u32 = 1 << 11;

    /// Whether it is memory: mapped, and not a device. What is not cached may be memory of a device, such as that of a screen, unless the
    /// kernel's own `stack` is not cached either.
    const fn is_memory(self, stack: Self) -> bool {
        matches!(
            (self.kind(), stack.kind()),
            (Some(Kind::Cached), _) | (Some(Kind::Uncached), Some(Kind::Uncached))
        )
    }

    /// Which memory it is; `None` if it is not mapped, or a device.
    const fn kind(self) -> Option<Kind> {
        let Self(low, high) = self;
        if low & Self::HAS_FAILED != 0 {
            return None;
        }
        if low & Self::IS_LONG != 0 {
            // Attributes as MAIR has them.
            return match (high >> 28, high >> 24 & 15) {
                (0, _) | (_, 0) => None,
                (4, _) | (_, 4) => Some(Kind::Uncached),
                _ => Some(Kind::Cached),
            };
        }
        // Outer and inner attributes. Other inner ones are those of a device, strongly ordered, or mean nothing.
        match (low >> 2 & 3, low >> 4 & 7) {
            (1..=3, 5..=7) => Some(Kind::Cached),
            (_, 0 | 5..=7) => Some(Kind::Uncached),
            _ => None,
        }
    }
}

/// Normal memory.
#[derive(Clone, Copy)]
enum Kind {
    Cached,
    /// Not cached, or not everywhere.
    Uncached,
}

/// The MMU of this CPU, in a privileged mode that is not a hypervisor's.
#[cfg(target_os = "none")]
#[derive(Debug)]
pub(crate) struct Mapped {
    /// The MMU's translation of an address on the stack that the report runs on.
    stack: Answer,
}

#[cfg(target_os = "none")]
impl Mapped {
    /// The MMU, if it is on; or why it cannot be asked.
    pub(crate) fn now(_: Option<u64>) -> Result<Self, &'static str> {
        match Self::control() {
            None => Err("the CPU is in user mode or hypervisor mode"),
            Some(control) if control & 1 == 0 => Err("the MMU is off"),
            Some(control) => Ok(Self {
                stack: ask((&raw const control) as u32),
            }),
        }
    }

    /// Whether the MMU is off.
    pub(crate) fn is_off() -> bool {
        Self::control().is_some_and(|control| control & 1 == 0)
    }

    /// Returns SCTLR, or `None` in user and hypervisor mode.
    fn control() -> Option<u32> {
        const USER: u32 = 0x10;
        const HYPERVISOR: u32 = 0x1a;
        let (state, control): (u32, u32);
        // SAFETY: only reads the processor's state.
        unsafe {
            core::arch::asm!("mrs {}, cpsr", out(reg) state, options(nomem, nostack, preserves_flags))
        };
        if matches!(state & 0x1f, USER | HYPERVISOR) {
            return None;
        }
        // SAFETY: only reads SCTLR, which every privileged mode may.
        unsafe {
            core::arch::asm!(
                "mrc p15, 0, {control}, c1, c0, 0",
                control = out(reg) control,
                options(nomem, nostack, preserves_flags)
            );
        }
        Some(control)
    }

    /// Whether this address is memory that can be read.
    pub(crate) fn is_memory(&self, address: u64) -> bool {
        u32::try_from(address).is_ok_and(|address| ask(address).is_memory(self.stack))
    }
}

/// The MMU's translation of this address.
#[cfg(target_os = "none")]
fn ask(address: u32) -> Answer {
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
    Answer(low, high)
}

#[cfg(test)]
mod tests {
    use super::Answer;

    /// Long descriptors, and short ones.
    const CACHED: [Answer; 2] = [Answer(0x4020_0b80, 0xff00_0000), Answer(0x4020_00fe, 0)];
    const UNCACHED: [Answer; 2] = [Answer(0x4020_0b80, 0x4400_0000), Answer(0x4020_0000, 0)];

    #[test]
    fn only_normal_memory_is_memory() {
        for stack in [CACHED, UNCACHED].concat() {
            for answer in CACHED {
                assert!(answer.is_memory(stack), "{answer:x?}");
            }
            // Devices, and strongly ordered; not mapped.
            for (low, high) in [
                (0x0900_0b80, 0x0000_0000),
                (0x0900_0b80, 0x0400_0000),
                (0x0900_0010, 0),
                (0x0900_0030, 0),
                (0x0000_080b, 0),
                (0x4020_0b81, 0xff00_0000),
                (0x4020_00ff, 0),
            ] {
                assert!(!Answer(low, high).is_memory(stack), "{low:#x} {high:#x}");
            }
        }
    }

    #[test]
    fn what_is_not_cached_is_memory_if_the_stack_is_not_cached_either() {
        // With one of both attributes, too.
        let half = [Answer(0x4020_0b80, 0xf400_0000), Answer(0x4020_00f0, 0)];
        for answer in [UNCACHED, half].concat() {
            assert!(!answer.is_memory(CACHED[0]), "{answer:x?}");
            assert!(answer.is_memory(UNCACHED[0]), "{answer:x?}");
        }
    }
}
