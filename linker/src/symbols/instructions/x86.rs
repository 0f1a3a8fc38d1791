//! Decodes x86-64 instructions.

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use super::Decoded;

/// The instructions in `code`, which lies at `address`. They cover all of it.
pub(super) fn decode(code: &[u8], address: u64) -> Vec<Decoded> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut found = Vec::with_capacity(code.len() / 4);
    while decoder.can_decode() {
        let offset = decoder.position() as u32;
        decoder.decode_out(&mut instruction);
        found.push(Decoded {
            offset,
            length: decoder.position() as u32 - offset,
            is_call: instruction.mnemonic() == Mnemonic::Call,
            can_fault: can_fault(&instruction),
        });
    }
    found
}

/// The instruction may raise an exception. Floating-point exceptions do not count: kernels mask them, or use no floating point.
fn can_fault(instruction: &Instruction) -> bool {
    instruction.is_invalid()
        || raises(instruction.mnemonic())
        || moves_checked(instruction.code())
        || is_access(instruction)
}

/// Raises an exception on purpose, for some values of its registers, or for lack of privilege.
const fn raises(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Ud0
            | Mnemonic::Ud1
            | Mnemonic::Ud2
            | Mnemonic::Int
            | Mnemonic::Int1
            | Mnemonic::Int3
            | Mnemonic::Div
            | Mnemonic::Idiv
            | Mnemonic::Rdmsr
            | Mnemonic::Wrmsr
            | Mnemonic::Xsetbv
            | Mnemonic::Ltr
            | Mnemonic::Lldt
            | Mnemonic::Iretq
    )
}

/// MOV to a control, debug or segment register: the processor checks the value.
const fn moves_checked(code: Code) -> bool {
    matches!(
        code,
        Code::Mov_cr_r64
            | Code::Mov_dr_r64
            | Code::Mov_Sreg_rm16
            | Code::Mov_Sreg_r32m16
            | Code::Mov_Sreg_r64m16
    )
}

/// Accesses memory, except relative to the stack pointer: it has a memory operand, and does not only compute its address or
/// give a hint. PUSH, CALL and the like have no operand for their access to the stack.
fn is_access(instruction: &Instruction) -> bool {
    let has_operand = instruction.op_kinds().any(|kind| match kind {
        OpKind::Memory => instruction.memory_base() != Register::RSP,
        OpKind::MemorySegSI
        | OpKind::MemorySegESI
        | OpKind::MemorySegRSI
        | OpKind::MemorySegDI
        | OpKind::MemorySegEDI
        | OpKind::MemorySegRDI
        | OpKind::MemoryESDI
        | OpKind::MemoryESEDI
        | OpKind::MemoryESRDI => true,
        _ => false,
    });
    has_operand
        && !matches!(
            instruction.mnemonic(),
            Mnemonic::Lea
                | Mnemonic::Nop
                | Mnemonic::Reservednop
                | Mnemonic::Cldemote
                | Mnemonic::Prefetch
                | Mnemonic::Prefetchit0
                | Mnemonic::Prefetchit1
                | Mnemonic::Prefetchnta
                | Mnemonic::Prefetcht0
                | Mnemonic::Prefetcht1
                | Mnemonic::Prefetcht2
                | Mnemonic::Prefetchw
                | Mnemonic::Prefetchwt1
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls() {
        // nop; call rel32; call rax; call [rip+0]; jmp rax; ret
        let code = [
            0x90, 0xe8, 0, 0, 0, 0, 0xff, 0xd0, 0xff, 0x15, 0, 0, 0, 0, 0xff, 0xe0, 0xc3,
        ];
        let decoded = decode(&code, 0x1000);
        let calls = decoded.iter().filter(|decoded| decoded.is_call);
        let calls: Vec<_> = calls.map(|call| (call.offset, call.length)).collect();
        assert_eq!(calls, [(1, 5), (6, 2), (8, 6)]);
    }

    /// Bytes by `llvm-mc --show-encoding`.
    #[test]
    fn faults() {
        let can: [(&str, &[u8]); 27] = [
            ("mov rax, [rbx]", &[0x48, 0x8b, 0x03]),
            ("mov qword ptr [rdi], 0", &[0x48, 0xc7, 0x07, 0, 0, 0, 0]),
            ("mov byte ptr [rbp - 8], 1", &[0xc6, 0x45, 0xf8, 0x01]),
            ("lock xadd [rcx], rax", &[0xf0, 0x48, 0x0f, 0xc1, 0x01]),
            ("mov eax, [rip + 16]", &[0x8b, 0x05, 0x10, 0, 0, 0]),
            ("movsb", &[0xa4]),
            ("rep stosq", &[0xf3, 0x48, 0xab]),
            ("movsq es:[rdi], fs:[rsi]", &[0x48, 0x64, 0xa5]),
            ("xlatb", &[0xd7]),
            ("maskmovdqu xmm0, xmm1", &[0x66, 0x0f, 0xf7, 0xc1]),
            ("fxsave64 [rax]", &[0x48, 0x0f, 0xae, 0x00]),
            ("movups xmm0, [rax]", &[0x0f, 0x10, 0x00]),
            ("call [rax]", &[0xff, 0x10]),
            ("jmp [rax + 8*rcx]", &[0xff, 0x24, 0xc8]),
            ("push [rax]", &[0xff, 0x30]),
            ("invlpg [rax]", &[0x0f, 0x01, 0x38]),
            ("div rcx", &[0x48, 0xf7, 0xf1]),
            ("idiv ecx", &[0xf7, 0xf9]),
            ("ud2", &[0x0f, 0x0b]),
            ("int3", &[0xcc]),
            ("int 128", &[0xcd, 0x80]),
            ("wrmsr", &[0x0f, 0x30]),
            ("mov cr3, rax", &[0x0f, 0x22, 0xd8]),
            ("mov ds, eax", &[0x8e, 0xd8]),
            ("iretq", &[0x48, 0xcf]),
            ("none", &[0x06]),
            ("cut off", &[0x48, 0x8b]),
        ];
        let cannot: [(&str, &[u8]); 16] = [
            ("mov rax, [rsp + 8]", &[0x48, 0x8b, 0x44, 0x24, 0x08]),
            ("mov [rsp], rax", &[0x48, 0x89, 0x04, 0x24]),
            ("push rax", &[0x50]),
            ("pop rax", &[0x58]),
            ("call .", &[0xe8, 0, 0, 0, 0]),
            ("ret", &[0xc3]),
            ("lea rax, [rbx]", &[0x48, 0x8d, 0x03]),
            ("nop word ptr [rax + rax]", &[0x66, 0x0f, 0x1f, 0x04, 0x00]),
            ("prefetcht0 [rax]", &[0x0f, 0x18, 0x08]),
            ("prefetchw [rax]", &[0x0f, 0x0d, 0x08]),
            ("mul rcx", &[0x48, 0xf7, 0xe1]),
            ("mov rax, cr2", &[0x0f, 0x20, 0xd0]),
            ("mov eax, ds", &[0x8c, 0xd8]),
            ("jmp rax", &[0xff, 0xe0]),
            ("cli", &[0xfa]),
            ("endbr64", &[0xf3, 0x0f, 0x1e, 0xfa]),
        ];
        for (text, code) in can {
            assert!(decode(code, 0x1000)[0].can_fault, "{text}");
        }
        for (text, code) in cannot {
            assert!(!decode(code, 0x1000)[0].can_fault, "{text}");
        }
    }
}
