//! An oracle for rows: applies DWARF's and SFrame's rules to a made-up machine, and compares the results. It uses no code of the
//! converter.

use gimli::{
    CfaRule, EhFrame, EndianSlice, EvaluationResult, Location, Register, RegisterRule,
    RunTimeEndian, UnwindExpression, UnwindTableRow, Value,
};
use unwind::sframe::{Base, Row, Rule};

pub type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// What a frame's rules yield: the caller's stack pointer, the return address and the caller's frame pointer, or `None`.
#[derive(Debug, PartialEq, Eq)]
pub struct Caller {
    pub stack_pointer: u64,
    pub return_address: u64,
    pub frame_pointer: u64,
}

/// DWARF numbers of an architecture.
#[derive(Clone, Copy)]
pub struct Numbers {
    pub sp: u16,
    pub fp: u16,
    pub ra: u16,
    /// Offset of the caller's stack pointer from the CFA, in bytes.
    pub stack: i64,
}

pub const X86_64: Numbers = Numbers {
    sp: 7,
    fp: 6,
    ra: 16,
    stack: 0,
};
pub const AARCH64: Numbers = Numbers {
    sp: 31,
    fp: 29,
    ra: 30,
    stack: 0,
};
pub const S390X: Numbers = Numbers {
    sp: 15,
    fp: 11,
    ra: 14,
    stack: -160,
};

/// A machine that is stopped at `pc`. Every register and every word of memory has another value.
pub struct Machine {
    pub pc: u64,
    pub numbers: Numbers,
}

impl Machine {
    fn register(&self, number: u32) -> u64 {
        // Column 16 is the program counter on x86-64, where expressions for PLT entries use it.
        if self.numbers.ra == 16 && number == 16 {
            return self.pc;
        }
        mix(u64::from(number)) & 0x0000_7fff_ffff_fff8
    }

    fn memory(&self, address: u64) -> u64 {
        mix(address ^ 0x5555_5555_5555_5555)
    }

    /// The caller by SFrame's rules.
    pub fn by_sframe(&self, row: &Row) -> Option<Caller> {
        let Numbers { sp, fp, ra, stack } = self.numbers;
        let value = |rule: Rule, cfa: u64, same: u16| {
            let base = |base| match base {
                Base::Cfa => cfa,
                Base::StackPointer => self.register(sp.into()),
                Base::FramePointer => self.register(fp.into()),
                Base::Register(number) => self.register(number),
            };
            match rule {
                Rule::Undefined => None,
                Rule::Same => Some(self.register(same.into())),
                Rule::Value { base: of, offset } => Some(base(of).wrapping_add_signed(offset)),
                Rule::Saved { base: of, offset } => {
                    Some(self.memory(base(of).wrapping_add_signed(offset)))
                }
            }
        };
        let cfa = value(row.cfa, 0, 0)?;
        Some(Caller {
            stack_pointer: cfa.wrapping_add_signed(stack),
            return_address: value(row.return_address, cfa, ra)?,
            frame_pointer: value(row.frame_pointer, cfa, fp)?,
        })
    }

    /// The caller by DWARF's rules.
    pub fn by_dwarf(
        &self,
        row: &UnwindTableRow<usize>,
        section: &EhFrame<Slice<'_>>,
        encoding: gimli::Encoding,
    ) -> Option<Caller> {
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => self
                .register(register.0.into())
                .wrapping_add_signed(*offset),
            CfaRule::Expression(expression) => self.evaluate(expression, section, encoding, None),
        };
        let value = |number: u16| match row.register(Register(number)) {
            None | Some(RegisterRule::SameValue) => Some(self.register(number.into())),
            Some(RegisterRule::Undefined) => None,
            Some(RegisterRule::Offset(offset)) => {
                Some(self.memory(cfa.wrapping_add_signed(offset)))
            }
            Some(RegisterRule::ValOffset(offset)) => Some(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::Register(other)) => Some(self.register(other.0.into())),
            Some(RegisterRule::Expression(expression)) => {
                Some(self.memory(self.evaluate(&expression, section, encoding, Some(cfa))))
            }
            Some(RegisterRule::ValExpression(expression)) => {
                Some(self.evaluate(&expression, section, encoding, Some(cfa)))
            }
            Some(other) => panic!("a rule that no test input has: {other:?}"),
        };
        Some(Caller {
            stack_pointer: match row.register(Register(self.numbers.sp)) {
                None => cfa.wrapping_add_signed(self.numbers.stack),
                // Saved on entry, where it was what it is by the ABI.
                Some(RegisterRule::Offset(offset)) if (self.numbers.stack..0).contains(&offset) => {
                    cfa.wrapping_add_signed(self.numbers.stack)
                }
                Some(_) => value(self.numbers.sp)?,
            },
            return_address: value(self.numbers.ra)?,
            frame_pointer: value(self.numbers.fp)?,
        })
    }

    fn evaluate(
        &self,
        expression: &UnwindExpression<usize>,
        section: &EhFrame<Slice<'_>>,
        encoding: gimli::Encoding,
        initial: Option<u64>,
    ) -> u64 {
        let mut evaluation = expression.get(section).unwrap().evaluation(encoding);
        if let Some(value) = initial {
            evaluation.set_initial_value(value);
        }
        let mut result = evaluation.evaluate().unwrap();
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.register(register.0.into());
                    evaluation.resume_with_register(Value::Generic(value))
                }
                EvaluationResult::RequiresMemory { address, .. } => {
                    evaluation.resume_with_memory(Value::Generic(self.memory(address)))
                }
                other => panic!("an expression that no test input has: {other:?}"),
            }
            .unwrap();
        }
        match evaluation.result()[0].location {
            Location::Address { address } => address,
            ref other => panic!("a location that no test input has: {other:?}"),
        }
    }
}

/// A hash, different for every input that tests use.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value ^ (value >> 32)
}
