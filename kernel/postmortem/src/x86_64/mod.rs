//! x86-64. Manual chapters refer to the "Intel 64 and IA-32 Architectures Software Developer's Manual".

#[cfg(target_arch = "x86_64")]
mod entry;
mod frame;
mod machine_check;
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
mod mapped;
#[cfg(any(all(target_arch = "x86_64", target_os = "none"), test))]
mod mtrrs;
#[cfg(any(all(target_arch = "x86_64", target_os = "none"), test))]
mod page_tables;
#[cfg(target_arch = "x86_64")]
mod serial_port;
#[cfg(all(target_arch = "x86_64", any(target_os = "none", test)))]
mod tables;
mod words;

pub use frame::TrapFrame;
pub(crate) use machine_check::LastMachineCheck;
pub use machine_check::MachineCheck;
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub(crate) use mapped::Mapped;
#[cfg(target_arch = "x86_64")]
pub use serial_port::SerialPort;
#[cfg(all(target_arch = "x86_64", any(target_os = "none", test)))]
pub use tables::Tables;
pub use unwind::x86_64::Registers;
#[cfg(target_arch = "x86_64")]
use unwind::{Frames, Memory, RowSource, Unwinder};
pub use words::Words;

/// The architecture's name in a report.
#[cfg(target_arch = "x86_64")]
pub(crate) const NAME: &str = "x86_64";

/// Bytes of the smallest instruction.
#[cfg(target_arch = "x86_64")]
pub(crate) const INSTRUCTION: usize = 1;

/// Returns the registers at one instruction of the function into which this function is inlined.
///
/// The registers are valid only until that function returns. A tail call, for example to pass the registers on, counts as a return.
///
/// ```
/// // In a panic handler, for `Postmortem::panic`.
/// let registers = postmortem::capture();
/// assert_ne!(registers.pc, 0);
/// ```
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn capture() -> Registers {
    let (pc, sp, fp);
    // SAFETY: only reads registers. The stack pointer and frame pointer do not change between these instructions, so
    // they are those at `pc` too.
    unsafe {
        core::arch::asm!(
            "lea {pc}, [rip]",
            "mov {sp}, rsp",
            "mov {fp}, rbp",
            pc = out(reg) pc,
            sp = out(reg) sp,
            fp = out(reg) fp,
            options(nomem, nostack, preserves_flags)
        );
    }
    Registers::new(pc, sp, fp)
}

/// The registers, as they are: return addresses are not signed.
#[cfg(target_arch = "x86_64")]
pub(crate) const fn for_walk(registers: Registers) -> Registers {
    registers
}

/// Starts a walk.
#[cfg(target_arch = "x86_64")]
pub(crate) fn frames<'u, S: RowSource, M: Memory>(
    unwinder: &'u Unwinder<'_, S>,
    registers: Registers,
    memory: M,
) -> Frames<'u, Registers, M, S> {
    unwinder.frames(registers, memory)
}

/// Writes the registers that a walk knows, in a line.
#[cfg(target_arch = "x86_64")]
pub(crate) fn write_known(
    out: &mut dyn core::fmt::Write,
    registers: &Registers,
    fp_is_known: bool,
) -> core::fmt::Result {
    let Registers { pc, sp, fp, .. } = registers;
    write!(out, "  rip {pc:#018x}  rsp {sp:#018x}  rbp ")?;
    match fp_is_known {
        true => write!(out, "{fp:#018x}")?,
        false => out.write_str("not known")?,
    }
    out.write_str(", others not known\n")
}

/// Writes the registers that a walk needs, with those of the `frame` that was interrupted.
#[cfg(target_arch = "x86_64")]
pub(crate) fn write_needed(
    out: &mut dyn core::fmt::Write,
    registers: &Registers,
    frame: Option<&TrapFrame>,
) -> core::fmt::Result {
    let Registers { pc, sp, fp, .. } = registers;
    write!(out, " rip {pc:#018x} rsp {sp:#018x} rbp {fp:#018x}")?;
    for (name, value) in [
        ("r10", registers.r10),
        ("r11", registers.r11),
        ("rflags", frame.map(|frame| frame.rflags)),
        ("cs", frame.map(|frame| frame.cs)),
    ] {
        if let Some(value) = value {
            write!(out, " {name} {value:#x}")?;
        }
    }
    Ok(())
}

/// The other registers of a frame, with their names.
#[cfg(target_arch = "x86_64")]
pub(crate) fn all(frame: &TrapFrame) -> impl Iterator<Item = (&'static str, u64)> {
    let general = frame.general().into_iter().flatten();
    let general = general.map(|(name, value)| (name.trim_end(), value));
    general.chain([("cr2", frame.cr2), ("ss", frame.ss)])
}

/// The flags before [`mask`].
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
#[derive(Debug)]
pub(crate) struct Unmasked(u64);

/// Masks ordinary interrupts of this CPU.
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub(crate) fn mask() -> Unmasked {
    let flags: u64;
    // SAFETY: changes only the interrupt flag. Reads the flags through the stack.
    unsafe { core::arch::asm!("pushfq", "pop {}", "cli", out(reg) flags) };
    Unmasked(flags)
}

/// Restores what [`mask`] has returned.
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub(crate) fn unmask(before: &Unmasked) {
    const INTERRUPT_FLAG: u64 = 1 << 9;
    if before.0 & INTERRUPT_FLAG != 0 {
        // SAFETY: changes only the interrupt flag, to what it was. Not `nomem`: what follows may be interrupted.
        unsafe { core::arch::asm!("sti", options(nostack)) };
    }
}

/// The registers that [`save_debug_state`] has saved.
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
#[derive(Debug)]
pub(crate) struct DebugState {
    dr7: u64,
    /// A failed read of a report overwrites it. An NMI may have interrupted a handler that has not read it yet.
    cr2: u64,
}

/// Saves DR7 and CR2, and disables the watchpoints of this CPU, because a report reads what a debugger watches. Manual: volume 3, 19.2.4 "Debug Control Register (DR7)".
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub(crate) fn save_debug_state() -> DebugState {
    /// Bit 10 is always one.
    const NO_BREAKPOINTS: u64 = 1 << 10;
    let (dr7, cr2): (u64, u64);
    // SAFETY: changes only the enabled breakpoints.
    unsafe {
        core::arch::asm!(
            "mov {dr7}, dr7",
            "mov dr7, {none}",
            "mov {cr2}, cr2",
            dr7 = out(reg) dr7,
            none = in(reg) NO_BREAKPOINTS,
            cr2 = out(reg) cr2,
            options(nomem, nostack, preserves_flags)
        );
    }
    DebugState { dr7, cr2 }
}

/// Restores what [`save_debug_state`] has returned.
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub(crate) fn restore_debug_state(saved: &DebugState) {
    // SAFETY: the values are those that the registers had.
    unsafe {
        core::arch::asm!("mov cr2, {}", "mov dr7, {}", in(reg) saved.cr2, in(reg) saved.dr7,
            options(nostack, preserves_flags));
    }
}

/// The time by the time-stamp counter, whose rate is unknown: on most CPUs the time passes faster.
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub(crate) fn time() -> Option<core::time::Duration> {
    /// An upper bound of the counter's rate, per nanosecond.
    const RATE: u64 = 4;
    // SAFETY: every x86-64 CPU has the counter, and ring 0 may read it.
    let ticks = unsafe { core::arch::x86_64::_rdtsc() };
    Some(core::time::Duration::from_nanos(ticks / RATE))
}

/// The APIC ID.
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub(crate) fn hardware_number() -> u32 {
    use core::arch::x86_64::__cpuid;

    // Leaf 0xb, where there is one, because leaf 1 has only eight bits of it.
    const TOPOLOGY: u32 = 0xb;
    if __cpuid(0).eax >= TOPOLOGY {
        let its = __cpuid(TOPOLOGY);
        if its.ebx != 0 {
            return its.edx;
        }
    }
    __cpuid(1).ebx >> 24
}

/// All that this CPU has written can be read by others, before it sends them an interrupt in whatever way: volume 3, 12.12.3 "MSR
/// Access in x2APIC Mode".
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub(crate) fn publish() {
    // SAFETY: orders memory accesses; not `nomem`, so that the compiler keeps that order.
    unsafe { core::arch::asm!("mfence", "lfence", options(nostack, preserves_flags)) };
}

/// Stops this CPU for ever.
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub(crate) fn halt() -> ! {
    loop {
        // SAFETY: changes the interrupt flag, and waits; other CPUs read this one's memory, so it is not `nomem`.
        unsafe { core::arch::asm!("cli", "hlt", options(nostack)) };
    }
}
