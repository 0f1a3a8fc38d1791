//! 32-bit ARM: ARMv7-A. Manual chapters refer to the "Arm Architecture Reference Manual, ARMv7-A and ARMv7-R edition".

#[cfg(target_arch = "arm")]
mod entry;
mod frame;
#[cfg(any(all(target_arch = "arm", target_os = "none"), test))]
mod mapped;
mod status;
mod words;

#[cfg(target_arch = "arm")]
pub use entry::Scratch;
pub use frame::TrapFrame;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub(crate) use mapped::Mapped;
pub use status::Status;
pub use unwind::arm::Registers;
#[cfg(target_arch = "arm")]
pub(crate) use unwind::arm::{LR, SPSR};
#[cfg(target_arch = "arm")]
use unwind::{Frames, Memory, RegisterSet as _, RowSource, Unwinder};
pub use words::{Kind, Words};

/// The size in bytes of an overflow stack, for exceptions that find no space on the current stack.
pub const OVERFLOW_STACK: usize = 32 * 1024;

/// The number of words, for each exception mode of a CPU, that trap code uses outside of stacks before it has checked the stack.
pub const SCRATCH: usize = 8;

/// The architecture's name in a report.
#[cfg(target_arch = "arm")]
pub(crate) const NAME: &str = "armv7a";

/// Bytes of the smallest instruction: Thumb code has some of two and some of four.
#[cfg(target_arch = "arm")]
pub(crate) const INSTRUCTION: usize = 2;

/// Returns the registers after a call in the function into which this function is inlined, because exception tables hold only at calls.
///
/// The registers are valid only until that function returns. A tail call, for example to pass the registers on, counts as a return.
#[cfg(target_arch = "arm")]
#[inline(always)]
pub fn capture() -> Registers {
    let (pc, sp): (u32, u32);
    let mut kept = [0_u32; 8];
    // SAFETY: the call leads to the next instruction, and changes the link register only, which is named. The others are read, and eight of
    // them stored to the array.
    unsafe {
        core::arch::asm!(
            "bl 2f",
            "2:",
            "mov {pc}, lr",
            "mov {sp}, sp",
            "stm {kept}, {{r4-r11}}",
            pc = out(reg) pc,
            sp = out(reg) sp,
            kept = in(reg) kept.as_mut_ptr(),
            out("lr") _,
            options(nostack, preserves_flags)
        );
    }
    Registers::after_call(pc.into(), sp.into(), &kept)
}

/// As they are: return addresses have no signatures.
#[cfg(target_arch = "arm")]
pub(crate) const fn for_walk(registers: Registers) -> Registers {
    registers
}

/// Starts a walk: what stands behind a call, as [`capture`] has it, needs no row for an instruction.
#[cfg(target_arch = "arm")]
pub(crate) fn frames<'u, S: RowSource, M: Memory>(
    unwinder: &'u Unwinder<'_, S>,
    registers: Registers,
    memory: M,
) -> Frames<'u, Registers, M, S> {
    match registers.at_call {
        true => unwinder.frames_from_call(registers, memory),
        false => unwinder.frames(registers, memory),
    }
}

/// Writes the registers that a walk knows, in lines.
#[cfg(target_arch = "arm")]
pub(crate) fn write_known(
    out: &mut dyn core::fmt::Write,
    registers: &Registers,
    fp_is_known: bool,
) -> core::fmt::Result {
    let Registers { pc, sp, fp, lr, .. } = registers;
    write!(out, "  pc {pc:#010x}  sp {sp:#010x}  r11 ")?;
    match fp_is_known {
        true => write!(out, "{fp:#010x}")?,
        false => out.write_str("not known")?,
    }
    match lr {
        Some(lr) => write!(out, "  lr {lr:#010x}")?,
        None => out.write_str("  lr not known")?,
    }
    for (count, (name, value)) in known(registers).enumerate() {
        let begin = if count % 8 == 0 { "\n  " } else { "  " };
        write!(out, "{begin}{name} {value:#010x}")?;
    }
    out.write_str(match known(registers).count() {
        GENERAL => "\n",
        _ => ", others not known\n",
    })
}

/// How many registers there are besides the program counter, the stack pointer, the link register and `r11`.
#[cfg(target_arch = "arm")]
const GENERAL: usize = 12;

/// Those of them that are known.
#[cfg(target_arch = "arm")]
fn known(registers: &Registers) -> impl Iterator<Item = (General, u64)> {
    let numbers = (0..13).filter(|number| *number != unwind::arm::R11);
    numbers.filter_map(|number| Some((General(number), registers.other(number)?)))
}

/// The general register with this number; as text, its name.
#[cfg(target_arch = "arm")]
pub(crate) struct General(u32);

#[cfg(target_arch = "arm")]
impl core::fmt::Display for General {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// Writes the registers that a walk may need, which are all that are known, with the state of the `frame` that was interrupted.
#[cfg(target_arch = "arm")]
pub(crate) fn write_needed(
    out: &mut dyn core::fmt::Write,
    registers: &Registers,
    frame: Option<&TrapFrame>,
) -> core::fmt::Result {
    let Registers { pc, sp, fp, .. } = registers;
    write!(out, " pc {pc:#010x} sp {sp:#010x} r11 {fp:#010x}")?;
    if let Some(lr) = registers.lr {
        write!(out, " lr {lr:#010x}")?;
    }
    for (name, value) in known(registers) {
        write!(out, " {name} {value:#x}")?;
    }
    match frame {
        Some(frame) => write!(out, " cpsr {:#x}", frame.spsr),
        None => Ok(()),
    }
}

/// The other registers of a frame, with their names: what a fault says of itself.
#[cfg(target_arch = "arm")]
pub(crate) fn all(frame: &TrapFrame) -> impl Iterator<Item = (&'static str, u64)> {
    [("fsr", frame.fsr.into()), ("far", frame.far.into())].into_iter()
}

/// The affinity of `MPIDR`.
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub(crate) fn hardware_number() -> u32 {
    let mpidr: u32;
    // SAFETY: only reads a register.
    unsafe {
        core::arch::asm!("mrc p15, 0, {mpidr}, c0, c0, 5", mpidr = out(reg) mpidr, options(nomem, nostack, preserves_flags));
    }
    mpidr & 0x00ff_ffff
}

/// All that this CPU has written can be read by others, before it sends them an interrupt in whatever way.
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub(crate) fn publish() {
    // SAFETY: orders memory accesses; not `nomem`, so that the compiler keeps that order.
    unsafe { core::arch::asm!("dsb ish", options(nostack, preserves_flags)) };
}

/// Stops this CPU for ever.
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub(crate) fn halt() -> ! {
    loop {
        // SAFETY: changes the interrupt mask, and waits; other CPUs read this one's memory, so it is not `nomem`.
        unsafe { core::arch::asm!("cpsid aif", "wfi", options(nostack, preserves_flags)) };
    }
}

/// The exceptions that were not masked: the low half of `CPSR`.
#[cfg(all(target_arch = "arm", target_os = "none"))]
#[derive(Debug)]
pub(crate) struct Unmasked(u32);

/// Masks ordinary interrupts of this CPU, and asynchronous aborts, which are reports of earlier accesses.
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub(crate) fn mask() -> Unmasked {
    let status: u32;
    // SAFETY: changes only the masks.
    unsafe {
        core::arch::asm!("mrs {}, cpsr", "cpsid ai", out(reg) status,
            options(nomem, nostack, preserves_flags));
    }
    Unmasked(status)
}

/// Restores what [`mask`] has returned.
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub(crate) fn unmask(before: &Unmasked) {
    const IRQ: u32 = 1 << 7;
    const ASYNCHRONOUS_ABORT: u32 = 1 << 8;
    // SAFETY: changes only the masks. Not `nomem`: what follows may be interrupted.
    unsafe {
        if before.0 & ASYNCHRONOUS_ABORT == 0 {
            core::arch::asm!("cpsie a", options(nostack, preserves_flags));
        }
        if before.0 & IRQ == 0 {
            core::arch::asm!("cpsie i", options(nostack, preserves_flags));
        }
    }
}

/// `None`: not every CPU has a counter that can be read.
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub(crate) const fn time() -> Option<core::time::Duration> {
    None
}
