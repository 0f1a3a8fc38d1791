//! Registers of x86-64.

use anyhow::{Context, Result};
use unwind::SavedRegister;
use unwind::x86_64;

use super::answers::Paging;
use super::client::bytes;
use super::state::{Level, Registers, State};

/// Where the kernel's trap code keeps registers that rows do not name: `TrapFrame::SAVED`.
pub const SAVED: [SavedRegister; 6] = [
    SavedRegister::new(10, 7 * 8),
    SavedRegister::new(11, 6 * 8),
    SavedRegister::new(x86_64::RSP, 22 * 8),
    SavedRegister::new(x86_64::RIP, 19 * 8),
    SavedRegister::new(x86_64::CS, 20 * 8),
    SavedRegister::new(SavedRegister::END, 24 * 8),
];

/// Bit of the flags: interrupts are not masked.
const INTERRUPTS: u64 = 1 << 9;
/// Where, behind the general registers, the program counter and the flags, the selector of code is, and EFER; its bit that says that
/// the processor is in long mode.
const CS: usize = 17 * 8 + 4;
const EFER: usize = CS + 6 * 4 + 8 * 8;
const LONG_MODE: u64 = 1 << 10;

/// The registers in the stub's answer to `g`, with their size in bytes: gdb's order.
const NAMES: [(&str, usize); 33] = [
    ("rax", 8),
    ("rbx", 8),
    ("rcx", 8),
    ("rdx", 8),
    ("rsi", 8),
    ("rdi", 8),
    ("rbp", 8),
    ("rsp", 8),
    ("r8", 8),
    ("r9", 8),
    ("r10", 8),
    ("r11", 8),
    ("r12", 8),
    ("r13", 8),
    ("r14", 8),
    ("r15", 8),
    ("rip", 8),
    ("rflags", 4),
    ("cs", 4),
    ("ss", 4),
    ("ds", 4),
    ("es", 4),
    ("fs", 4),
    ("gs", 4),
    ("fs_base", 8),
    ("gs_base", 8),
    ("kernel_gs_base", 8),
    ("cr0", 8),
    ("cr2", 8),
    ("cr3", 8),
    ("cr4", 8),
    ("cr8", 8),
    ("efer", 8),
];

/// Those that gdb has of any such processor, in its order: general ones, program counter, flags and selectors.
pub(super) fn general() -> impl Iterator<Item = (&'static str, usize)> {
    NAMES.iter().take(24).copied()
}

/// All of them that the answer has.
pub(super) fn named(answers: &[Vec<u8>]) -> Vec<(String, u64)> {
    let bytes = answers.first().map(|answer| bytes(answer));
    let bytes = bytes.unwrap_or_default();
    let mut at = 0;
    let registers = NAMES.iter().map_while(|(name, size)| {
        let mut word = [0; 8];
        word[..*size].copy_from_slice(bytes.get(at..at + size)?);
        at += size;
        Some(((*name).to_owned(), u64::from_le_bytes(word)))
    });
    registers.collect()
}

/// How page tables are used: the control registers, which stand before EFER, and that.
pub(super) fn paging(answers: &[Vec<u8>]) -> Result<Paging> {
    let bytes = bytes(answers.first().context("no registers")?);
    let register = |before: usize| -> Result<u64> {
        let word = bytes.get(EFER - 8 * before..);
        let word = word.and_then(|rest| rest.first_chunk());
        Ok(u64::from_le_bytes(
            *word.context("QEMU did not report the control registers")?,
        ))
    };
    let [cr0, cr3, cr4, efer] = [register(5)?, register(3)?, register(2)?, register(0)?];
    Ok(Paging::X86 {
        cr0,
        cr3,
        cr4,
        efer,
    })
}

/// The state, by the stub's answer to `g`: the general registers in gdb's order, then the program counter and the flags.
pub(super) fn state(answers: &[Vec<u8>]) -> Result<State> {
    let bytes = bytes(answers.first().context("no registers")?);
    let word = |index: usize| -> Result<u64> {
        let word = bytes.get(index * 8..).and_then(|rest| rest.first_chunk());
        Ok(u64::from_le_bytes(*word.context("too few registers")?))
    };
    let half = |at: usize, what: &'static str| -> Result<u64> {
        let half = bytes.get(at..).and_then(|rest| rest.first_chunk());
        Ok(u32::from_le_bytes(*half.context(what)?).into())
    };
    let known = Known {
        pc: word(16)?,
        sp: word(7)?,
        fp: word(6)?,
        r10: Some(word(10)?),
        r11: Some(word(11)?),
        flags: Some(half(17 * 8, "no flags")?),
        cs: Some(half(CS, "QEMU did not report the code segment register")?),
        efer: Some(half(EFER, "no EFER")?),
    };
    Ok(known.into())
}

/// What is known of a processor's registers.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The program counter.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// rbp.
    pub fp: u64,
    /// r10.
    pub r10: Option<u64>,
    /// r11.
    pub r11: Option<u64>,
    /// `eflags`.
    pub flags: Option<u64>,
    /// The selector of code; a kernel's if it is not known.
    pub cs: Option<u64>,
    /// EFER; that of long mode if it is not known.
    pub efer: Option<u64>,
}

impl From<Known> for State {
    fn from(known: Known) -> Self {
        let Known { pc, sp, .. } = known;
        let mut registers = x86_64::Registers::new(pc, sp, known.fp);
        registers.r10 = known.r10;
        registers.r11 = known.r11;
        let ring = known.cs.unwrap_or(0) & 3;
        registers.user = ring == 3;
        let is_long = known.efer.is_none_or(|efer| efer & LONG_MODE != 0);
        Self {
            pc,
            sp,
            is_masked: known.flags.is_some_and(|flags| flags & INTERRUPTS == 0),
            level: match (is_long, ring) {
                (false, _) => Level::Narrow,
                (true, 0) => Level::Kernel,
                (true, _) => Level::User,
            },
            registers: Registers::X86(registers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stub's answer with these in it: the selector of code, and EFER.
    fn answer(cs: u8, efer: u16) -> Vec<u8> {
        let mut bytes = [0_u8; EFER + 8];
        bytes[CS] = cs;
        bytes[EFER..EFER + 2].copy_from_slice(&efer.to_le_bytes());
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.into_bytes()
    }

    #[test]
    fn the_kind_of_code_is_told_by_selector_and_mode() {
        for (cs, efer, level) in [
            (0x08, 0xd00, Level::Kernel),
            (0x33, 0xd00, Level::User),
            (0x08, 0x000, Level::Narrow),
            // Long mode is enabled, and not active yet: paging is off.
            (0x10, 0x900, Level::Narrow),
        ] {
            let state = state(&[answer(cs, efer)]).expect("a state");
            assert_eq!(state.level, level, "{cs:#x} {efer:#x}");
        }
    }
}
