//! The registers before a stack in a log.

use crate::hardware::Processor;
use crate::stub::{KnownArm32, Level, Registers, State};

/// How further lines of them begin, on 32-bit ARM.
pub(super) const MORE: &str = "  r";

/// What ends them, if there are others.
const OTHERS: &str = ", others not known";

/// The registers in these lines; none if one of them is damaged, or one is missing.
pub(super) fn state(lines: &[&str], arch: Processor) -> Option<State> {
    let first = *lines.first()?;
    let registers = match arch {
        Processor::X86_64 => {
            let [pc, sp, fp, ..] = numbers(first, 16)?[..] else {
                return None;
            };
            Registers::X86(unwind::x86_64::Registers::new(pc, sp, fp))
        }
        Processor::Aarch64 => {
            let [pc, sp, fp, lr, ..] = numbers(first, 16)?[..] else {
                return None;
            };
            Registers::Arm(unwind::aarch64::Registers::new(pc, sp, fp, lr))
        }
        Processor::Armv7a => return of_arm(lines),
    };
    let (pc, sp) = match registers {
        Registers::X86(registers) => (registers.pc, registers.sp),
        Registers::Arm(registers) => (registers.pc, registers.sp),
        Registers::Arm32(registers) => (registers.pc, registers.sp),
    };
    Some(State {
        pc,
        sp,
        is_masked: false,
        level: Level::Kernel,
        registers,
    })
}

/// All numbers in a line, each of so many hexadecimal digits.
fn numbers(line: &str, digits: usize) -> Option<Vec<u64>> {
    let numbers = line.split("0x").skip(1);
    numbers.map(|rest| number(rest, digits)).collect()
}

/// The number with which this begins.
fn number(text: &str, digits: usize) -> Option<u64> {
    let found = text.split(|c: char| !c.is_ascii_hexdigit()).next()?;
    let number = (found.len() == digits).then_some(found)?;
    u64::from_str_radix(number, 16).ok()
}

/// Those of 32-bit ARM, each behind its name: as many as are known.
fn of_arm(lines: &[&str]) -> Option<State> {
    let last = lines.last()?;
    let (text, has_others) = match last.strip_suffix(OTHERS) {
        Some(_) => (lines.concat(), true),
        None => (lines.concat(), false),
    };
    let text = text.strip_suffix(OTHERS).unwrap_or(&text);
    let mut known = KnownArm32 {
        pc: 0,
        sp: 0,
        fp: 0,
        link: None,
        others: [None; 13],
        flags: None,
    };
    let mut named = text.split("  ").filter(|part| !part.is_empty());
    for (name, to) in [
        ("pc ", &mut known.pc),
        ("sp ", &mut known.sp),
        ("r11 ", &mut known.fp),
    ] {
        *to = value(named.next()?.strip_prefix(name)?)?;
    }
    known.link = match named.next()?.strip_prefix("lr ")? {
        "not known" => None,
        text => Some(value(text)?),
    };
    for part in named {
        let (name, text) = part.split_once(' ')?;
        let number: usize = name.strip_prefix('r')?.parse().ok()?;
        *known.others.get_mut(number)? = Some(value(text)?);
    }
    let all = known.others.iter().flatten().count() == known.others.len() - 1;
    // Who knows all of them has no others.
    (all != has_others).then(|| known.into())
}

/// A number, and nothing behind it.
fn value(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let is_all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_all.then(|| number(digits, 8))?
}

#[cfg(test)]
mod tests {
    use unwind::RegisterSet;

    use super::*;

    const FIRST: &str = "  pc 0x40205820  sp 0x402e7260  r11 0x402e7330  lr not known";
    const SECOND: &str = "  r4 0x402e7270  r5 0x00000001  r10 0x402645b8, others not known";

    #[test]
    fn those_that_are_known_are_read() {
        let state = state(&[FIRST, SECOND], Processor::Armv7a).expect("they are whole");
        assert_eq!((state.pc, state.sp), (0x4020_5820, 0x402e_7260));
        let Registers::Arm32(registers) = state.registers else {
            panic!("registers of 32-bit ARM");
        };
        assert!(registers.at_call && registers.lr.is_none());
        assert_eq!(registers.fp, 0x402e_7330);
        let found = [4, 5, 6, 10].map(|number| registers.other(number));
        let expected = [Some(0x402e_7270), Some(1), None, Some(0x4026_45b8)];
        assert_eq!(found, expected);
    }

    #[test]
    fn damaged_ones_are_none() {
        for lines in [
            &[FIRST][..],
            &[SECOND],
            &[SECOND, FIRST],
            &[FIRST, &SECOND.replace("0x402e7270", "0x402e727")],
            &[FIRST, &SECOND.replace("0x402e7270", "0x402e72_0")],
            &[FIRST, &SECOND.replace("r10", "r13")],
            &[FIRST, &SECOND.replace("others", "othes")],
            &[&FIRST.replace("lr", "l"), SECOND],
        ] {
            assert!(state(lines, Processor::Armv7a).is_none(), "{lines:?}");
        }
    }
}
