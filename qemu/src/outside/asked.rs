//! A machine that stands still, asked bit by bit, as somebody who looks for a fault goes on from one answer to the next question.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use super::image::Image;
use super::memory::Memory;
use super::moved;
use super::tasks::{write_task, write_tasks};
use super::tell::write_cpu;
use super::told::Told;
use crate::decode::{Answer, Static, Style, Symbolizer, statics};
use crate::hardware::Processor;
use crate::machine::Source;

/// What is known of the image that runs on a machine.
#[derive(Debug)]
pub struct Asked {
    image: Image,
    symbolizer: Symbolizer,
    path: PathBuf,
    /// Read at the first use: it takes long.
    statics: OnceCell<Result<Vec<Static>>>,
}

impl Asked {
    /// Reads the ELF image at `path`, which runs on this machine, perhaps elsewhere than it was linked for.
    ///
    /// # Errors
    /// When the image cannot be read, or the machine does not answer.
    pub fn open(path: &Path, source: &mut dyn Source) -> Result<Self> {
        let image = Image::read(path)?;
        let count = source.cpus()?.len();
        let states: Vec<_> = (0..count).map(|cpu| source.state(cpu)).collect();
        let by = moved::moved_by(&image, source, &states);
        Ok(Self {
            image: image.moved(by).compared(source, &states),
            symbolizer: Symbolizer::open(path)?,
            path: path.to_owned(),
            statics: OnceCell::new(),
        })
    }

    /// How far the image lies above the addresses that it was linked for, in bytes, modulo 2^64.
    #[must_use]
    pub const fn moved_by(&self) -> u64 {
        self.image.moved_by
    }

    /// The image's architecture.
    #[must_use]
    pub const fn arch(&self) -> Processor {
        self.image.arch
    }

    /// Where a CPU is, and who has called it to do that: its part of a report.
    ///
    /// # Errors
    /// When unknown CPU, or its registers are not known.
    pub fn cpu(&self, source: &mut dyn Source, cpu: usize) -> Result<String> {
        let halted = source.cpus()?;
        let is_halted = *halted.get(cpu).context("unknown CPU")?;
        let state = source.state(cpu)?;
        let mut told = self.told();
        write_cpu(&mut told, &self.image, source, cpu, &state, is_halted)?;
        Ok(told.into_text())
    }

    /// All tasks that do not run.
    ///
    /// # Errors
    /// When names cannot be found for a reason of this host's.
    pub fn tasks(&self, source: &mut dyn Source) -> Result<String> {
        let mut told = self.told();
        write_tasks(&mut told, &self.image, source)?;
        Ok(told.into_text())
    }

    /// The task with this number; nothing if it runs, or there is none.
    ///
    /// # Errors
    /// When names cannot be found for a reason of this host's.
    pub fn task(&self, source: &mut dyn Source, number: u64) -> Result<String> {
        let mut told = self.told();
        write_task(&mut told, &self.image, source, number)?;
        Ok(told.into_text())
    }

    /// Where the function with this name begins, if only one has it.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<u64> {
        if self.image.is_another() {
            return None;
        }
        let function = self.symbolizer.find(name, 0)?;
        Some(function.start.wrapping_add(self.image.moved_by))
    }

    /// Where the static with this name begins, if only one has it.
    ///
    /// # Errors
    /// When the debug information cannot be read.
    pub fn named_static(&self, name: &str) -> Result<Option<u64>> {
        if self.image.is_another() {
            return Ok(None);
        }
        let statics = self.statics().as_ref();
        let statics = statics.map_err(|error| anyhow!("{error:#}"))?;
        let mut named = statics.iter().filter(|one| one.name == name);
        let found = named.next().filter(|_| named.next().is_none());
        Ok(found.map(|one| one.address.wrapping_add(self.image.moved_by)))
    }

    /// The static at an address, with its type, and what lies there in it: both as text, empty if that is not known.
    #[must_use]
    pub fn static_at(&self, address: u64) -> (String, String) {
        if self.image.is_another() {
            return Default::default();
        }
        let linked = self.linked(address);
        let statics = self.statics().as_ref().map_or(&[][..], Vec::as_slice);
        let before = statics.partition_point(|one| one.address <= linked);
        let found = statics[..before].last().filter(|one| one.holds(linked));
        found.map_or_else(Default::default, |one| (one.title(), one.part(linked)))
    }

    fn statics(&self) -> &Result<Vec<Static>> {
        self.statics.get_or_init(|| statics(&self.path))
    }

    /// What lies at an address: a function, with file, line and what is inlined there, each on a line of its own; or a stack. Empty if
    /// that is not known.
    #[must_use]
    pub fn lies_at(&self, address: u64) -> String {
        match self.image.stack(address) {
            Some(stack) => format!(" stack {}", stack.name),
            None => Style::short().answer(&self.answer(address), self.linked(address), ""),
        }
    }

    /// The line of the source that the instruction at an address was made from, with the innermost function there. Empty if that is not
    /// known.
    #[must_use]
    pub fn line(&self, address: u64) -> String {
        let mut answer = self.answer(address);
        answer.sources.truncate(1);
        answer.function = None;
        Style::short().answer(&answer, 0, "")
    }

    /// Nothing where the image has no code: debug information says something of functions, too, that the linker has left out, as
    /// if they were at address 0.
    fn answer(&self, address: u64) -> Answer {
        match self.image.is_code(address) && !self.image.is_another() {
            true => self.symbolizer.answer(self.linked(address)),
            false => Answer::default(),
        }
    }

    const fn linked(&self, address: u64) -> u64 {
        address.wrapping_sub(self.image.moved_by)
    }

    /// Bytes of a word of the image's architecture.
    #[must_use]
    pub const fn word_size(&self) -> u64 {
        match self.image.arch {
            Processor::X86_64 | Processor::Aarch64 => 8,
            Processor::Armv7a => 4,
        }
    }

    /// The word of memory at an address, a multiple of its bytes, as a CPU sees it. None if nothing is mapped there.
    pub fn word(&self, source: &mut dyn Source, cpu: usize, address: u64) -> Option<u64> {
        Memory::new(source, cpu).word_with(address, self.word_size())
    }

    const fn told(&self) -> Told<'_> {
        Told::new(&self.image, &self.symbolizer)
    }
}

#[cfg(test)]
mod tests {
    use super::super::small_program::small_program;
    use super::*;
    use crate::dump::{Place, Raw};

    /// A machine at whose addresses of a program there are zeros: another build id, and other code.
    fn another() -> (Asked, Symbolizer) {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = small_program(folder.path());
        let image = Image::read(&path).expect("it can be read");
        let [registers, zeros] = ["registers", "zeros"].map(|name| folder.path().join(name));
        std::fs::write(&registers, "rip 0x1\nrsp 0x2\nrbp 0x3\n").expect("a file");
        let end = image.code.iter().map(|(bytes, at)| at + bytes.len() as u64);
        let size = end.max().expect("it has code").next_multiple_of(0x1000);
        std::fs::write(&zeros, vec![0; size as usize]).expect("a file");
        let place = Place::parse(&format!("0x0={}", zeros.display())).expect("a place");
        let mut raw = Raw::read(&registers, &[place], image.arch).expect("it is whole");
        let symbolizer = Symbolizer::open(&path).expect("it can be read");
        let asked = Asked::open(&path, &mut raw).expect("it can be read");
        (asked, symbolizer)
    }

    #[test]
    fn names_of_an_image_that_is_not_in_memory_are_not_used() {
        let (asked, symbolizer) = another();
        assert!(asked.image.is_another());
        let main = symbolizer.find("main", 0).expect("a function");
        assert_eq!(asked.function("main"), None);
        assert_eq!(asked.lies_at(main.start), "");
        let one = Static::word("kernel::ONE", 0x1000);
        let set = asked.statics.set(Ok(vec![one]));
        set.expect("nobody has read them");
        let named = asked.named_static("kernel::ONE").expect("they are read");
        assert_eq!(named, None);
        assert_eq!(asked.static_at(0x1000), Default::default());
    }
}
