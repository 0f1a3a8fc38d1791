//! Registers of 32-bit ARM.

use anyhow::{Context, Result, bail};
use unwind::{RegisterSet, SavedRegister, arm};

use super::answers::Paging;
use super::client::bytes;
use super::state::{Level, Registers, State};
use super::system::{Names, System};

/// Where the kernel's trap code keeps registers that rows do not name: `TrapFrame::SAVED`.
pub const SAVED: [SavedRegister; 5] = [
    SavedRegister::new(arm::LR, 14 * 4),
    SavedRegister::new(arm::SP, 13 * 4),
    SavedRegister::new(arm::PC, 15 * 4),
    SavedRegister::new(arm::SPSR, 16 * 4),
    SavedRegister::new(SavedRegister::END, 24 * 4),
];

/// Bits of the processor's state: its mode, Thumb code, and that IRQs are masked.
const MODE: u64 = 0x1f;
const IRQ_MASKED: u64 = 1 << 7;
/// Modes: of programs; of a monitor and of a hypervisor, which have page tables of their own.
const USER: u64 = 0x10;
const MONITOR: u64 = 0x16;
const HYPERVISOR: u64 = 0x1a;

/// Bit of SCTLR: there are page tables. Of TTBCR: they have the long format.
const PAGING: u64 = 1;
const LONG: u64 = 1 << 31;

/// gdb's number of the state, `cpsr`, which the stub has behind registers of old processors.
const STATE: &str = "p19";
/// Those that say how page tables are used.
const TABLES: [Names; 4] = [&["SCTLR"], &["TTBCR"], &["TTBR0"], &["TTBR1"]];
/// One that only a processor with secure code has: it has two of each of these.
const SECURE: &str = "SCTLR_S";

/// What to ask the stub for a walk: the general registers, and the state.
pub(super) fn questions() -> Vec<String> {
    vec!["g".to_owned(), STATE.to_owned()]
}

/// What to ask for beyond that of page tables.
pub(super) fn more_questions(system: &System) -> Result<Vec<String>> {
    if system.has(SECURE) {
        bail!("it is unknown whether the CPU uses the secure or the non-secure page tables");
    }
    system.questions(&TABLES)
}

/// The number in an answer, of four bytes or of eight.
fn number(answer: &[u8]) -> Result<u64> {
    let found = bytes(answer);
    let mut word = [0; 8];
    match found.len() {
        count @ (4 | 8) => word[..count].copy_from_slice(&found),
        _ => bail!("too few registers"),
    }
    Ok(u64::from_le_bytes(word))
}

/// How page tables are used, by the answers to both lists of questions.
pub(super) fn paging(answers: &[Vec<u8>]) -> Result<Paging> {
    let [_, state, control, translation, first, second] = answers else {
        bail!("QEMU did not report the page-table registers");
    };
    let mode = number(state)? & MODE;
    if mode == HYPERVISOR || mode == MONITOR {
        bail!("page tables of CPU mode {mode:#x} are not supported");
    }
    let (control, translation) = (number(control)?, number(translation)?);
    if control & PAGING != 0 && translation & LONG == 0 {
        bail!("page tables in the short-descriptor format are not supported");
    }
    Ok(Paging::Arm32 {
        is_user: mode == USER,
        control,
        translation,
        tables: [number(first)?, number(second)?],
    })
}

/// Those that gdb has of any such processor, in its order, with their size in bytes: general ones, those of the floating point of old
/// processors, and the state.
pub(super) fn general() -> impl Iterator<Item = (String, usize)> {
    let general = names().map(|name| (name, 4));
    let old = (0..8).map(|number| (format!("f{number}"), 12));
    let last = ["fps", "cpsr"].map(|name| (name.to_owned(), 4));
    general.chain(old).chain(last)
}

fn names() -> impl Iterator<Item = String> {
    let numbered = (0..=12).map(|number| format!("r{number}"));
    numbered.chain(["sp", "lr", "pc"].map(str::to_owned))
}

/// All registers in the answers, by their names.
pub(super) fn named(answers: &[Vec<u8>]) -> Vec<(String, u64)> {
    let Some((general, others)) = answers.split_first() else {
        return Vec::new();
    };
    let general = bytes(general);
    let words = general.as_chunks().0.iter();
    let words = words.map(|word| u64::from(u32::from_le_bytes(*word)));
    let mut registers: Vec<_> = names().zip(words).collect();
    let system = TABLES.iter().map(|names| names[0].to_ascii_lowercase());
    let system = std::iter::once("cpsr".to_owned()).chain(system);
    let found = system.zip(others);
    registers.extend(found.filter_map(|(name, answer)| Some((name, number(answer).ok()?))));
    registers
}

/// The state, by the answers: r0 to r15, and the processor's state.
pub(super) fn state(answers: &[Vec<u8>]) -> Result<State> {
    let [general, state, ..] = answers else {
        bail!("too few registers");
    };
    let general = bytes(general);
    let word = |number: usize| -> Result<u64> {
        let word = general
            .get(number * 4..)
            .and_then(|rest| rest.first_chunk());
        Ok(u32::from_le_bytes(*word.context("too few registers")?).into())
    };
    let known = Known {
        pc: word(15)?,
        sp: word(13)?,
        fp: word(11)?,
        link: Some(word(14)?),
        others: std::array::from_fn(|number| word(number).ok()),
        flags: Some(number(state)?),
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
    /// r11.
    pub fp: u64,
    /// The link register; behind a call, where a kernel reports itself, it is not known.
    pub link: Option<u64>,
    /// r0 to r12.
    pub others: [Option<u64>; 13],
    /// The state of the processor, `cpsr`; that of a kernel if it is not known.
    pub flags: Option<u64>,
}

impl From<Known> for State {
    fn from(known: Known) -> Self {
        let Known { sp, fp, .. } = known;
        let mut registers = arm::Registers::new(known.pc, sp, fp, known.link.unwrap_or(0));
        registers.lr = known.link;
        registers.at_call = known.link.is_none();
        for (number, value) in (0..).zip(known.others) {
            if let Some(value) = value {
                registers.learn(number, value);
            }
        }
        registers.user = known.flags.is_some_and(|flags| flags & MODE == USER);
        Self {
            pc: registers.pc,
            sp,
            is_masked: known.flags.is_some_and(|flags| flags & IRQ_MASKED != 0),
            level: match registers.user {
                true => Level::User,
                false => Level::Kernel,
            },
            registers: Registers::Arm32(registers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stub's answers: r0 to r15, each of which has its number, and this state.
    fn answers(flags: u8) -> Vec<Vec<u8>> {
        let general: String = (0..16)
            .map(|number| format!("{number:02x}000040"))
            .collect();
        let state = format!("{flags:02x}000000");
        vec![general.into_bytes(), state.into_bytes()]
    }

    #[test]
    fn the_kind_of_code_is_told_by_the_mode() {
        for (flags, level, is_masked) in [
            (0x10, Level::User, false),
            (0x93, Level::Kernel, true),
            (0x3f, Level::Kernel, false),
        ] {
            let state = state(&answers(flags)).expect("a state");
            assert_eq!((state.level, state.is_masked), (level, is_masked));
            assert_eq!((state.pc, state.sp), (0x4000_000e, 0x4000_000d));
            let Registers::Arm32(registers) = state.registers else {
                panic!("registers of 32-bit ARM");
            };
            assert_eq!(registers.lr, Some(0x4000_000e));
            assert_eq!(
                (registers.fp, registers.other(4)),
                (0x4000_000b, Some(0x4000_0004))
            );
            assert_eq!(registers.user, level == Level::User);
        }
    }

    #[test]
    fn page_tables_are_known_by_their_registers() {
        let with = |flags, system: [&str; 4]| {
            let mut answers = answers(flags);
            answers.extend(system.map(|digits| digits.as_bytes().to_vec()));
            paging(&answers)
        };
        let system = [
            "01000000",
            "00350080",
            "0010004000000100",
            "0000000000000000",
        ];
        let Ok(Paging::Arm32 {
            tables, is_user, ..
        }) = with(0x13, system)
        else {
            panic!("they are followed");
        };
        assert_eq!((tables, is_user), ([0x0001_0000_4000_1000, 0], false));
        assert!(with(0x1a, system).is_err() && paging(&answers(0x13)).is_err());
        let short = ["01000000", "00350000", system[2], system[3]];
        assert!(with(0x13, short).is_err());
    }
}
