//! Registers of AArch64.

use anyhow::{Context, Result, bail};
use unwind::{SavedRegister, aarch64};

use super::answers::Paging;
use super::client::bytes;
use super::state::{Level, Registers, State};
use super::system::{Names, System};

/// Where the kernel's trap code keeps registers that rows do not name: `TrapFrame::SAVED`.
pub const SAVED: [SavedRegister; 6] = [
    SavedRegister::new(9, 9 * 8),
    SavedRegister::new(30, 30 * 8),
    SavedRegister::new(aarch64::SP, 31 * 8),
    SavedRegister::new(aarch64::ELR, 32 * 8),
    SavedRegister::new(aarch64::SPSR, 33 * 8),
    SavedRegister::new(SavedRegister::END, 38 * 8),
];

/// Bits of the processor's state: which stack pointer is in use, and that IRQs are masked.
const SP_ELX: u8 = 1;
const IRQ_MASKED: u8 = 1 << 7;
/// Those of the exception level, and the one that says that the processor runs code of 32 bits.
const LEVEL: u8 = 3 << 2;
const KERNEL_LEVEL: u8 = 1 << 2;
const NARROW: u8 = 1 << 4;
/// Bits of HCR_EL2: addresses of a guest are translated again; exceptions of programs go to the hypervisor; the hypervisor is a
/// kernel, with two tables of its own.
const TRANSLATES_AGAIN: u64 = 1;
const ALL_TRAPS_TO_HYPERVISOR: u64 = 1 << 27;
const HOST: u64 = 1 << 34;

/// Bit of SCTLR: there are page tables.
const PAGING: u64 = 1;
/// Bits of TCR_EL1 and TCR_EL2: addresses of more than 48 bits.
const LONG_ADDRESSES: u64 = 1 << 59;
const LONG_ADDRESSES_2: u64 = 1 << 32;
/// Bits of the part for a half of the addresses: how many bits at the top are all the same, and that there are no tables.
const SIZE: u64 = 0x3f;
const NO_TABLES: u64 = 1 << 7;

/// Those that a walk begins with, after the general ones.
const STATE: [Names; 3] = [&["ELR_EL1"], &["SP_EL0"], &["SPSR_EL1"]];
/// Those that say how page tables are used: a kernel's, and a hypervisor's, which not every machine has.
const KERNEL: [Names; 4] = [
    &["SCTLR_EL1", "SCTLR"],
    &["TCR_EL1"],
    &["TTBR0_EL1"],
    &["TTBR1_EL1"],
];
const HYPERVISOR: [Names; 4] = [&["SCTLR_EL2"], &["TCR_EL2"], &["TTBR0_EL2"], &["HCR_EL2"]];

/// What to ask the stub for a walk: the general registers, and those of the system that it begins with.
pub(super) fn questions(system: &System) -> Result<Vec<String>> {
    Ok([vec!["g".to_owned()], system.questions(&STATE)?].concat())
}

/// What to ask for beyond that of page tables.
pub(super) fn more_questions(system: &System) -> Result<Vec<String>> {
    let mut questions = system.questions(&KERNEL)?;
    questions.extend(system.questions(&HYPERVISOR).unwrap_or_default());
    Ok(questions)
}

/// How page tables are used, by the answers to both lists of questions.
pub(super) fn paging(answers: &[Vec<u8>]) -> Result<Paging> {
    let register = |index: usize| -> Result<u64> {
        let word = bytes(answers.get(index).context("too few registers")?);
        let word = word.first_chunk().copied();
        Ok(u64::from_le_bytes(word.context("too few registers")?))
    };
    let general = bytes(answers.first().context("no registers")?);
    let flags = general
        .get(33 * 8)
        .context("QEMU did not report the processor state (CPSR)")?;
    let level = (flags & LEVEL) >> 2;
    let (system, has_hypervisor) = (
        1 + STATE.len(),
        answers.len() > 1 + STATE.len() + KERNEL.len(),
    );
    let hypervisor = system + KERNEL.len();
    let control = match has_hypervisor {
        true => register(hypervisor + 3)?,
        false => 0,
    };
    match level {
        _ if flags & NARROW != 0 => bail!("page tables of 32-bit code are not supported"),
        0 | 1 if control & (TRANSLATES_AGAIN | ALL_TRAPS_TO_HYPERVISOR) != 0 => {
            bail!("page tables of a guest under a hypervisor are not supported")
        }
        0 | 1 => {
            let (control, translation) = (register(system)?, register(system + 1)?);
            let halves = [translation, translation >> 16];
            // Of a half that is not switched off.
            let sizes = halves.iter().filter(|half| **half & NO_TABLES == 0);
            expect_short(control, translation & LONG_ADDRESSES, sizes)?;
            Ok(Paging::Arm {
                is_user: level == 0,
                control,
                translation,
                tables: [register(system + 2)?, register(system + 3)?],
            })
        }
        2 if has_hypervisor && control & HOST == 0 => {
            let (control, translation) = (register(hypervisor)?, register(hypervisor + 1)?);
            expect_short(control, translation & LONG_ADDRESSES_2, [&translation])?;
            Ok(Paging::Hypervisor {
                control,
                translation,
                table: register(hypervisor + 2)?,
            })
        }
        _ => bail!("page tables of exception level {level} are not supported"),
    }
}

/// Refuses page tables for addresses of more than 48 bits, or of fewer than 25, which have other forms.
fn expect_short<'a>(
    control: u64,
    long: u64,
    sizes: impl IntoIterator<Item = &'a u64>,
) -> Result<()> {
    let mut sizes = sizes.into_iter().map(|half| half & SIZE);
    if control & PAGING != 0 && (long != 0 || !sizes.all(|same| (16..=39).contains(&same))) {
        bail!("page tables for addresses of more than 48 or fewer than 25 bits are not supported");
    }
    Ok(())
}

/// Those that gdb has of any such processor, in its order, with their size in bytes: general ones, program counter, flags.
pub(super) fn general() -> impl Iterator<Item = (String, usize)> {
    let names = (0..=30).map(|number| (format!("x{number}"), 8));
    names.chain([
        ("sp".to_owned(), 8),
        ("pc".to_owned(), 8),
        ("pstate".to_owned(), 4),
    ])
}

/// All registers in the answers, by their names.
pub(super) fn named(answers: &[Vec<u8>]) -> Vec<(String, u64)> {
    let mut answers = answers.iter().map(|answer| bytes(answer));
    let general = answers.next().unwrap_or_default();
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        let count = bytes.len().min(8);
        word[..count].copy_from_slice(&bytes[..count]);
        u64::from_le_bytes(word)
    };
    let names = (0..=30).map(|number| format!("x{number}"));
    let names = names.chain(["sp".to_owned(), "pc".to_owned()]);
    let mut registers: Vec<_> = names.zip(general.chunks_exact(8).map(word)).collect();
    // PSTATE has four bytes.
    if let Some(state) = general.get(33 * 8..33 * 8 + 4) {
        registers.push(("pstate".to_owned(), word(state)));
    }
    let system = STATE.iter().chain(&KERNEL).chain(&HYPERVISOR);
    let system = system.map(|names| names[0].to_ascii_lowercase());
    registers.extend(system.zip(answers.map(|bytes| word(&bytes))));
    registers
}

/// The state, by the answers: x0 to x30, sp, pc and the processor's state; then the system's registers.
pub(super) fn state(answers: &[Vec<u8>]) -> Result<State> {
    let [general, elr, sp_el0, spsr, ..] = answers else {
        anyhow::bail!("too few registers");
    };
    let general = bytes(general);
    let word = |bytes: &[u8], index: usize| -> Result<u64> {
        let word = bytes.get(index * 8..).and_then(|rest| rest.first_chunk());
        Ok(u64::from_le_bytes(*word.context("too few registers")?))
    };
    let flags = general
        .get(33 * 8)
        .context("QEMU did not report the processor state (CPSR)")?;
    let known = Known {
        pc: word(&general, 32)?,
        sp: word(&general, 31)?,
        fp: word(&general, 29)?,
        link: word(&general, 30)?,
        x9: Some(word(&general, 9)?),
        flags: Some(u64::from(*flags)),
        elr: Some(word(&bytes(elr), 0)?),
        sp_el0: Some(word(&bytes(sp_el0), 0)?),
        spsr: Some(word(&bytes(spsr), 0)?),
    };
    Ok(known.into())
}

/// What is known of a processor's registers.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The program counter.
    pub pc: u64,
    /// The stack pointer in use.
    pub sp: u64,
    /// x29.
    pub fp: u64,
    /// x30.
    pub link: u64,
    /// x9.
    pub x9: Option<u64>,
    /// The state of the processor, `cpsr`; that of a kernel if it is not known.
    pub flags: Option<u64>,
    /// ELR_EL1.
    pub elr: Option<u64>,
    /// SP_EL0.
    pub sp_el0: Option<u64>,
    /// SPSR_EL1.
    pub spsr: Option<u64>,
}

impl From<Known> for State {
    fn from(known: Known) -> Self {
        let Known { pc, sp, .. } = known;
        let flags = known.flags.unwrap_or((KERNEL_LEVEL | SP_ELX).into()) as u8;
        let mut registers = aarch64::Registers::new(pc, sp, known.fp, known.link);
        registers.x9 = known.x9;
        // A hypervisor, and firmware, have registers of their own for where they were entered from.
        let is_own = flags & LEVEL <= KERNEL_LEVEL;
        registers.elr = known.elr.filter(|_| is_own);
        // While it is the one in use, the copy of it is old.
        registers.sp_el0 = match flags & SP_ELX {
            0 => Some(sp),
            _ => known.sp_el0,
        };
        registers.spsr = known.spsr.filter(|_| is_own);
        registers.user = flags & (NARROW | LEVEL) == 0;
        Self {
            pc,
            sp,
            is_masked: flags & IRQ_MASKED != 0,
            level: match (flags & NARROW, flags & LEVEL) {
                (0, 0) => Level::User,
                (0, _) => Level::Kernel,
                _ => Level::Narrow,
            },
            registers: Registers::Arm(registers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_code_is_told_by_the_exception_level() {
        for (flags, level) in [
            (0x00_u8, Level::User),
            (0x05, Level::Kernel),
            (0x09, Level::Kernel),
            (0x10, Level::Narrow),
        ] {
            let words = "0".repeat(33 * 16);
            let general = format!("{words}{flags:02x}000000").into_bytes();
            let system = "0".repeat(16).into_bytes();
            let state = state(&[general, system.clone(), system.clone(), system]).expect("a state");
            assert_eq!(state.level, level, "{flags:#x}");
            let Registers::Arm(registers) = state.registers else {
                panic!("registers of AArch64");
            };
            // That of EL1 says nothing of whom a hypervisor has interrupted.
            assert_eq!(registers.elr.is_some(), flags != 0x09, "{flags:#x}");
            assert_eq!(registers.spsr.is_some(), flags != 0x09, "{flags:#x}");
        }
    }
}
