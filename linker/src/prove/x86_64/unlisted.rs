//! All other instructions: what they may write is unknown afterwards.

use std::cell::RefCell;

use iced_x86::{InstructionInfoFactory, OpAccess, Register as Iced};

use super::super::isa::Flow;
use super::super::value::{Address, Value};
use super::{Run, number};

thread_local! {
    /// Lists what an instruction reads and writes. Kept per thread to reuse its allocations.
    static INFO: RefCell<InstructionInfoFactory> = RefCell::new(InstructionInfoFactory::new());
}

impl Run<'_> {
    /// Any other instruction: forgets the registers and memory that it may write.
    pub(super) fn unlisted(&mut self) -> Flow {
        let instruction = self.instruction;
        INFO.with_borrow_mut(|factory| {
            let info = factory.info(instruction);
            let writes = |access| {
                matches!(
                    access,
                    OpAccess::Write
                        | OpAccess::CondWrite
                        | OpAccess::ReadWrite
                        | OpAccess::ReadCondWrite
                )
            };
            for used in info
                .used_memory()
                .iter()
                .filter(|used| writes(used.access()))
            {
                let base = match number(used.base()) {
                    Some(number) => self.machine.get(number),
                    None => Value::Constant(0),
                };
                let plain =
                    used.index() == Iced::None && !matches!(used.segment(), Iced::FS | Iced::GS);
                let address = match plain {
                    true => Address::of(base, used.displacement().cast_signed()),
                    false => Address::Unknown,
                };
                let size = used.memory_size().size().min(255) as u8;
                self.machine.store(address, size, Value::Unknown);
            }
            for used in info
                .used_registers()
                .iter()
                .filter(|used| writes(used.access()))
            {
                if let Some(number) = number(used.register()) {
                    self.machine.set(number, Value::Unknown);
                }
            }
        });
        if instruction.rflags_modified() != 0 {
            self.machine.forget_flags();
        }
        Flow::Next
    }
}
