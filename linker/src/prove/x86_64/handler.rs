//! Tells handlers of interrupts that never return, and so have no `iretq`, by their prologue.
//!
//! LLVM's calling convention `x86-interrupt` keeps every register, so a handler saves registers that a function may
//! overwrite, and executes `cld` before it calls anything: the ABI's promise that the flag is clear holds at calls only.
//!
//! With an error code it pushes `rax` once more than it saves it, first of all, and makes room for a further word below the
//! saved registers. `rax` itself is saved last; first where the compiler may use SSE:
//!
//! ```text
//! pushes                                  error code
//! r11 … rcx rax                           none
//! rax r11 … rcx                           none, with SSE
//! rax r11 … rcx rax, and a further word   one
//! rax rax r11 … rcx                       one, with SSE
//! ```

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// Instructions of the longest prologue: all registers, SSE's too, and a large frame in pages.
const MOST: usize = 64;

/// Registers that a function may overwrite, other than `rax`, which compilers also push to move the stack pointer.
const FREE: [Register; 8] = [
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

/// What a prologue does, up to `cld`.
#[derive(Default)]
struct Prologue {
    /// Registers that are pushed and that a function may overwrite, in their order.
    pushed: Vec<Register>,
    /// Bytes that the stack pointer has moved down.
    depth: u64,
    /// Bytes of them below the last register that is pushed, other than `rax`.
    below: u64,
    /// The stack pointer was aligned: `depth` does not tell where it is.
    is_aligned: bool,
}

/// Bytes of the error code on a handler's stack, if `code` starts with a prologue that only handlers have.
pub(super) fn error_code(code: &[u8]) -> Option<u8> {
    let prologue = Prologue::of(code)?;
    let is_rax = |register: &Register| *register == Register::RAX;
    let saves = prologue.pushed.iter().any(|register| !is_rax(register));
    // The processor aligns the stack, and what it pushes without an error code is an odd number of words. Compilers move on
    // to the next boundary of 16 bytes, LLVM without counting the error code.
    let fits = prologue.is_aligned || prologue.depth % 16 == 8;
    if !saves || !fits {
        return None;
    }
    let mut pushed = prologue.pushed.iter();
    let first = pushed.next().is_some_and(is_rax);
    let second = pushed.next().is_some_and(is_rax);
    let again = pushed.any(is_rax) && prologue.below > 8;
    Some(if first && (second || again) { 8 } else { 0 })
}

impl Prologue {
    fn of(code: &[u8]) -> Option<Self> {
        let mut prologue = Self::default();
        for instruction in Decoder::new(64, code, DecoderOptions::NONE)
            .iter()
            .take(MOST)
        {
            if instruction.mnemonic() == Mnemonic::Cld {
                return Some(prologue);
            }
            prologue.add(&instruction)?;
        }
        None
    }

    /// Adds an instruction. `None`: it belongs to no prologue.
    fn add(&mut self, instruction: &Instruction) -> Option<()> {
        let register = instruction.op0_register();
        match instruction.mnemonic() {
            Mnemonic::Endbr64 => {}
            Mnemonic::Push if register.is_gpr64() => {
                if FREE.contains(&register) || register == Register::RAX {
                    self.pushed.push(register);
                }
                self.depth += 8;
                self.below = if register == Register::RAX {
                    self.below + 8
                } else {
                    0
                };
            }
            Mnemonic::Sub if register == Register::RSP => {
                let bytes = is_number(instruction).then(|| instruction.immediate(1))?;
                self.depth = self.depth.checked_add(bytes)?;
                self.below = self.below.checked_add(bytes)?;
            }
            Mnemonic::And if register == Register::RSP => self.is_aligned = true,
            // The frame pointer.
            Mnemonic::Mov | Mnemonic::Lea if register == Register::RBP => {}
            // Pages of a large frame are touched; registers of SSE are saved.
            Mnemonic::Mov | Mnemonic::Movaps | Mnemonic::Movups
                if instruction.op0_kind() == OpKind::Memory
                    && matches!(instruction.memory_base(), Register::RSP | Register::RBP) => {}
            _ => return None,
        }
        Some(())
    }
}

fn is_number(instruction: &Instruction) -> bool {
    matches!(
        instruction.op1_kind(),
        OpKind::Immediate8to64 | OpKind::Immediate32to64
    )
}
