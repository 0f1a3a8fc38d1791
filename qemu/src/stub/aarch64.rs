//! Registers of AArch64.

use anyhow::{Context, Result};
use unwind::{SavedRegister, aarch64};

use super::client::{Stub, bytes};
use super::state::{Level, Registers, State};

/// Where the kernel's trap code keeps registers that rows do not name: `TrapFrame::SAVED`.
pub const SAVED: [SavedRegister; 3] = [
    SavedRegister::new(9, 9 * 8),
    SavedRegister::new(30, 30 * 8),
    SavedRegister::new(31, 31 * 8),
];

/// Bits of the processor's state: which stack pointer is in use, and that IRQs are masked.
const SP_ELX: u8 = 1;
const IRQ_MASKED: u8 = 1 << 7;
/// Those of the exception level, and the one that says that the processor runs code of 32 bits.
const LEVEL: u8 = 3 << 2;
const NARROW: u8 = 1 << 4;

/// What to ask the stub: the general registers, and two of the system's, whose numbers its description tells.
pub(super) fn questions(stub: &mut Stub) -> Result<Vec<String>> {
    let text = stub.document("system-registers.xml")?;
    let number = |name: &str| {
        let (_, rest) = text.split_once(&format!("name=\"{name}\""))?;
        let (_, rest) = rest.split_once("regnum=\"")?;
        rest.split_once('"')?.0.parse::<u32>().ok()
    };
    let mut questions = vec!["g".to_owned()];
    for name in ["ELR_EL1", "SP_EL0"] {
        let number = number(name).with_context(|| format!("QEMU's stub does not have {name}"))?;
        questions.push(format!("p{number:x}"));
    }
    Ok(questions)
}

/// The state, by the answers: x0 to x30, sp, pc and the processor's state; then the system's registers.
pub(super) fn state(answers: &[Vec<u8>]) -> Result<State> {
    let [general, elr, sp_el0] = answers else {
        anyhow::bail!("too few registers");
    };
    let general = bytes(general);
    let word = |bytes: &[u8], index: usize| -> Result<u64> {
        let word = bytes.get(index * 8..).and_then(|rest| rest.first_chunk());
        Ok(u64::from_le_bytes(*word.context("too few registers")?))
    };
    let (pc, sp) = (word(&general, 32)?, word(&general, 31)?);
    let flags = general.get(33 * 8).context("no state of the processor")?;
    let mut registers = aarch64::Registers::new(pc, sp, word(&general, 29)?, word(&general, 30)?);
    registers.x9 = Some(word(&general, 9)?);
    registers.elr = Some(word(&bytes(elr), 0)?);
    // While it is the one in use, QEMU's copy of it is old.
    registers.sp_el0 = Some(match flags & SP_ELX {
        0 => sp,
        _ => word(&bytes(sp_el0), 0)?,
    });
    Ok(State {
        pc,
        sp,
        is_masked: flags & IRQ_MASKED != 0,
        level: match (flags & NARROW, flags & LEVEL) {
            (0, 0) => Level::User,
            (0, _) => Level::Kernel,
            _ => Level::Narrow,
        },
        registers: Registers::Arm(registers),
    })
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
            let state = state(&[general, system.clone(), system]).expect("a state");
            assert_eq!(state.level, level, "{flags:#x}");
        }
    }
}
