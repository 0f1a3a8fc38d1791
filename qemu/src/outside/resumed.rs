//! Where a task of 32-bit ARM goes on that does not run. No row of a rule map can hold where one stack takes the place of another, but the
//! instruction there says what it will have in its registers.

use unwind::RegisterSet;
use unwind::arm::{LR, PC, Registers, SP};

use super::image::Image;
use super::memory::Memory;

/// `pop`, of ARM code: a bit for each register follows.
const POP: u32 = 0xe8bd_0000;
/// Those that a function leaves to its caller as they were, `r4` to `r11`.
const KEPT: [u32; 8] = [4, 5, 6, 7, 8, 9, 10, 11];

/// The registers from which to walk the stack of a task that goes on at `resume` with this stack pointer: those behind the call of the
/// function that lets others run, if its next instruction loads all of them. None if it does not, or what it loads cannot be read.
pub(super) fn registers(
    image: &Image,
    memory: &Memory<'_>,
    resume: u64,
    sp: u64,
) -> Option<Registers> {
    let list = popped(image.instruction(resume)?)?;
    let is_there = |register: u32| list >> register & 1 == 1;
    let at = |register: u32| {
        let below = (list & ((1 << register) - 1)).count_ones();
        sp.wrapping_add(u64::from(below) * Registers::WORD)
    };
    let word = |register: u32| memory.word_of::<Registers>(at(register));
    let mut kept = [0; KEPT.len()];
    for (value, register) in kept.iter_mut().zip(KEPT) {
        *value = word(register).filter(|_| is_there(register))? as u32;
    }
    let returns_by = if is_there(PC) { PC } else { LR };
    let pc = word(returns_by).filter(|_| is_there(returns_by))?;
    // Behind the last register of all.
    Some(Registers::after_call(pc, at(PC + 1), &kept))
}

/// The list of registers of this instruction, if it is a `pop` that changes the stack pointer in no other way.
fn popped(instruction: u32) -> Option<u32> {
    let list = instruction & 0xffff;
    (instruction & !0xffff == POP && list >> SP & 1 == 0).then_some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pop_is_known() {
        // pop {r4-r12, lr}; pop {r4, pc}; pop {sp}; push {r4, lr}; popne {r4, pc}; bx lr
        let code = [
            0xe8bd_5ff0,
            0xe8bd_8010,
            0xe8bd_2000,
            0xe92d_4010,
            0x18bd_8010,
            0xe12f_ff1e,
        ];
        let lists = code.map(popped);
        assert_eq!(lists, [Some(0x5ff0), Some(0x8010), None, None, None, None]);
    }
}
