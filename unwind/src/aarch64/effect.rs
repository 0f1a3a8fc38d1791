//! AArch64: what an instruction does to a frame. Source: "Arm Architecture Reference Manual for A-profile", C4.1 "A64 instruction
//! set encoding": "Data Processing -- Immediate", "Data Processing -- Register", "Loads and Stores".
//!
//! Registers hold more than a frame; only `sp`, `x29` and `x30` are followed. What writes one of them in a way that is not listed
//! loses it. Fields that several groups share tell what an instruction writes, so that no list of all instructions is needed.

use super::Registers;
use crate::code::{Change, Effect, Flow, Instructions, Jump, Place};

const FP: u32 = 29;
const LR: u32 = 30;
/// The stack pointer, where an instruction takes it; elsewhere the register that is always zero.
const SP: u32 = 31;

pub(super) fn effect(bytes: &[u8], at: u64) -> Option<Effect> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    let mut effect = Effect::none(4);
    match word >> 25 & 15 {
        // Data processing, immediate.
        8 | 9 => immediate(word, &mut effect),
        // Branches, exceptions, system.
        10 | 11 => branch(bytes, word, at, &mut effect),
        // Loads and stores.
        4 | 6 | 12 | 14 => memory(word, &mut effect),
        // Data processing, register.
        5 | 13 => register(word, &mut effect),
        // Scalable vectors, of which some move the stack pointer (ADDVL, ADDPL): not followed.
        2 if word & 31 == SP && word & 0xffa0_f800 == 0x0420_5000 => {
            effect.stack_pointer = Change::Lost;
        }
        _ if word <= 0xffff => effect.flow = Flow::Never,
        _ => {}
    }
    Some(effect)
}

/// Marks a register, not the stack pointer, as one with another value.
fn lose(effect: &mut Effect, register: u32) {
    match register {
        FP => effect.frame_pointer = Change::Lost,
        LR => effect.link = Change::Lost,
        _ => {}
    }
}

fn immediate(word: u32, effect: &mut Effect) {
    let (to, from) = (word & 31, word >> 5 & 31);
    match word >> 23 & 7 {
        // ADD and SUB, and those that set flags, which cannot write the stack pointer.
        2 => {
            let sets_flags = word >> 29 & 1 == 1;
            let shift = if word >> 22 & 1 == 1 { 12 } else { 0 };
            let amount = i64::from((word >> 10 & 0xfff).wrapping_shl(shift));
            let amount = if word >> 30 & 1 == 1 {
                amount.wrapping_neg()
            } else {
                amount
            };
            let wide = word >> 31 == 1;
            let value = match from {
                SP if wide => Change::Address(Place::in_stack(amount)),
                FP if wide => Change::Address(Place::in_frame(amount)),
                _ => Change::Lost,
            };
            match to {
                SP if sets_flags => {}
                SP if wide && from == SP => effect.before = amount,
                // `mov sp, x9`, for example.
                SP if value == Change::Lost => effect.stack_pointer = Change::Replaced,
                SP => effect.stack_pointer = value,
                FP => effect.frame_pointer = value,
                _ => lose(effect, to),
            }
        }
        // AND, ORR, EOR; ANDS cannot write the stack pointer.
        4 if to == SP => {
            if word >> 29 & 3 != 3 {
                effect.stack_pointer = Change::Lost;
            }
        }
        // ADDG and SUBG, of memory tags.
        3 if to == SP => effect.stack_pointer = Change::Lost,
        _ => lose(effect, to),
    }
}

fn register(word: u32, effect: &mut Effect) {
    let to = word & 31;
    // ADD and SUB with an extended register: the only ones that write the stack pointer.
    if to == SP {
        if word & 0x3fe0_0000 == 0x0b20_0000 {
            effect.stack_pointer = match word >> 5 & 31 {
                SP | FP => Change::Lost,
                _ => Change::Replaced,
            };
        }
        return;
    }
    lose(effect, to);
}

fn branch(bytes: &[u8], word: u32, at: u64, effect: &mut Effect) {
    if word & 0xfc00_0000 == 0x9400_0000 || word & 0xfeff_f000 == 0xd63f_0000 {
        // BL, BLR
        effect.flow = Flow::Call;
        effect.link = Change::Lost;
        return;
    }
    effect.flow = match Registers::jump(bytes, at) {
        Some((Jump::To(to), _)) if word & 0x7c00_0000 == 0x1400_0000 => Flow::Jump(to),
        Some((Jump::To(to), _)) => Flow::Branch(to),
        Some((Jump::Anywhere, _)) => Flow::Anywhere,
        // RET and ERET, also those that authenticate.
        _ if word & 0xfe00_0000 == 0xd600_0000 => Flow::End,
        // BRK: a breakpoint, or the end.
        _ if word & 0xffe0_001f == 0xd420_0000 => Flow::Call,
        _ => {
            // MRS
            if word & 0xfff0_0000 == 0xd530_0000 {
                lose(effect, word & 31);
            }
            // XPACLRI and instructions like AUTIASP keep the address in x30.
            Flow::Next
        }
    };
}

fn memory(word: u32, effect: &mut Effect) {
    let (first, base) = (word & 31, word >> 5 & 31);
    let vector = word >> 26 & 1 == 1;
    let load = word >> 22 & 1 == 1;
    match word >> 27 & 7 {
        // Pairs.
        5 => {
            let second = word >> 10 & 31;
            let size = word >> 30;
            let scale = match (vector, size) {
                (true, size) => 2_u32.wrapping_add(size),
                // LDPSW and STGP; the latter stores registers of 64 bits, 16 bytes apart.
                (false, 1) if !load => 4,
                (false, 0 | 1) => 2,
                (false, _) => 3,
            };
            let distance = i64::from((word << 10).cast_signed() >> 25).wrapping_shl(scale);
            let offset = index(word >> 23 & 3, base, distance, effect);
            if vector {
                return;
            }
            let wide = size == 2;
            for (register, further) in [(first, 0), (second, 8)] {
                transfer(
                    register,
                    base,
                    offset.wrapping_add(further),
                    load,
                    wide,
                    effect,
                );
            }
        }
        // One register.
        7 => {
            let (mode, distance) = if word >> 24 & 1 == 1 {
                let large = if vector { word >> 21 & 4 } else { 0 };
                let distance = i64::from(word >> 10 & 0xfff);
                (0, distance.wrapping_shl(word >> 30 | large))
            } else if word >> 21 & 1 == 1 {
                // An index in a register, LSE's read-modify-write, LDRAA: no writeback to a stack pointer but LDRAA's.
                if !vector {
                    lose(effect, first);
                }
                return;
            } else {
                (word >> 10 & 3, i64::from((word << 11).cast_signed() >> 23))
            };
            let offset = index(mode, base, distance, effect);
            if !vector {
                let load = word >> 22 & 3 != 0;
                let wide = word >> 30 == 3 && word >> 23 & 1 == 0;
                transfer(first, base, offset, load, wide, effect);
            }
        }
        // Vectors by structure: some move their base.
        1 if vector => {
            if base == SP && word >> 23 & 1 == 1 {
                effect.stack_pointer = Change::Lost;
            }
        }
        _ if vector => {}
        // Literals, exclusive ones, memory tags, of which some move their base.
        kind => {
            lose(effect, first);
            if kind == 3 && word >> 24 & 1 == 1 && base == SP && word >> 10 & 1 == 1 {
                effect.stack_pointer = Change::Lost;
            }
        }
    }
}

/// Notes how an addressing mode moves its base: 1 after the access, 3 before it. Returns the offset of the access.
fn index(mode: u32, base: u32, distance: i64, effect: &mut Effect) -> i64 {
    if mode != 1 && mode != 3 {
        return distance;
    }
    match base {
        SP if mode == 1 => effect.after = distance,
        SP => effect.before = distance,
        _ => lose(effect, base),
    }
    0
}

/// Notes the load or the store of a register.
fn transfer(register: u32, base: u32, offset: i64, load: bool, wide: bool, effect: &mut Effect) {
    let place = match base {
        SP if wide => Some(Place::in_stack(offset)),
        FP if wide => Some(Place::in_frame(offset)),
        _ => None,
    };
    let change = match place {
        Some(place) => Change::Loaded(place),
        None => Change::Lost,
    };
    match (register, load) {
        (FP, true) => effect.frame_pointer = change,
        (LR, true) => effect.link = change,
        (FP, false) => effect.saves_frame_pointer = place,
        (LR, false) => effect.saves_link = place,
        _ => {}
    }
}
