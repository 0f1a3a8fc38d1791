//! Code that is not the kernel's, of which somebody has the image: a user program's, a boot loader's.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use unwind::report::Text;
use unwind::{Range, Stacks, Trace};

use super::begin::{Begin, frames};
use super::image::Image;
use super::memory::Memory;
use super::moved;
use super::told::Told;
use super::walk::SHOWN;
use crate::decode::Symbolizer;
use crate::machine::Source;
use crate::stub::Registers;

/// An image, with its names.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) image: Image,
    pub(super) symbolizer: Symbolizer,
    /// What its file is called.
    pub(super) name: String,
}

impl Known {
    /// Reads an image at `path`, which may be a copy of the one called `name`.
    pub(super) fn read(path: &Path, name: &Path) -> Result<Self> {
        let name = name.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            image: Image::read(path)?,
            symbolizer: Symbolizer::open(path)?,
            name: name.into_owned(),
        })
    }

    /// The image as it lies in memory, if the bytes around this program counter are of its code, and its code is there: programs are linked for
    /// the same addresses, and many have the same functions.
    pub(super) fn running(&self, source: &mut dyn Source, cpu: usize, pc: u64) -> Option<Image> {
        let by = moved::lies(&self.image, &Memory::new(source, cpu), pc)?;
        let image = self.image.moved(by).compared_on(source, cpu);
        (!image.is_another()).then_some(image)
    }

    /// Says who has called whom in its code, after the words for where that is. The images that are called `others` have the same code there.
    pub(super) fn tell(
        &self,
        image: &Image,
        memory: &Memory<'_>,
        registers: Registers,
        place: &str,
        others: &[&str],
    ) -> Result<String> {
        let mut told = Told::new(image, &self.symbolizer);
        let out = &mut told;
        let (pc, name) = (registers.pc(), &self.name);
        write!(out, "{place}, stopped at {pc:#018x}: {name}")?;
        for other in others {
            write!(out, " or {other}")?;
        }
        writeln!(out, ", {image}")?;
        match registers {
            Registers::X86(registers) => walk(out, image, memory, registers)?,
            Registers::Arm(registers) => walk(out, image, memory, registers)?,
            Registers::Arm32(registers) => walk(out, image, memory, registers)?,
        }
        Ok(told.into_text())
    }
}

/// Walks from `registers`, in user code or not, as they say.
fn walk<R: Begin>(
    out: &mut Told<'_>,
    image: &Image,
    memory: &Memory<'_>,
    registers: R,
) -> Result<()> {
    let code = image.ranges_of_code();
    let function_at = |pc| image.function_at(pc);
    let unwinder = image.unwinder::<R>(image.rows(), &code, &function_at);
    let unwinder = unwinder.user_code(&code);
    let ranges = [Range::new(registers.sp(), u64::MAX)];
    let stacks = Stacks::new(&ranges, |address| memory.word_of::<R>(address));
    let text = Text::new(None);
    let mut lines = String::new();
    Trace::new(frames(&unwinder, registers, stacks))
        .ends(SHOWN.0, SHOWN.1)
        .tell(&mut |event| text.write(&mut lines, event))?;
    Ok(out.add_walk(&lines)?)
}
