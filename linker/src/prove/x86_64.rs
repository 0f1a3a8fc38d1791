//! What x86-64 instructions do to the stack, and to what leads to it. Manual: Intel 64 and IA-32 Architectures Software
//! Developer's Manual, volume 2; "System V Application Binary Interface, AMD64 Architecture Processor Supplement",
//! section 3.2 "Function Calling Sequence".

use std::cell::RefCell;

use iced_x86::{
    ConditionCode, Decoder, DecoderOptions, FlowControl, Formatter, Instruction,
    InstructionInfoFactory, IntelFormatter, Mnemonic, OpAccess, OpKind, Register as Iced,
};

use super::isa::{Executed, Flow, Isa};
use super::machine::{Condition, Machine, Operand};
use super::table::Tables;
use super::value::{Address, Register, Value};

/// x86-64 with the System V ABI.
#[derive(Clone, Copy, Debug)]
pub struct X86;

const RAX: Register = 0;
const RBP: Register = 6;
const RSP: Register = 7;

thread_local! {
    /// Lists what an instruction reads and writes. Reused for its memory.
    static INFO: RefCell<InstructionInfoFactory> = RefCell::new(InstructionInfoFactory::new());
}

impl Isa for X86 {
    const STACK_POINTER: Register = RSP;
    const FRAME_POINTER: Register = RBP;
    const RETURN_ADDRESS: Register = 16;
    // rbx, rbp, rsp, r12 to r15.
    const KEPT_BY_CALLS: u64 = 1 << 3 | 1 << 6 | 1 << 7 | 0xf << 12;
    const OTHER_BASES: &'static [Register] = &[10, 11];
    const KEEPS_INTERRUPTED_ON_STACK: bool = true;

    fn execute(&self, code: &[u8], machine: &mut Machine, tables: &mut Tables) -> Option<Executed> {
        let mut decoder = Decoder::with_ip(64, code, machine.at, DecoderOptions::NONE);
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return None;
        }
        let mut run = Run {
            instruction: &instruction,
            machine,
            tables,
        };
        let flow = run.execute();
        Some(Executed {
            length: instruction.len() as u8,
            flow,
        })
    }

    fn length(&self, code: &[u8]) -> Option<u8> {
        let instruction = Decoder::new(64, code, DecoderOptions::NONE).decode();
        (!instruction.is_invalid()).then_some(instruction.len() as u8)
    }

    /// LLVM clears the direction flag before such a handler calls anything: nobody knows how it was; elsewhere the ABI says
    /// that it is clear. Where there is an error code, the handler begins by pushing `rax` for alignment; as one of the
    /// registers that are saved it would come last.
    fn interrupt_handler(&self, code: &[u8]) -> Option<u8> {
        let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
        let mut prologue = decoder
            .iter()
            .take_while(|instruction| instruction.flow_control() == FlowControl::Next)
            .take(64)
            .peekable();
        let first = prologue.peek()?;
        if first.mnemonic() != Mnemonic::Push {
            return None;
        }
        let is_aligned = first.op0_register() == Iced::RAX;
        let clears = prologue.any(|instruction| instruction.mnemonic() == Mnemonic::Cld);
        clears.then_some(if is_aligned { 8 } else { 0 })
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
            // lea rsi, [rsi] and its like, which assemblers wrote once.
            Mnemonic::Lea => {
                instruction.op0_register() == instruction.memory_base()
                    && instruction.memory_index() == Iced::None
                    && instruction.memory_displacement64() == 0
            }
            // What a table's last bytes or zeros look like.
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
            // A memory barrier: nothing changes.
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
            // int3 fills room between functions, too.
            // A debugger, or a handler, goes on behind int3.
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

    /// Whether all operands are general-purpose registers, memory and numbers.
    fn is_plain(&self) -> bool {
        (0..self.instruction.op_count()).all(|index| match self.instruction.op_kind(index) {
            OpKind::Register => number(self.instruction.op_register(index)).is_some(),
            _ => true,
        })
    }

    /// Bytes of an operand.
    fn size(&self, index: u32) -> u8 {
        match self.instruction.op_kind(index) {
            OpKind::Register => self.instruction.op_register(index).size() as u8,
            OpKind::Memory => self.instruction.memory_size().size().min(255) as u8,
            _ => 8,
        }
    }

    /// An operand's value, the bits above it zero.
    fn read(&mut self, index: u32) -> Value {
        let instruction = self.instruction;
        match instruction.op_kind(index) {
            OpKind::Register => {
                let register = instruction.op_register(index);
                match number(register) {
                    Some(_) if matches!(register, Iced::AH | Iced::BH | Iced::CH | Iced::DH) => {
                        Value::Unknown
                    }
                    Some(number) => self.machine.named(number).low(register.size() as u8 * 8),
                    None => Value::Unknown,
                }
            }
            OpKind::Memory => {
                let size = self.size(index);
                let address = self.address(size, false);
                self.machine.load(address, size)
            }
            _ => {
                let value = Value::Constant(instruction.immediate(index));
                match self.size(0) {
                    size @ 1..8 => value.low(size * 8),
                    _ => value,
                }
            }
        }
    }

    /// Gives an operand another value.
    fn write(&mut self, index: u32, value: Value) -> Flow {
        match self.instruction.op_kind(index) {
            OpKind::Register => {
                let register = self.instruction.op_register(index);
                if let Some(number) = number(register) {
                    let value = match register.size() {
                        8 => value,
                        4 => value.low(32),
                        // The other bits stay.
                        _ => Value::Unknown,
                    };
                    self.machine.set(number, value);
                }
            }
            OpKind::Memory => {
                let size = self.size(index);
                let address = self.address(size, false);
                self.machine.store(address, size, value);
            }
            _ => {}
        }
        Flow::Next
    }

    /// Where the memory operand lies, `size` bytes.
    fn address(&mut self, size: u8, signed: bool) -> Address {
        let instruction = self.instruction;
        let offset = instruction.memory_displacement64().cast_signed();
        if instruction.is_ip_rel_memory_operand() {
            return Address::At(instruction.memory_displacement64());
        }
        if !matches!(
            instruction.segment_prefix(),
            Iced::None | Iced::DS | Iced::CS | Iced::SS | Iced::ES
        ) {
            return Address::Unknown;
        }
        let base = self.value_of(instruction.memory_base());
        let (index, scale) = (instruction.memory_index(), instruction.memory_index_scale());
        if index == Iced::None {
            return Address::of(base, offset);
        }
        let index = self.value_of(index);
        match (base, index) {
            (Value::Constant(table), Value::Constant(index))
                if scale == u32::from(size) && size > 1 =>
            {
                let entry = table
                    .wrapping_add_signed(offset)
                    .wrapping_add(index.wrapping_mul(scale.into()));
                match self.tables.read(entry, size, signed, Some(0)) {
                    Value::Table(number) => Address::Table(number),
                    _ => Address::Unknown,
                }
            }
            (_, Value::Constant(index)) => {
                let more = index.wrapping_mul(scale.into()).cast_signed();
                Address::of(base, offset.wrapping_add(more))
            }
            (Value::Constant(table), index) if scale == u32::from(size) && size > 1 => {
                let most = self.machine.most(index);
                let table = table.wrapping_add_signed(offset);
                match self.tables.read(table, size, signed, most) {
                    Value::Table(number) => Address::Table(number),
                    _ => Address::Unknown,
                }
            }
            _ => Address::Unknown,
        }
    }

    /// The value of a register of an address; none is zero.
    fn value_of(&mut self, register: Iced) -> Value {
        match number(register) {
            Some(number) => self.machine.named(number).low(register.size() as u8 * 8),
            None => Value::Constant(0),
        }
    }

    fn sign_extended(&mut self) -> Value {
        let size = self.size(1);
        let value = match self.instruction.op1_kind() {
            OpKind::Memory => {
                let address = self.address(size, true);
                self.machine.load(address, size)
            }
            _ => self.read(1),
        };
        let positive = 1_u64 << (u32::from(size) * 8 - 1);
        match value {
            Value::Table(_) => value,
            Value::Constant(value) => {
                let unused = 64 - 8 * u32::from(size);
                Value::Constant(
                    (value << unused)
                        .cast_signed()
                        .wrapping_shr(unused)
                        .cast_unsigned(),
                )
            }
            value if self.machine.most(value).is_some_and(|most| most < positive) => value,
            _ => self.machine.name(),
        }
    }

    fn effective_address(&mut self) -> Value {
        let instruction = self.instruction;
        if instruction.is_ip_rel_memory_operand() {
            return Value::Constant(instruction.memory_displacement64());
        }
        let base = self.value_of(instruction.memory_base());
        let offset = Value::Constant(instruction.memory_displacement64());
        let index = instruction.memory_index();
        let index = match index {
            Iced::None => Value::Constant(0),
            index => match (self.value_of(index), instruction.memory_index_scale()) {
                (Value::Constant(index), scale) => {
                    Value::Constant(index.wrapping_mul(scale.into()))
                }
                (index, 1) => index,
                _ => Value::Unknown,
            },
        };
        let sum = self.tables.sum(base, offset, 0);
        let sum = self.tables.sum(sum, index, 0);
        match (sum, base) {
            (Value::Unknown, Value::Stack(..)) => self.machine.new_base(),
            (Value::Unknown, _) => self.machine.name(),
            (sum, _) => sum,
        }
    }

    fn arithmetic(&mut self) -> Flow {
        let instruction = self.instruction;
        let mnemonic = instruction.mnemonic();
        let size = self.size(0);
        let register = |index| match instruction.op_kind(index) {
            OpKind::Register => number(instruction.op_register(index)).filter(|_| size == 8),
            _ => None,
        };
        let (left, right) = (self.read(0), self.read(1));
        let same = instruction.op0_kind() == OpKind::Register
            && instruction.op1_kind() == OpKind::Register
            && instruction.op0_register() == instruction.op1_register();
        if mnemonic == Mnemonic::Cmp {
            let operand = |index, value| Operand {
                register: register(index),
                value,
            };
            self.machine.compare(operand(0, left), operand(1, right));
            return Flow::Next;
        }
        let is_stack = matches!(left, Value::Stack(..)) && size == 8;
        let value = match (mnemonic, right) {
            (Mnemonic::Xor | Mnemonic::Sub, _) if same => Value::Constant(0),
            (Mnemonic::Add, _) => self.tables.sum(left, right, 0),
            (Mnemonic::Sub, _) => left.minus(right),
            (Mnemonic::And, Value::Constant(mask))
                if !is_stack && mask <= i64::MAX.cast_unsigned() =>
            {
                self.machine.name_at_most(mask)
            }
            _ => Value::Unknown,
        };
        let value = match value {
            // Room of a size that is not known, or alignment.
            Value::Unknown if is_stack && mnemonic != Mnemonic::Xor => self.machine.new_base(),
            Value::Unknown => self.machine.name(),
            known => known,
        };
        self.write(0, value);
        let at = self.machine.at;
        match mnemonic {
            // What had no name before has that of the result by now.
            Mnemonic::Sub if !left.is_named(at) && !right.is_named(at) => {
                let operand = |value| Operand {
                    register: None,
                    value,
                };
                self.machine.compare(operand(left), operand(right));
            }
            _ => self.machine.forget_flags(),
        }
        Flow::Next
    }

    fn push(&mut self, value: Value, increment: i32) -> Flow {
        self.move_stack_pointer(increment.into());
        let size = increment.unsigned_abs() as u8;
        let address = Address::of(self.machine.sp(), 0);
        self.machine.store(address, size, value);
        Flow::Next
    }

    fn pop(&mut self, increment: i32) -> Value {
        let address = Address::of(self.machine.sp(), 0);
        let value = self.machine.load(address, increment.unsigned_abs() as u8);
        self.move_stack_pointer(increment.into());
        value
    }

    fn move_stack_pointer(&mut self, by: i64) {
        let moved = self.machine.sp().plus(Value::Constant(by.cast_unsigned()));
        self.machine.set(RSP, moved);
    }

    /// Any other instruction: what it writes is not known afterwards.
    fn unlisted(&mut self) -> Flow {
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
