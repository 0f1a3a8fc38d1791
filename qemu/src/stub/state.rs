//! The registers of a machine that stands still.

use anyhow::Result;
use unwind::RegisterSet;

use super::answers::Answers;
use super::client::Stub;
use super::system::System;
use super::{aarch64, armv7a, x86_64};
use crate::hardware::Processor;

/// Registers between two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The next instruction.
    pub pc: u64,
    /// The stack pointer in use.
    pub sp: u64,
    /// Whether interrupts are masked.
    pub is_masked: bool,
    /// What kind of code runs.
    pub level: Level,
    /// All that a walk begins with.
    pub registers: Registers,
}

/// What kind of code a processor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A kernel's, or a hypervisor's.
    Kernel,
    /// A program's, of a user.
    User,
    /// Not code of 64 bits, for which no walk is made.
    Narrow,
}

/// What a walk begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registers {
    /// Those of x86-64.
    X86(unwind::x86_64::Registers),
    /// Those of AArch64.
    Arm(unwind::aarch64::Registers),
    /// Those of 32-bit ARM.
    Arm32(unwind::arm::Registers),
}

impl Registers {
    /// The program counter.
    #[must_use]
    pub fn pc(&self) -> u64 {
        match self {
            Self::X86(registers) => registers.pc(),
            Self::Arm(registers) => registers.pc(),
            Self::Arm32(registers) => registers.pc(),
        }
    }
}

/// Reads registers.
#[derive(Clone, Debug)]
pub struct Reader {
    arch: Processor,
    questions: Vec<String>,
    /// What to ask for beyond that, to know how page tables are used.
    more: Vec<String>,
}

impl Reader {
    /// A reader for a machine of this architecture.
    ///
    /// # Errors
    /// When the stub does not have the registers.
    pub fn new(arch: Processor, stub: &mut Stub) -> Result<Self> {
        let (questions, more) = match arch {
            Processor::X86_64 => (vec!["g".to_owned()], Vec::new()),
            Processor::Aarch64 => {
                let system = System::of(stub)?;
                // Without the others there is a walk, and a dump of which only `crash` can read the memory.
                let more = aarch64::more_questions(&system).unwrap_or_default();
                (aarch64::questions(&system)?, more)
            }
            Processor::Armv7a => {
                let system = System::of(stub)?;
                let more = armv7a::more_questions(&system).unwrap_or_default();
                (armv7a::questions(), more)
            }
        };
        Ok(Self {
            arch,
            questions,
            more,
        })
    }

    /// The registers now.
    ///
    /// # Errors
    /// When the machine is gone.
    pub fn read(&self, stub: &mut Stub) -> Result<State> {
        let answers = ask(stub, &self.questions)?;
        match self.arch {
            Processor::X86_64 => x86_64::state(&answers),
            Processor::Aarch64 => aarch64::state(&answers),
            Processor::Armv7a => armv7a::state(&answers),
        }
    }

    /// All that the stub says of them, for a dump.
    ///
    /// # Errors
    /// When the machine is gone.
    pub fn all(&self, stub: &mut Stub) -> Result<Answers> {
        let questions = [&self.questions[..], &self.more].concat();
        let answers = ask(stub, &questions)?;
        Ok(Answers::new(self.arch, answers))
    }
}

fn ask(stub: &mut Stub, questions: &[String]) -> Result<Vec<Vec<u8>>> {
    let questions: Vec<&str> = questions.iter().map(|text| &**text).collect();
    stub.ask_all(&questions)
}
