//! What the code of an image on x86-64 does not do, or trap code that saves general registers only would be too little.

use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, OpKind, Register};
use object::{Architecture, Object, ObjectSection};

/// Fails unless all code uses general registers only, and no memory below the stack pointer. On AArch64 there is no red zone, and
/// the target has no other registers.
pub fn expect_general_registers_and_no_red_zone(image: &Path) {
    let data = std::fs::read(image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    if file.architecture() != Architecture::X86_64 {
        return;
    }
    let text = file.section_by_name(".text").expect("there is code");
    let code = text.data().expect("its bytes");
    let mut decoder = Decoder::with_ip(64, code, text.address(), DecoderOptions::NONE);
    let mut count = 0;
    for instruction in &mut decoder {
        count += 1;
        for operand in 0..instruction.op_count() {
            let register = match instruction.op_kind(operand) {
                OpKind::Register => instruction.op_register(operand),
                _ => Register::None,
            };
            let is_other = register.is_vector_register() || register.is_st() || register.is_mm();
            assert!(!is_other, "{:#x}: {instruction}", instruction.ip());
        }
        let below = instruction.memory_base() == Register::RSP
            && instruction.memory_displacement64().cast_signed() < 0
            && instruction.mnemonic() != iced_x86::Mnemonic::Lea;
        assert!(!below, "{:#x}: {instruction}", instruction.ip());
    }
    assert!(count > 10_000, "{count} instructions");
}
