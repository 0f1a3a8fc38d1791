//! Who has called whom on a CPU, as addresses, for whoever counts them.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use unwind::sframe::Damage;
use unwind::{End, Range, Stacks};

use super::begin::{Begin, frames};
use super::compared::InMemory;
use super::image::Image;
use super::memory::Memory;
use crate::machine::Stopped;
use crate::stub::{Level, Registers};

/// Says who has called whom on machines that run an image.
#[derive(Debug)]
pub struct Callers {
    image: Image,
    /// The tables contain checksums of the code.
    has_checksums: bool,
    /// What the comparison of the code with memory has found, as soon as the code is mapped.
    in_memory: OnceLock<InMemory>,
}

/// What a CPU was doing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stack {
    /// What kind of code it runs.
    pub level: Level,
    /// Where to look up each frame, the innermost first. Only that, if the code is no kernel's.
    pub frames: Vec<u64>,
    /// Whether these are all, vouched for as in a report.
    pub is_complete: bool,
}

impl Callers {
    /// For the ELF image at `path`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let image = Image::read(path)?;
        Ok(Self {
            has_checksums: image.has_code_checksums(),
            image,
            in_memory: OnceLock::new(),
        })
    }

    /// What is wrong with all stacks, as text; `None`: nothing is known to be.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        match self.in_memory.get()? {
            InMemory::Changed(start) => Some(Damage::Code { start: *start }.to_string()),
            InMemory::Another => Some("the image is not in memory".to_owned()),
            InMemory::Unknown | InMemory::NotCompared | InMemory::Same => None,
        }
    }

    /// Compares the code with memory, unless that is done: once, because it is too long for each sample.
    fn compare(&self, stopped: &mut Stopped<'_>, cpu: usize) {
        if self.has_checksums && self.in_memory.get().is_none() {
            let found = self.image.in_memory_of(stopped, cpu);
            if found != InMemory::NotCompared {
                let _ = self.in_memory.set(found);
            }
        }
    }

    /// Whether the image has code there.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        self.image.is_code(address)
    }

    /// What this CPU is doing.
    ///
    /// # Errors
    /// When the machine does not answer.
    pub fn of(&self, stopped: &mut Stopped<'_>, cpu: usize) -> Result<Stack> {
        let state = stopped.state(cpu)?;
        let mut stack = Stack {
            level: state.level,
            frames: vec![state.pc],
            is_complete: false,
        };
        if state.level == Level::Kernel && self.is_code(state.pc) {
            self.compare(stopped, cpu);
            let memory = Memory::new(stopped, cpu);
            let ranges = self.image.ranges(cpu, state.sp);
            let (frames, end) = match state.registers {
                Registers::X86(registers) => self.walk(&memory, &ranges, registers),
                Registers::Arm(registers) => self.walk(&memory, &ranges, registers),
                Registers::Arm32(registers) => self.walk(&memory, &ranges, registers),
            };
            stack.frames = frames;
            let begins =
                stack.frames.len() == 1 && self.image.rows().say_that_has_no_caller(state.pc);
            let is_whole = begins || end.is_some_and(|end| end.is_complete());
            stack.is_complete = is_whole && self.doubt().is_none();
        }
        Ok(stack)
    }

    fn walk<R: Begin>(
        &self,
        memory: &Memory<'_>,
        ranges: &[Range],
        registers: R,
    ) -> (Vec<u64>, Option<End>) {
        let code = self.image.ranges_of_code();
        let function_at = |pc| self.image.function_at(pc);
        let rows = self.image.rows();
        let unwinder = self.image.unwinder::<R>(rows, &code, &function_at);
        let stacks = Stacks::new(ranges, |address| memory.word_of::<R>(address));
        let mut frames = frames(&unwinder, registers, stacks);
        let found = frames.by_ref().map(|frame| frame.lookup_pc()).collect();
        (found, frames.end())
    }
}
