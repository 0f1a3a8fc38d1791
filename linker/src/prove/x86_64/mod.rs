//! The effects of x86-64 instructions on the abstract state. Manual: Intel 64 and IA-32 Architectures Software
//! Developer's Manual, volume 2; "System V Application Binary Interface, AMD64 Architecture Processor Supplement",
//! section 3.2 "Function Calling Sequence".

mod arithmetic;
mod handler;
mod memory;
mod unlisted;

use iced_x86::{
    ConditionCode, Decoder, DecoderOptions, FlowControl, Formatter, Instruction, IntelFormatter,
    Mnemonic, OpKind, Register as Iced,
};

use super::compare::Condition;
use super::isa::{Executed, Flow, Isa};
use super::machine::Machine;
use super::table::Tables;
use super::value::{Register, Value};

/// x86-64 with the System V ABI.
#[derive(Clone, Copy, Debug)]
pub struct X86;

const RAX: Register = 0;
const RBP: Register = 6;
const RSP: Register = 7;

impl Isa for X86 {
    const STACK_POINTER: Register = RSP;
    const FRAME_POINTER: Register = RBP;
    const RETURN_ADDRESS: Register = 16;
    // rbx, rbp, rsp, r12 to r15.
    const KEPT_BY_CALLS: u64 = 1 << 3 | 1 << 6 | 1 << 7 | 0xf << 12;
    const OTHER_BASES: &'static [Register] = &[10, 11];
    const KEEPS_INTERRUPTED_ON_STACK: bool = true;

    type Instruction = Instruction;

    fn decode(&self, code: &[u8], at: u64, decoded: &mut Vec<Instruction>) {
        // A decoder takes longer to make than an instruction to decode.
        for instruction in &mut Decoder::with_ip(64, code, at, DecoderOptions::NONE) {
            if instruction.is_invalid() {
                break;
            }
            decoded.push(instruction);
            if instruction.flow_control() != FlowControl::Next {
                break;
            }
        }
    }

    fn run(
        &self,
        instruction: &Instruction,
        machine: &mut Machine,
        tables: &mut Tables,
    ) -> Option<Executed> {
        let mut run = Run {
            instruction,
            machine,
            tables,
        };
        let flow = run.execute();
        Some(Executed {
            length: instruction.len() as u8,
            flow,
        })
    }

    fn lengths(&self, code: &[u8], _: u64) -> impl Iterator<Item = u8> {
        let all = Decoder::new(64, code, DecoderOptions::NONE).into_iter();
        all.take_while(|instruction| !instruction.is_invalid())
            .map(|instruction| instruction.len() as u8)
    }

    fn interrupt_handler(&self, code: &[u8]) -> Option<u8> {
        handler::error_code(code)
    }

    fn called_through(&self, code: &[u8], at: u64) -> Option<u64> {
        let instruction = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
        let goes = instruction.is_call_near_indirect() || instruction.is_jmp_near_indirect();
        (goes && instruction.is_ip_rel_memory_operand())
            .then(|| instruction.memory_displacement64())
    }

    fn text(&self, code: &[u8], at: u64) -> String {
        let mut decoder = Decoder::with_ip(64, code, at, DecoderOptions::NONE);
        let mut text = String::new();
        IntelFormatter::new().format(&decoder.decode(), &mut text);
        text
    }

    fn padding(&self, code: &[u8]) -> Option<u8> {
        let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
        let instruction = decoder.decode();
        let fills = match instruction.mnemonic() {
            Mnemonic::Nop | Mnemonic::Int3 | Mnemonic::Ud2 => true,
            // `lea rsi, [rsi]` and the like, from old assemblers.
            Mnemonic::Lea => {
                instruction.op0_register() == instruction.memory_base()
                    && instruction.memory_index() == Iced::None
                    && instruction.memory_displacement64() == 0
            }
            // Zero bytes.
            Mnemonic::Add => code.starts_with(&[0, 0]),
            _ => false,
        };
        fills.then(|| instruction.len() as u8)
    }
}

/// DWARF's number of a general-purpose register, of any width: the ABI's figure "DWARF Register Number Mapping".
fn number(register: Iced) -> Option<Register> {
    Some(match register.full_register() {
        Iced::RAX => 0,
        Iced::RDX => 1,
        Iced::RCX => 2,
        Iced::RBX => 3,
        Iced::RSI => 4,
        Iced::RDI => 5,
        Iced::RBP => 6,
        Iced::RSP => 7,
        Iced::R8 => 8,
        Iced::R9 => 9,
        Iced::R10 => 10,
        Iced::R11 => 11,
        Iced::R12 => 12,
        Iced::R13 => 13,
        Iced::R14 => 14,
        Iced::R15 => 15,
        _ => return None,
    })
}

struct Run<'a> {
    instruction: &'a Instruction,
    machine: &'a mut Machine,
    tables: &'a mut Tables,
}

impl Run<'_> {
    fn execute(&mut self) -> Flow {
        let instruction = self.instruction;
        match instruction.mnemonic() {
            Mnemonic::Nop | Mnemonic::Endbr64 => Flow::Next,
            // `lock or [rsp], 0`, a memory barrier, and the like: memory does not change.
            Mnemonic::Or
                if instruction.op0_kind() == OpKind::Memory
                    && matches!(
                        instruction.op1_kind(),
                        OpKind::Immediate8 | OpKind::Immediate8to32 | OpKind::Immediate8to64
                    )
                    && instruction.immediate(1) == 0 =>
            {
                self.machine.forget_flags();
                Flow::Next
            }
            Mnemonic::Mov | Mnemonic::Movzx if self.is_plain() => {
                let value = self.read(1);
                self.write(0, value)
            }
            Mnemonic::Movsx | Mnemonic::Movsxd => {
                let value = self.sign_extended();
                self.write(0, value)
            }
            Mnemonic::Lea => {
                let value = self.effective_address();
                self.write(0, value)
            }
            Mnemonic::Push => {
                let value = self.read(0);
                self.push(value, instruction.stack_pointer_increment())
            }
            Mnemonic::Pushf | Mnemonic::Pushfq => {
                self.push(Value::Unknown, instruction.stack_pointer_increment())
            }
            Mnemonic::Pop => {
                let value = self.pop(instruction.stack_pointer_increment());
                self.write(0, value)
            }
            Mnemonic::Popf | Mnemonic::Popfq => {
                self.pop(instruction.stack_pointer_increment());
                self.machine.forget_flags();
                Flow::Next
            }
            Mnemonic::Leave => {
                let frame = self.machine.get(RBP);
                self.machine.set(RSP, frame);
                let value = self.pop(8);
                self.machine.set(RBP, value);
                Flow::Next
            }
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::And | Mnemonic::Xor | Mnemonic::Cmp => {
                self.arithmetic()
            }
            Mnemonic::Xchg
                if instruction.op0_kind() == OpKind::Register
                    && instruction.op1_kind() == OpKind::Register =>
            {
                let (one, other) = (self.read(0), self.read(1));
                self.write(0, other);
                self.write(1, one)
            }
            Mnemonic::Ret => {
                let value = self.pop(8);
                if instruction.op_count() == 1 {
                    self.move_stack_pointer(instruction.immediate16().into());
                }
                Flow::Return(value)
            }
            Mnemonic::Retf => {
                let value = self.pop(8);
                self.pop(8);
                Flow::Return(value)
            }
            Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Iretq => Flow::InterruptReturn,
            // Not int3, after which a debugger or a handler goes on.
            Mnemonic::Ud0 | Mnemonic::Ud1 | Mnemonic::Ud2 => Flow::Trap,
            Mnemonic::Int | Mnemonic::Syscall | Mnemonic::Vmcall | Mnemonic::Vmmcall => {
                // rax has the answer; syscall changes rcx and r11 too.
                for register in [RAX, 2, 11] {
                    self.machine.set(register, Value::Unknown);
                }
                Flow::Next
            }
            _ => match instruction.flow_control() {
                FlowControl::Next | FlowControl::Interrupt => self.unlisted(),
                FlowControl::ConditionalBranch => {
                    if instruction.condition_code() == ConditionCode::None {
                        // loop, jrcxz
                        self.unlisted();
                    }
                    Flow::Branch(instruction.near_branch_target(), condition(instruction))
                }
                FlowControl::UnconditionalBranch => {
                    Flow::Jump(Value::Constant(instruction.near_branch_target()))
                }
                FlowControl::Call if instruction.is_call_near() => {
                    Flow::Call(Value::Constant(instruction.near_branch_target()))
                }
                FlowControl::IndirectBranch if instruction.is_jmp_near_indirect() => {
                    Flow::Jump(self.read(0))
                }
                FlowControl::IndirectCall if instruction.is_call_near_indirect() => {
                    Flow::Call(self.read(0))
                }
                _ => {
                    self.unlisted();
                    Flow::Stop
                }
            },
        }
    }

    /// Whether all operands are general-purpose registers, memory or immediates.
    fn is_plain(&self) -> bool {
        (0..self.instruction.op_count()).all(|index| match self.instruction.op_kind(index) {
            OpKind::Register => number(self.instruction.op_register(index)).is_some(),
            _ => true,
        })
    }
}

fn condition(instruction: &Instruction) -> Condition {
    match instruction.condition_code() {
        ConditionCode::e => Condition::Equal,
        ConditionCode::ne => Condition::NotEqual,
        ConditionCode::a => Condition::Above,
        ConditionCode::ae => Condition::AboveOrEqual,
        ConditionCode::b => Condition::Below,
        ConditionCode::be => Condition::BelowOrEqual,
        _ => Condition::Other,
    }
}
