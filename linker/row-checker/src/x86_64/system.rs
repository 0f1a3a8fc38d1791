//! Effects of instructions that call software outside of the image: an operating system, a hypervisor, an enclave, or a module of the
//! processor.

use iced_x86::{Instruction, Mnemonic};

use super::{RBP, RCX, RSP, set};
use crate::instruction::{Effect, Operand, Register, SignalFrame, Size, SystemCalls};

/// Registers that the kernel may set at `syscall`. Source: System V ABI for AMD64, section A.2.1, and those of other kernels.
const BY_SYSCALL: [Register; 7] = [0, 1, RCX, 8, 9, 10, 11];
/// Registers that software outside of the image may set at other calls.
const BY_SYSTEM: [Register; 9] = [0, 1, RCX, 4, 5, 8, 9, 10, 11];

/// Linux for x86-64: also by the numbers of x32.
static SYSTEM_CALLS: SystemCalls = SystemCalls {
    number: 0,
    on_other_stack: &[56, 435, 0x4000_0038, 0x4000_01b3],
    on_used_stack: &[58, 0x4000_003a],
    last: &[60, 231],
    // `struct ucontext`, which the stack pointer points to: `uc_mcontext` starts after 40 bytes.
    signal_returns: &[SignalFrame {
        number: 15,
        stack_pointer: 0xa0,
        program_counter: 0xa8,
        frame_pointer: 0x78,
    }],
};
/// Linux for x86.
static SYSTEM_CALLS_32: SystemCalls = SystemCalls {
    number: 0,
    on_other_stack: &[120, 435],
    on_used_stack: &[190],
    last: &[1, 252],
    signal_returns: &[],
};

/// The effects of an instruction that calls such software. `None`: the instruction does not call it.
pub(super) fn effects(instruction: &Instruction) -> Option<Vec<Effect>> {
    Some(match instruction.mnemonic() {
        // The kernel or the hypervisor answers in registers and in memory.
        Mnemonic::Syscall => called(&SYSTEM_CALLS, &BY_SYSCALL),
        Mnemonic::Int if instruction.immediate8() == 0x80 => called(&SYSTEM_CALLS_32, &BY_SYSTEM),
        Mnemonic::Sysenter
        | Mnemonic::Int
        | Mnemonic::Vmcall
        | Mnemonic::Vmmcall
        | Mnemonic::Vmlaunch
        | Mnemonic::Vmresume => answered(&BY_SYSTEM),
        // The registers are those of the guest afterwards.
        Mnemonic::Vmrun => answered(&[0, 1, RCX, 3, 4, 5, RBP, 8, 9, 10, 11, 12, 13, 14, 15]),
        // An enclave or a module of the processor may change all registers, including the stack pointer.
        Mnemonic::Encls
        | Mnemonic::Enclu
        | Mnemonic::Enclv
        | Mnemonic::Getsec
        | Mnemonic::Seamcall
        | Mnemonic::Seamops
        | Mnemonic::Seamret
        | Mnemonic::Tdcall => {
            let mut effects = answered(&[0, 1, RCX, 3, 4, 5, RBP, 8, 9, 10, 11, 12, 13, 14, 15]);
            effects.push(set(RSP, Operand::Moved));
            effects
        }
        _ => return None,
    })
}

/// A store to an unknown place.
pub(super) const fn anywhere() -> Effect {
    Effect::Store {
        base: RSP,
        offset: 0,
        size: Size::Anywhere,
        value: Operand::Unknown,
    }
}

/// The effects of a system call.
fn called(calls: &'static SystemCalls, registers: &[Register]) -> Vec<Effect> {
    let mut effects = answered(registers);
    effects.push(Effect::SystemCall(calls));
    effects
}

/// The effects of software outside of the image that may change these registers and memory.
fn answered(registers: &[Register]) -> Vec<Effect> {
    let unknown = registers
        .iter()
        .map(|register| set(*register, Operand::Unknown));
    std::iter::once(anywhere()).chain(unknown).collect()
}
