//! What an image has for a walk: rows, code, and perhaps the list of its stacks.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use linker::cfi::Frames;
use linker::sframe::{Table, Version};
use linker::symbols::Symbols;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionKind};
use unwind::sframe::{Damage, Tables, Verified};
use unwind::{
    Code, CodeReader, End, Found, FunctionAt, LookupError, Machine, Range, RegisterSet, RowSource,
    SavedRegister, Unwinder,
};

use super::memory::Memory;
use crate::decode::MOVED;
use crate::hardware::Arch;
use crate::image::PROBE;
use crate::stacks::{self, Declared, Tasks};
use crate::stub::{SAVED_ARM, SAVED_X86};

/// An image.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) arch: Arch,
    /// The bytes of a table, and their address.
    table: (Vec<u8>, u64),
    origin: Origin,
    /// The bytes of each section of code, and their address.
    pub(super) code: Vec<(Vec<u8>, u64)>,
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
    /// How far it lies above the addresses that it was linked for, modulo 2^64.
    pub(super) moved_by: u64,
}

/// Where rows come from.
#[derive(Clone, Debug)]
enum Origin {
    /// The image's `.sframe`.
    Own(Result<Verified, Damage>),
    /// Made here from these sections.
    Made(String),
    /// From nowhere: nothing can be made, for this reason.
    Nowhere(String),
}

impl Image {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let data = std::fs::read(path).with_context(|| format!("cannot read image {shown}"))?;
        let file = ElfFile64::<Endianness>::parse(&*data)
            .with_context(|| format!("image {shown} is no 64-bit ELF file"))?;
        let arch = crate::image::architecture(path)?;
        let code = file
            .sections()
            .filter(|one| one.kind() == SectionKind::Text);
        let code = code.map(|one| Ok((one.data()?.to_vec(), one.address())));
        let code = code.collect::<object::Result<Vec<_>>>();
        let own = file.section_by_name(".sframe");
        let own = own.and_then(|section| Some((section.data().ok()?.to_vec(), section.address())));
        let (table, origin) = match own.filter(|(bytes, _)| !bytes.is_empty()) {
            Some(own) => {
                let verified = Tables::new(&own.0, own.1).verify();
                (own, Origin::Own(verified))
            }
            None => match made(&data) {
                Ok((table, from)) => (table, Origin::Made(from)),
                Err(error) => ((Vec::new(), 0), Origin::Nowhere(format!("{error:#}"))),
            },
        };
        let (stacks, tasks) = (stacks::declared(&file), stacks::tasks(&file));
        let errors = [stacks.as_ref().err(), tasks.as_ref().err()];
        let unreadable = errors.into_iter().flatten().next();
        Ok(Self {
            arch,
            table,
            origin,
            code: code.with_context(|| format!("image {shown}"))?,
            unreadable: unreadable.map(ToString::to_string),
            functions: Symbols::of(&object::File::parse(&*data)?),
            stacks: stacks.unwrap_or_default(),
            tasks: tasks.unwrap_or_default(),
            is_postmortem: file.symbols().any(|one| one.name() == Ok(PROBE)),
            moved_by: 0,
        })
    }

    /// The same, so many bytes above the addresses that it was linked for.
    pub(super) fn moved(&self, by: u64) -> Self {
        let move_it = |address: &mut u64| *address = address.wrapping_add(by);
        let mut image = self.clone();
        move_it(&mut image.moved_by);
        move_it(&mut image.table.1);
        image.code.iter_mut().for_each(|(_, at)| move_it(at));
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

    /// The same for a walk through functions whose code was changed after the rows were made.
    pub(super) fn rows_of_another(&self) -> Rows<'_> {
        let Rows(tables, doubt) = self.rows();
        Rows(tables, doubt.or(Some(End::Unusable(CHANGED))))
    }

    /// The rows, with what is in doubt about all of them.
    pub(super) fn rows(&self) -> Rows<'_> {
        let tables = Tables::new(&self.table.0, self.table.1);
        match self.origin {
            // Whoever has written them does not say that they are whole.
            Origin::Own(Ok(Verified { checksum: false })) => {
                Rows(tables, Some(End::Unusable(NOT_COMPARED)))
            }
            Origin::Own(verified) => Rows(tables.verified(verified), None),
            Origin::Made(_) => Rows(tables, Some(End::Unusable(NOT_COMPARED))),
            Origin::Nowhere(_) => Rows(tables, None),
        }
    }

    /// Whether the function with this instruction has no caller, by rows that are in no doubt: wherever its stack pointer is, as
    /// boot code has to choose a stack first.
    pub(super) fn has_no_caller(&self, pc: u64) -> bool {
        let rows = self.rows();
        let row = rows.0.lookup(pc).ok();
        rows.doubt().is_none() && row.is_some_and(|(_, row)| row.is_outermost())
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
            (true, Arch::X86_64) => &SAVED_X86,
            (true, Arch::Aarch64) => &SAVED_ARM,
        }
    }

    /// What a walk of this CPU may read, whose stack pointer is `sp`: its stacks, and all tasks'. If nobody has declared any, what
    /// lies above the stack pointer, as far as memory is mapped.
    pub(super) fn ranges(&self, cpu: usize, sp: u64) -> Vec<Range> {
        if self.stacks.is_empty() {
            return vec![Range::new(sp, u64::MAX)];
        }
        let its = |stack: &&Declared| stack.cpu.is_none_or(|owner| owner == cpu as u64);
        let its = self.stacks.iter().filter(its);
        its.map(|stack| stack.range).collect()
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

/// Why a walk by rows that were made here, or that no link of ours has made, is never complete: compilers write wrong ones now and
/// then, and who writes assembly does so more often.
const NOT_COMPARED: &str = "nobody has compared the rows with the code";

/// Why a walk is never complete if another build runs than the image's, or code that has changed itself: rows were compared with the
/// image's code.
const CHANGED: &str = "the code in memory is not the image's";

/// Bytes of code that are compared on each side of a frame's program counter.
const COMPARED: u64 = 16;

/// Rows, and a doubt about all of them that they do not know of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a>(Tables<'a>, Option<End>);

impl RowSource for Rows<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        self.0.describes(machine)
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        RowSource::look_up(&self.0, pc, found)
    }

    fn covers(&self, pc: u64) -> bool {
        RowSource::covers(&self.0, pc)
    }

    fn doubt(&self) -> Option<End> {
        self.1.or_else(|| self.0.doubt())
    }
}

/// What is known of the rows and of the stacks, as text.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Own(Ok(Verified { checksum: true })) => f.write_str("tables verified")?,
            Origin::Own(Ok(Verified { checksum: false })) => {
                f.write_str("tables without checksum")?;
            }
            Origin::Own(Err(damage)) => write!(f, "tables damaged: {damage}")?,
            Origin::Made(from) => write!(f, "tables made from {from}")?,
            Origin::Nowhere(why) => write!(f, "no tables: {why}")?,
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

/// A table made from what compilers have written, its address, and the sections that it was made from.
fn made(data: &[u8]) -> Result<((Vec<u8>, u64), String)> {
    let image = linker::image::Image::parse(data)?;
    let mut frames = Frames::of(&image)?;
    let is_there = |name: &&str| {
        let section = image.file.section_by_name(name);
        section.is_some_and(|section| section.size() > 0)
    };
    let from: Vec<_> = [".eh_frame", ".debug_frame"]
        .into_iter()
        .filter(is_there)
        .collect();
    if frames.functions.is_empty() {
        anyhow::bail!("no .sframe, .eh_frame or .debug_frame");
    }
    let table = Table::of_version(Version::V3, image.architecture, &mut frames);
    // Any address will do: starts of functions are relative to it, in 64 bits.
    let address = 0;
    Ok(((table.to_bytes(address), address), from.join(" and ")))
}
