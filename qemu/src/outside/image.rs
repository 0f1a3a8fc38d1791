//! What an image has for a walk: rows, code, and perhaps the list of its stacks.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use linker::symbols::Symbols;
use object::{File, Object, ObjectSection, ObjectSymbol, SectionKind};
use unwind::sframe::Damage;
use unwind::{Code, CodeReader, FunctionAt, Range, RegisterSet, SavedRegister, Unwinder};

use super::compared::{InMemory, bytes, declared_code, in_memory, is_build, loaded_build_id};
use super::data::Data;
use super::memory::Memory;
use super::tables::{Rows, Tables};
use crate::decode::MOVED;
use crate::hardware::Processor;
use crate::image::PROBE;
use crate::machine::Source;
use crate::stacks::{self, Declared, Tasks};
use crate::stub::{Level, SAVED_ARM, SAVED_ARM32, SAVED_X86, State};

/// An image.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) arch: Processor,
    tables: Tables,
    /// The bytes of each section of code, and their address.
    pub(super) code: Vec<(Vec<u8>, u64)>,
    /// Range of code that the kernel's own reports compare, if the linker script declares it.
    declared: Option<Range>,
    /// Its data, as it was linked.
    data: Data,
    /// Its functions, as it was linked: where there are no rows, their code is read.
    functions: Symbols,
    /// All stacks, if they are declared.
    pub(super) stacks: Vec<Declared>,
    /// Why declarations of stacks or tasks that are there cannot be read.
    unreadable: Option<String>,
    /// Where its tasks are noted, if that is known.
    pub(super) tasks: Option<Tasks>,
    /// Its trap code is that of `kernel/postmortem`, which saves registers in a known order.
    is_postmortem: bool,
    /// The stack on which `kernel/postmortem` writes reports, as it was linked.
    of_reports: Option<Range>,
    /// How far it lies above the addresses that it was linked for, modulo 2^64.
    pub(super) moved_by: u64,
    /// The bytes of its build id, and their address, if they are loaded.
    build: Option<(Vec<u8>, u64)>,
    /// Whether it is what is in memory.
    in_memory: InMemory,
}

impl Image {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let data = std::fs::read(path).with_context(|| format!("cannot read image {shown}"))?;
        let file =
            File::parse(&*data).with_context(|| format!("image {shown} is not an ELF file"))?;
        let arch = crate::image::processor(path)?;
        let code = file
            .sections()
            .filter(|one| one.kind() == SectionKind::Text);
        let code = code.map(|one| Ok((one.data()?.to_vec(), one.address())));
        let code = code.collect::<object::Result<Vec<_>>>();
        let (stacks, tasks) = (stacks::declared(&file), stacks::tasks(&file));
        let errors = [stacks.as_ref().err(), tasks.as_ref().err()];
        let unreadable = errors.into_iter().flatten().next();
        Ok(Self {
            arch,
            tables: Tables::read(&data, arch).with_context(|| format!("image {shown}"))?,
            code: code.with_context(|| format!("image {shown}"))?,
            declared: declared_code(&file),
            unreadable: unreadable.map(ToString::to_string),
            data: Data::of(&file, &data),
            functions: Symbols::of(&file),
            stacks: stacks.unwrap_or_default(),
            tasks: tasks.unwrap_or_default(),
            is_postmortem: file.symbols().any(|one| one.name() == Ok(PROBE)),
            of_reports: stacks::of_reports(&file),
            moved_by: 0,
            build: loaded_build_id(&file),
            in_memory: InMemory::Unknown,
        })
    }

    /// The same, so many bytes above the addresses that it was linked for.
    pub(super) fn moved(&self, by: u64) -> Self {
        let move_it = |address: &mut u64| *address = address.wrapping_add(by);
        let mut image = self.clone();
        move_it(&mut image.moved_by);
        image.tables.move_by(by);
        image.code.iter_mut().for_each(|(_, at)| move_it(at));
        image.build.iter_mut().for_each(|(_, at)| move_it(at));
        if let Some(Range { start, end }) = &mut image.declared {
            move_it(start);
            move_it(end);
        }
        for stack in &mut image.stacks {
            let Range { start, end } = stack.range;
            stack.range = Range::new(start.wrapping_add(by), end.wrapping_add(by));
            move_it(&mut stack.bottom);
        }
        if let Some(tasks) = &mut image.tasks {
            move_it(&mut tasks.first);
            move_it(&mut tasks.resume);
        }
        image
    }

    /// The same, compared with the memory of a machine: where another image is, nothing that this one declares is there.
    pub(super) fn compared(self, source: &mut dyn Source, states: &[Result<State>]) -> Self {
        let mut kernel = states.iter();
        let is_in_it = |state: &Result<State>| {
            let state = state.as_ref().ok();
            state.is_some_and(|state| state.level == Level::Kernel && self.is_code(state.pc))
        };
        // Its page tables have the image.
        let cpu = kernel.position(is_in_it).unwrap_or(0);
        self.compared_on(source, cpu)
    }

    /// The same, with memory as this CPU sees it.
    pub(super) fn compared_on(mut self, source: &mut dyn Source, cpu: usize) -> Self {
        let verify = |code: &[u8], at| {
            let verified = self.tables.verify_code(code, at)?;
            Some(verified.map(|verified| verified.code))
        };
        let parts = (&*self.code, self.build.as_ref());
        self.in_memory = in_memory(parts, self.declared, verify, source, cpu);
        if self.is_another() {
            self.stacks.clear();
            self.tasks = None;
        }
        self
    }

    /// Whether another image is in memory, by the build id. `None`: it is not known.
    pub(super) fn is_build_in_memory(&self, source: &mut dyn Source, cpu: usize) -> Option<bool> {
        is_build(self.build.as_ref(), source, cpu)
    }

    /// The number of the section of code with this address.
    pub(super) fn section_at(&self, pc: u64) -> Option<usize> {
        let mut sections = self.code.iter();
        sections.position(|(code, start)| pc.wrapping_sub(*start) < code.len() as u64)
    }

    /// Compares a section of code with memory, by the checksums. `None`: it cannot be read.
    pub(super) fn section_in_memory(
        &self,
        section: usize,
        source: &mut dyn Source,
        cpu: usize,
    ) -> Option<Result<(), Damage>> {
        let (code, start) = self.code.get(section)?;
        let found = bytes(source, cpu, *start, code.len())?;
        let verified = self.tables.verify_code(&found, *start)?;
        Some(verified.map(drop))
    }

    /// Whether its tables contain checksums of its code.
    pub(super) fn has_code_checksums(&self) -> bool {
        let mut code = self.code.iter();
        code.any(|(code, at)| match self.tables.verify_code(code, *at) {
            Some(Ok(verified)) => verified.code,
            Some(Err(damage)) => matches!(damage, Damage::Code { .. }),
            None => false,
        })
    }

    /// Whether another image is in memory, so that no name of this one fits.
    pub(super) fn is_another(&self) -> bool {
        self.in_memory == InMemory::Another
    }

    /// Whether all of its code is what was linked.
    pub(super) fn is_verified(&self) -> bool {
        self.in_memory == InMemory::Same
    }

    /// Whether all of its code that could be read is what was linked, and some could be.
    pub(super) fn fits(&self) -> bool {
        self.is_verified() || matches!(self.in_memory, InMemory::Partly { .. })
    }

    /// Whether its build id, or all of its code, is what is in memory.
    pub(super) fn is_there(&self) -> bool {
        match self.in_memory {
            InMemory::Named | InMemory::Same => true,
            InMemory::Partly { is_named, .. } => is_named,
            _ => false,
        }
    }

    /// The rows, with what is in doubt about all of them.
    pub(super) fn rows(&self) -> Rows<'_> {
        let rows = self.tables.rows();
        match self.in_memory {
            InMemory::Unknown
            | InMemory::NotCompared
            | InMemory::Named
            | InMemory::Same
            | InMemory::Partly { .. } => rows,
            InMemory::Changed(start) => rows.of_changed(start),
            InMemory::Another => rows.of_another(),
        }
    }

    /// Where the data ends that this stack pointer is in: for a stack, its end. `None`: it is not in the image's data.
    pub(super) fn end_of_data(&self, sp: u64) -> Option<u64> {
        let end = self.data.end(sp.wrapping_sub(self.moved_by))?;
        Some(end.wrapping_add(self.moved_by))
    }

    /// The function with code there, from its first instruction on. No piece of one that is only jumped to.
    pub(super) fn function_at(&self, pc: u64) -> Option<Range> {
        let function = self.functions.at(pc.wrapping_sub(self.moved_by))?;
        let start = function.start.wrapping_add(self.moved_by);
        (!function.is_outlined()).then(|| Range::new(start, start.wrapping_add(function.size)))
    }

    /// Its code, as walks take it.
    pub(super) fn ranges_of_code(&self) -> Vec<Code<'_>> {
        let code = self.code.iter();
        code.map(|(bytes, address)| Code::new(bytes, *address))
            .collect()
    }

    /// What a walk goes by: these rows of the image's, and where there are none, the code of `function_at`.
    pub(super) fn unwinder<'a, R: RegisterSet>(
        &self,
        rows: Rows<'a>,
        code: &'a [Code<'a>],
        function_at: FunctionAt<'a>,
    ) -> Unwinder<'a, CodeReader<'a, R, Rows<'a>>> {
        Unwinder::new(CodeReader::new(rows, function_at))
            .code(code)
            .trap_registers(self.saved())
    }

    /// Whether it has code there.
    pub(super) fn is_code(&self, address: u64) -> bool {
        let mut code = self.ranges_of_code().into_iter();
        code.any(|code| (code.range().start..code.range().end).contains(&address))
    }

    /// The instruction of four bytes at this address.
    pub(super) fn instruction(&self, address: u64) -> Option<u32> {
        self.code.iter().find_map(|(bytes, start)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            let word = bytes.get(at..)?.first_chunk()?;
            Some(u32::from_le_bytes(*word))
        })
    }

    /// Whether memory has the image's code around this address. None if it cannot be read, or the image has none there.
    pub(super) fn is_in_memory(&self, memory: &Memory<'_>, pc: u64) -> Option<bool> {
        let mut code = self.code.iter();
        let is_there =
            |(bytes, address): &&(Vec<u8>, u64)| pc.wrapping_sub(*address) < bytes.len() as u64;
        let (bytes, address) = code.find(is_there)?;
        let at = pc.wrapping_sub(*address);
        let end = at.saturating_add(COMPARED).min(bytes.len() as u64);
        let offsets = at.saturating_sub(COMPARED)..end;
        let same = offsets.map(|offset| {
            let place = address.wrapping_add(offset);
            let word = memory.code(place & !7)?;
            Some(word.to_le_bytes()[(place % 8) as usize] == bytes[offset as usize])
        });
        let same: Option<Vec<bool>> = same.collect();
        Some(same?.into_iter().all(|same| same))
    }

    /// Where its trap code keeps registers that rows do not name.
    const fn saved(&self) -> &'static [SavedRegister] {
        match (self.is_postmortem, self.arch) {
            (false, _) => &[],
            (true, Processor::X86_64) => &SAVED_X86,
            (true, Processor::Aarch64) => &SAVED_ARM,
            (true, Processor::Armv7a) => &SAVED_ARM32,
        }
    }

    /// What a walk of this CPU may read, whose stack pointer is `sp`: its stacks, all tasks' stacks, and the stack of reports. If the image
    /// declares no stack, what is above the stack pointer, as far as memory is mapped.
    pub(super) fn ranges(&self, cpu: usize, sp: u64) -> Vec<Range> {
        let moved = |at: u64| at.wrapping_add(self.moved_by);
        let of_reports = self.of_reports;
        let of_reports = of_reports.map(|one| Range::new(moved(one.start), moved(one.end)));
        if self.stacks.is_empty() {
            let left = of_reports.filter(|stack| stack.holds_stack_pointer(sp));
            let above = || vec![Range::new(sp, u64::MAX)];
            return left.map_or_else(above, stacks::with_all_memory);
        }
        // A kernel may count its CPUs in another order than QEMU: the stack that a CPU is on has the kernel's number.
        let own = self.stack(sp).and_then(|stack| stack.cpu);
        let own = own.unwrap_or(cpu as u64);
        let its = |stack: &&Declared| stack.cpu.is_none_or(|owner| owner == own);
        let its = self.stacks.iter().filter(its);
        its.map(|stack| stack.range).chain(of_reports).collect()
    }

    /// What a walk of a task may read that does not run: all tasks' stacks, of which a CPU's own is that of its boot.
    pub(super) fn ranges_of_tasks(&self) -> Vec<Range> {
        let theirs = |stack: &&Declared| stack.cpu.is_none() || stack.name == "boot";
        let theirs = self.stacks.iter().filter(theirs);
        theirs.map(|stack| stack.range).collect()
    }

    /// The stack that this stack pointer is in. At the border of two it is the end of the lower one.
    pub(super) fn stack(&self, sp: u64) -> Option<&Declared> {
        let mut stacks = self.stacks.iter();
        stacks.find(|stack| stack.range.start < sp && sp <= stack.range.end)
    }
}

/// Bytes of code that are compared on each side of a frame's program counter.
const COMPARED: u64 = 16;

/// What is known of the rows and of the stacks, as text.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tables)?;
        match self.in_memory {
            // In the words of a kernel, which says so only of tables that are right.
            InMemory::NotCompared | InMemory::Named if self.tables.are_verified() => {
                f.write_str(", code not compared")?
            }
            // In the words of a kernel.
            InMemory::Partly {
                unread,
                is_told: true,
                ..
            } => {
                f.write_str(", ")?;
                write!(f, "code at {unread:#x} not compared")?;
            }
            InMemory::Unknown
            | InMemory::NotCompared
            | InMemory::Named
            | InMemory::Same
            | InMemory::Partly { .. } => {}
            InMemory::Changed(start) => write!(f, ", {}", Damage::Code { start })?,
            InMemory::Another => {
                f.write_str(", ")?;
                return f.write_str("the machine's memory does not contain the image");
            }
        }
        if let Some(why) = &self.unreadable {
            write!(f, ", {why}")?;
        }
        if self.moved_by != 0 {
            write!(f, "{MOVED}{:#x}", self.moved_by)?;
        }
        match self.stacks.is_empty() {
            true => f.write_str(", no stacks declared"),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::small_program::small_program;
    use super::*;

    fn stack(name: &str, start: u64, cpu: Option<u64>) -> Declared {
        Declared {
            name: name.to_owned(),
            range: Range::new(start, start + 0x100),
            bottom: start,
            cpu,
            from_last: None,
        }
    }

    /// QEMU's first CPU may be the kernel's second.
    #[test]
    fn the_stack_that_a_cpu_is_on_has_its_number() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let image = Image {
            stacks: vec![
                stack("boot", 0x1000, Some(0)),
                stack("boot", 0x2000, Some(1)),
                stack("nmi", 0x3000, Some(1)),
                stack("task 0", 0x4000, None),
            ],
            ..Image::read(&small_program(folder.path())).expect("it can be read")
        };
        let starts = |cpu, sp| -> Vec<u64> {
            let ranges = image.ranges(cpu, sp);
            ranges.iter().map(|range| range.start).collect()
        };
        assert_eq!(starts(0, 0x2080), [0x2000, 0x3000, 0x4000]);
        assert_eq!(starts(1, 0x1080), [0x1000, 0x4000]);
        // A task's stack has no number.
        assert_eq!(starts(1, 0x4080), [0x2000, 0x3000, 0x4000]);
    }
}
