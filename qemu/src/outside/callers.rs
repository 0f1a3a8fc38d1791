//! Who has called whom on a CPU, as addresses, for whoever counts them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Result;
use unwind::{End, Frame, Range, RegisterSet, RowSource, Stacks};

use super::begin::{Begin, frames};
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
    /// The sections of code that were compared with memory: once, because a comparison is too long for each sample.
    compared: Mutex<BTreeSet<usize>>,
    /// Why no stack is complete.
    doubt: OnceLock<String>,
}

/// What a CPU was doing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stack {
    /// What kind of code it runs.
    pub level: Level,
    /// Where to look up each frame, the innermost first. Only that, if the code is no kernel's.
    pub frames: Vec<u64>,
    /// Whether these are all.
    pub base: Base,
}

/// What is known of the outermost frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Base {
    /// There is no other caller, vouched for as in a report.
    Complete,
    /// The frame is the outermost function's, and nothing is in doubt, except that the image declares no stack that begins there.
    Undeclared,
    /// The same, but frames are in doubt: a row was not proven, for example.
    UndeclaredInDoubt,
    /// The frame is the outermost function's, on a stack that the image declares, but frames are in doubt.
    InDoubt,
    /// There may be other callers.
    Incomplete,
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
            compared: Mutex::default(),
            doubt: OnceLock::new(),
        })
    }

    /// What is wrong with all stacks, as text; `None`: nothing is known to be.
    #[must_use]
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.get().map(String::as_str)
    }

    /// Whether the code at these addresses is the code that was linked. Without checksums there is nothing to compare it with.
    fn is_linked(&self, frames: &[u64], stopped: &mut Stopped<'_>, cpu: usize) -> bool {
        if !self.has_checksums {
            return true;
        }
        let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        for pc in frames {
            let Some(section) = self.image.section_at(*pc) else {
                continue;
            };
            if compared.contains(&section) {
                continue;
            }
            if self.image.is_build_in_memory(stopped, cpu) == Some(false) {
                let _ = self
                    .doubt
                    .set("the machine's memory does not contain the image".to_owned());
            }
            match self.image.section_in_memory(section, stopped, cpu) {
                // It may be mapped later.
                None => return false,
                Some(Err(damage)) => _ = self.doubt.set(damage.to_string()),
                Some(Ok(())) => {}
            }
            compared.insert(section);
        }
        self.doubt.get().is_none()
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
            base: Base::Incomplete,
        };
        if state.level == Level::Kernel && self.is_code(state.pc) {
            let memory = Memory::new(stopped, cpu);
            let ranges = self.image.ranges(cpu, state.sp);
            let (frames, base) = match state.registers {
                Registers::X86(registers) => self.walk(&memory, &ranges, registers),
                Registers::Arm(registers) => self.walk(&memory, &ranges, registers),
                Registers::Arm32(registers) => self.walk(&memory, &ranges, registers),
            };
            stack.frames = frames;
            let begins =
                stack.frames.len() == 1 && self.image.rows().say_that_has_no_caller(state.pc);
            let base = if begins { Base::Complete } else { base };
            if base != Base::Incomplete && self.is_linked(&stack.frames, stopped, cpu) {
                stack.base = base;
            }
        }
        Ok(stack)
    }

    fn walk<R: Begin>(
        &self,
        memory: &Memory<'_>,
        ranges: &[Range],
        registers: R,
    ) -> (Vec<u64>, Base) {
        let code = self.image.ranges_of_code();
        let function_at = |pc| self.image.function_at(pc);
        let rows = self.image.rows();
        let unwinder = self.image.unwinder::<R>(rows, &code, &function_at);
        let stacks = Stacks::new(ranges, |address| memory.word_of::<R>(address));
        let mut frames = frames(&unwinder, registers, stacks);
        let mut last = None;
        let found = frames.by_ref().map(|frame| {
            last = Some(frame);
            frame.lookup_pc()
        });
        let found = found.collect();
        let reason = frames.doubt().map(|doubt| doubt.reason);
        let base = match (frames.end(), reason) {
            (Some(End::Complete), _) => Base::Complete,
            (Some(End::Outermost), Some(End::BaseUnknown(_))) => Base::Undeclared,
            (Some(End::Outermost), _) if last.is_some_and(|last| self.has_base(&last)) => {
                Base::InDoubt
            }
            (Some(End::Outermost), _) => Base::UndeclaredInDoubt,
            _ => Base::Incomplete,
        };
        (found, base)
    }

    /// Whether it is known where the stack begins of this frame of the outermost function.
    fn has_base<R: RegisterSet>(&self, frame: &Frame<R>) -> bool {
        let sp = frame.registers.map(|registers| registers.sp());
        let is_loaded = || self.image.rows().stack_pointer(frame.lookup_pc()) == sp;
        !self.image.stacks.is_empty() || sp.is_some() && is_loaded()
    }
}
