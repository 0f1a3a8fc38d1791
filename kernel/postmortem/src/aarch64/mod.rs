//! AArch64. Manual chapters refer to the "Arm Architecture Reference Manual for A-profile architecture".

#[cfg(target_arch = "aarch64")]
mod authentication;
#[cfg(target_arch = "aarch64")]
mod entry;
mod frame;
#[cfg(any(all(target_arch = "aarch64", target_os = "none"), test))]
mod mapped;
mod syndrome;
#[cfg(any(all(target_arch = "aarch64", target_os = "none"), test))]
mod tables;
mod words;

#[cfg(target_arch = "aarch64")]
pub(crate) use authentication::for_walk;
pub use frame::TrapFrame;
#[cfg(all(target_arch = "aarch64", target_os = "none"))]
pub(crate) use mapped::Mapped;
pub use syndrome::Syndrome;
#[cfg(any(all(target_arch = "aarch64", target_os = "none"), test))]
pub use tables::Tables;
pub use unwind::aarch64::Registers;
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
pub use unwind::aarch64::{ELR, SP_EL0};
#[cfg(target_arch = "aarch64")]
pub(crate) use unwind::aarch64::{LR, SPSR};
#[cfg(target_arch = "aarch64")]
use unwind::{Frames, Memory, RowSource, Unwinder};
pub use words::{Kind, Words};

/// The size in bytes of an overflow stack, for exceptions that find no space on the current stack.
pub const OVERFLOW_STACK: usize = 32 * 1024;

/// The architecture's name in a report.
#[cfg(target_arch = "aarch64")]
pub(crate) const NAME: &str = "aarch64";

/// Bytes of the smallest instruction.
#[cfg(target_arch = "aarch64")]
pub(crate) const INSTRUCTION: usize = 4;

/// Returns the registers at one instruction of the function into which this function is inlined.
///
/// The registers are valid only until that function returns. A tail call, for example to pass the registers on, counts as a return.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn capture() -> Registers {
    let (pc, sp, fp, lr);
    // SAFETY: only reads registers. The stack pointer and frame pointer do not change between these instructions, so they
    // are those at `pc` too; the link register may be the place for one of the outputs, so it is read first.
    unsafe {
        core::arch::asm!(
            "mov {lr}, x30",
            "adr {pc}, .",
            "mov {sp}, sp",
            "mov {fp}, x29",
            lr = out(reg) lr,
            pc = out(reg) pc,
            sp = out(reg) sp,
            fp = out(reg) fp,
            options(nomem, nostack, preserves_flags)
        );
    }
    Registers::new(pc, sp, fp, lr)
}

/// Starts a walk.
#[cfg(target_arch = "aarch64")]
pub(crate) fn frames<'u, S: RowSource, M: Memory>(
    unwinder: &'u Unwinder<'_, S>,
    registers: Registers,
    memory: M,
) -> Frames<'u, Registers, M, S> {
    unwinder.frames(registers, memory)
}

/// Writes the registers that a walk knows, in a line.
#[cfg(target_arch = "aarch64")]
pub(crate) fn write_known(
    out: &mut dyn core::fmt::Write,
    registers: &Registers,
    fp_is_known: bool,
) -> core::fmt::Result {
    let Registers { pc, sp, fp, lr, .. } = registers;
    write!(out, "  pc {pc:#018x}  sp {sp:#018x}  x29 ")?;
    match fp_is_known {
        true => write!(out, "{fp:#018x}")?,
        false => out.write_str("not known")?,
    }
    match lr {
        Some(lr) => write!(out, "  x30 {lr:#018x}")?,
        None => out.write_str("  x30 not known")?,
    }
    out.write_str(", others not known\n")
}

/// Writes the registers that a walk needs, with those of the `frame` that was interrupted.
#[cfg(target_arch = "aarch64")]
pub(crate) fn write_needed(
    out: &mut dyn core::fmt::Write,
    registers: &Registers,
    frame: Option<&TrapFrame>,
) -> core::fmt::Result {
    let Registers { pc, sp, fp, .. } = registers;
    write!(out, " pc {pc:#018x} sp {sp:#018x} x29 {fp:#018x}")?;
    for (name, value) in [
        ("x30", registers.lr),
        ("x9", registers.x9),
        ("cpsr", frame.map(|frame| frame.spsr)),
    ] {
        if let Some(value) = value {
            write!(out, " {name} {value:#x}")?;
        }
    }
    Ok(())
}

/// The other registers of a frame, with their names.
#[cfg(target_arch = "aarch64")]
pub(crate) fn all(frame: &TrapFrame) -> impl Iterator<Item = (General, u64)> {
    (0..).map(General).zip(frame.x)
}

/// The general register with this number; as text, its name.
#[cfg(target_arch = "aarch64")]
pub(crate) struct General(u32);

#[cfg(target_arch = "aarch64")]
impl core::fmt::Display for General {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "x{}", self.0)
    }
}

/// The exceptions that were not masked: `DAIF`.
#[cfg(all(target_arch = "aarch64", target_os = "none"))]
#[derive(Debug)]
pub(crate) struct Unmasked(u64);

/// Masks ordinary interrupts of this CPU, watchpoints, because a report reads what a debugger watches, and SErrors, which are reports of
/// earlier accesses.
#[cfg(all(target_arch = "aarch64", target_os = "none"))]
pub(crate) fn mask() -> Unmasked {
    let daif: u64;
    // SAFETY: changes only the masks.
    unsafe {
        core::arch::asm!("mrs {}, daif", "msr daifset, #0b1110", out(reg) daif,
            options(nomem, nostack, preserves_flags));
    }
    Unmasked(daif)
}

/// Restores what [`mask`] has returned.
#[cfg(all(target_arch = "aarch64", target_os = "none"))]
pub(crate) fn unmask(before: &Unmasked) {
    // SAFETY: changes only the masks. Not `nomem`: what follows may be interrupted.
    unsafe {
        core::arch::asm!("msr daif, {}", in(reg) before.0, options(nostack, preserves_flags))
    };
}

/// The time by the virtual counter, if firmware has set its rate.
#[cfg(all(target_arch = "aarch64", target_os = "none"))]
pub(crate) fn time() -> Option<core::time::Duration> {
    let (ticks, rate): (u64, u64);
    // SAFETY: only reads registers, which EL1 and EL2 may read.
    unsafe {
        core::arch::asm!("mrs {}, cntvct_el0", "mrs {}, cntfrq_el0", out(reg) ticks, out(reg) rate,
            options(nomem, nostack, preserves_flags));
    }
    let milliseconds = ticks.checked_div(rate / 1000)?;
    Some(core::time::Duration::from_millis(milliseconds))
}

/// The affinity of `MPIDR_EL1`, without what is between its parts.
#[cfg(all(target_arch = "aarch64", target_os = "none"))]
pub(crate) fn hardware_number() -> u32 {
    let mpidr: u64;
    // SAFETY: only reads a register.
    unsafe {
        core::arch::asm!("mrs {}, mpidr_el1", out(reg) mpidr, options(nomem, nostack, preserves_flags));
    }
    (mpidr >> 8 & 0xff00_0000 | mpidr & 0x00ff_ffff) as u32
}

/// All that this CPU has written can be read by others, before it sends them an interrupt in whatever way.
#[cfg(all(target_arch = "aarch64", target_os = "none"))]
pub(crate) fn publish() {
    // SAFETY: orders memory accesses; not `nomem`, so that the compiler keeps that order.
    unsafe { core::arch::asm!("dsb ish", options(nostack, preserves_flags)) };
}

/// Stops this CPU for ever.
#[cfg(all(target_arch = "aarch64", target_os = "none"))]
pub(crate) fn halt() -> ! {
    loop {
        // SAFETY: changes the interrupt mask, and waits; other CPUs read this one's memory, so it is not `nomem`.
        unsafe {
            core::arch::asm!(
                "msr daifset, #0xf",
                "wfi",
                options(nostack, preserves_flags)
            )
        };
    }
}
