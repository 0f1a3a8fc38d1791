//! Instructions of AArch64.

use anyhow::{Result, ensure};
use unwind::aarch64;

use super::state::{Flow, Instruction};
use crate::stub::Stub;

/// The offset of the interrupted program counter in the trap frame.
pub(super) const ELR_OFFSET: u64 = 256;

/// Bytes of the vector table, and of a vector.
const VECTORS: u64 = 2048;
const VECTOR: u64 = 128;

/// The GPIO controller of the board `virt`, a PL061: its registers of pins that interrupt by their level, not by a change of it,
/// and of those that do when they are high, not when they are low; and the power button's pin.
const LEVEL: u64 = 0x0903_0404;
const HIGH: u64 = 0x0903_040c;
const BUTTON: u32 = 1 << 3;

/// Raises the interrupt of the power button, which is an NMI of the kernel's. QEMU's own button stays pressed for 6 million
/// instructions, during which it cannot be pressed again. So the button's pin, which is low, interrupts by that level for a
/// moment. The kernel clears the interrupt; until then this changes nothing.
pub(super) fn press_button(stub: &mut Stub) -> Result<()> {
    let write = |register: u64, value: u32| {
        let digits: String = (value.to_le_bytes().iter())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("M{register:x},4:{digits}")
    };
    let answers = stub.ask_all(&[
        "Qqemu.PhyMemMode:1",
        &write(HIGH, 0),
        &write(LEVEL, BUTTON),
        &write(LEVEL, 0),
        &write(HIGH, BUTTON),
        "Qqemu.PhyMemMode:0",
    ])?;
    let is_done = answers.iter().all(|answer| answer == b"OK");
    ensure!(
        is_done,
        "cannot press the power button through QEMU's gdb stub"
    );
    Ok(())
}

/// What an exception has interrupted, at its vector: of the first four vectors, and of those from EL0, code that used the other
/// stack pointer.
pub(super) fn interrupted(registers: &aarch64::Registers) -> Option<(u64, u64, Option<u64>)> {
    let sp = match registers.pc % VECTORS / VECTOR {
        0..4 | 8.. => registers.sp_el0?,
        _ => registers.sp,
    };
    Some((registers.elr?, sp, None))
}

/// Arm Architecture Reference Manual, C4.1.
pub(super) fn decode(bytes: &[u8], pc: u64) -> Option<Instruction> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    let link = (word >> 5 & 31) == 30;
    let flow = match word {
        // BL: 26 bits, counted in words.
        _ if word >> 26 == 0b10_0101 => {
            let offset = i64::from((word << 6).cast_signed() >> 4);
            Flow::Call(Some(pc.wrapping_add_signed(offset)))
        }
        // BLR, and BLRAA and the like.
        _ if word & 0xffff_fc1f == 0xd63f_0000 || word & 0xfeff_f800 == 0xd63f_0800 => {
            Flow::Call(None)
        }
        // RET, RETAA, RETAB; BR of the link register.
        0xd65f_0bff | 0xd65f_0fff => Flow::Return,
        _ if word & 0xffff_fc1f == 0xd65f_0000 => Flow::Return,
        _ if word & 0xffff_fc1f == 0xd61f_0000 && link => Flow::Return,
        _ if word & 0xffff_fc1f == 0xd61f_0000 || word & 0xfeff_f800 == 0xd61f_0800 => Flow::Jump,
        0xd69f_03e0 => Flow::TrapReturn,
        // B; B.cond, BC.cond; CBZ, CBNZ, TBZ, TBNZ.
        _ if word >> 26 == 0b00_0101 || word >> 24 == 0x54 || word >> 25 & 0x3e == 0x1a => {
            Flow::Jump
        }
        // SVC, HVC, SMC return behind.
        _ if word & 0xffe0_001c == 0xd400_0000 && word & 3 != 0 => Flow::Raises,
        // WFE, WFI.
        0xd503_205f | 0xd503_207f => Flow::Waits,
        // YIELD; ISB, by which `core::hint::spin_loop` takes its time.
        0xd503_203f | 0xd503_3fdf => Flow::Spins,
        _ => Flow::Next,
    };
    Some(Instruction { flow, length: 4 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_change_the_flow_are_known() {
        for (word, flow) in [
            (0x9400_0002_u32, Flow::Call(Some(0x1008))),
            (0x97ff_ffff, Flow::Call(Some(0xffc))),
            (0xd63f_0100, Flow::Call(None)), // blr x8
            (0xd65f_03c0, Flow::Return),
            (0xd65f_0bff, Flow::Return),     // retaa
            (0xd61f_03c0, Flow::Return),     // br x30
            (0xd61f_0100, Flow::Jump),       // br x8
            (0x1400_0001, Flow::Jump),       // b
            (0x5400_0041, Flow::Jump),       // b.ne
            (0xb400_0040, Flow::Jump),       // cbz
            (0x3500_0040, Flow::Jump),       // cbnz
            (0x3600_0040, Flow::Jump),       // tbz
            (0xb7f8_0040, Flow::Jump),       // tbnz
            (0xd69f_03e0, Flow::TrapReturn), // eret
            (0xd400_0001, Flow::Raises),     // svc
            (0xd420_0000, Flow::Next),       // brk, which does not return behind
            (0xd503_207f, Flow::Waits),      // wfi
            (0xd503_3fdf, Flow::Spins),      // isb
            (0x9100_03fd, Flow::Next),       // mov x29, sp
        ] {
            let found = decode(&word.to_le_bytes(), 0x1000);
            let found = found.map(|instruction| instruction.flow);
            assert_eq!(found, Some(flow), "{word:#x}");
        }
    }
}
