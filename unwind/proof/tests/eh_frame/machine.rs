//! A machine with a different number in every register and every word of memory: two descriptions of a caller agree on
//! it only if they say the same. So rules are compared by what they do, however they are written.

use unwind::sframe::{Base, Row, Rule};

/// DWARF numbers of x86-64 (System V ABI, figure 3.36).
pub const FRAME_POINTER: u16 = 6;
pub const STACK_POINTER: u16 = 7;
/// Also stands for the program counter in expressions.
pub const RETURN_ADDRESS: u16 = 16;

/// Stopped at an instruction.
pub struct Machine {
    pub pc: u64,
}

/// What is found of a caller.
#[derive(Debug, PartialEq, Eq)]
pub enum Caller {
    /// There is none: the return address is undefined.
    None,
    Frame {
        /// In SFrame the CFA, which is no more than that.
        stack_pointer: u64,
        return_address: u64,
        /// `None`: not to be had.
        frame_pointer: Option<u64>,
    },
}

impl Machine {
    pub fn register(&self, number: u16) -> u64 {
        match number {
            RETURN_ADDRESS => self.pc,
            number => mix(u64::from(number) << 56 ^ self.pc),
        }
    }

    pub fn word(&self, address: u64) -> u64 {
        mix(address ^ 0x5555_5555_5555_5555)
    }

    /// What a row of SFrame gives.
    pub fn caller(&self, row: &Row) -> Caller {
        if row.is_outermost() {
            return Caller::None;
        }
        let cfa = self.value(row.cfa, None).expect("a CFA");
        Caller::Frame {
            stack_pointer: cfa,
            // Never in a register by itself: a call puts it on the stack.
            return_address: self
                .value(row.return_address, Some(cfa))
                .expect("a return address"),
            frame_pointer: match row.frame_pointer {
                Rule::Same => Some(self.register(FRAME_POINTER)),
                rule => self.value(rule, Some(cfa)),
            },
        }
    }

    fn value(&self, rule: Rule, cfa: Option<u64>) -> Option<u64> {
        let address = |base, offset| {
            let base = match base {
                Base::StackPointer => self.register(STACK_POINTER),
                Base::FramePointer => self.register(FRAME_POINTER),
                Base::Register(number) => self.register(number.try_into().unwrap()),
                Base::Cfa => cfa.expect("a CFA that does not depend on itself"),
            };
            base.wrapping_add_signed(offset)
        };
        match rule {
            Rule::Same | Rule::Undefined => None,
            Rule::Value { base, offset } => Some(address(base, offset)),
            Rule::Saved { base, offset } => Some(self.word(address(base, offset))),
        }
    }
}

/// A number that looks random (splitmix64).
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
