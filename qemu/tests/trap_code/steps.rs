//! gdb steps through trap code, and tells the registers and the words of the stacks; `unwind` walks here, from each
//! instruction, by the image's own table.

use std::path::Path;

use qemu::build::Kernel;
use qemu::machine::{Arch, Boot};
use qemu::stub::{SAVED_ARM, SAVED_X86};
use unwind::{End, Frames, How, Memory, Range, RegisterSet, Stacks, Unwinder};

use super::image::Image;
use crate::support::gdb::{self, Session};
use crate::support::words::{Words, hex};

/// Exceptions of x86-64 for which the processor pushes an error code.
const WITH_CODE: [&str; 8] = ["8", "10", "11", "12", "13", "14", "17", "21"];

/// Stacks of the kernel's.
pub struct Kept {
    /// The name of their array.
    pub name: &'static str,
    /// How many of them are looked at.
    pub count: u64,
    /// Bytes that are looked at, up to the end of each.
    pub bytes: u64,
}

/// What gdb is to step through.
pub struct Steps {
    pub scenario: &'static str,
    /// Passages through trap code.
    pub count: u32,
    /// How many exceptions deep a handler makes way for one that reads where nothing is; 0: none does.
    pub depth: u32,
    pub stacks: Vec<Kept>,
    /// Some of what is interrupted has callers that no walk can find.
    pub in_doubt: bool,
    /// gdb's last command.
    pub last: &'static str,
}

/// What a walk finds: addresses, and its end.
pub type Found = (Vec<u64>, End);

/// The machine before an instruction.
#[derive(Debug)]
pub struct Step {
    pub pc: u64,
    /// The function of trap code that it is in.
    pub function: Option<String>,
    pub found: Found,
    /// How the second frame was found.
    pub how: Option<How>,
    /// At the first instruction of a vector: the walk from what was interrupted, by the registers of the processor.
    pub interrupted: Option<Found>,
}

/// Boots, and steps.
pub fn run(kernel: Kernel, path: &Path, image: &Image, what: &Steps) -> (Vec<Step>, Session) {
    let mut ranges = Vec::new();
    let mut looked_at = Vec::new();
    for kept in &what.stacks {
        let stacks = image.array(kept.name);
        assert!(kept.count <= stacks.count && kept.bytes <= stacks.size);
        for nth in 0..kept.count {
            let start = stacks.first + nth * stacks.stride;
            let end = start + stacks.guard + stacks.size;
            ranges.push(Range::new(start, end));
            looked_at.push(format!("{:x},{end:x}", end - kept.bytes));
        }
    }
    let pairs = image
        .trap
        .iter()
        .map(|(_, start, end)| format!("{start:x},{end:x}"));
    let vectors = image
        .trap
        .iter()
        .filter(|(name, ..)| Image::is_vector(name));
    let vectors = vectors.map(|(_, start, _)| format!("{start:x}"));
    let commands = [
        format!("set $stacks = \"{}\"", looked_at.join(" ")),
        format!("set $trap = \"{}\"", pairs.collect::<Vec<_>>().join(" ")),
        format!(
            "set $vectors = \"{}\"",
            vectors.collect::<Vec<_>>().join(" ")
        ),
        format!("set $count = {}", what.count),
        format!("set $depth = {}", what.depth),
        format!("set $probe = {}", image.probe),
        format!("source {}", gdb::script("step.py").display()),
        what.last.to_owned(),
    ];
    let session = gdb::session(Boot::new(kernel.arch, path, what.scenario), commands);
    let mut machine = Machine {
        arch: kernel.arch,
        image,
        ranges,
        words: Words::default(),
    };
    let mut steps = Vec::new();
    for line in session.said.lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("words") => machine.words.remember(words),
            Some("at") => steps.push(machine.step(&words.map(hex).collect::<Vec<_>>())),
            _ => {}
        }
    }
    (steps, session)
}

/// What is known of the machine by now.
struct Machine<'a> {
    arch: Arch,
    image: &'a Image,
    /// The stacks.
    ranges: Vec<Range>,
    words: Words,
}

impl Machine<'_> {
    /// The step with these registers, in the order of the script.
    fn step(&self, registers: &[u64]) -> Step {
        let function = self.image.trap_at(registers[0]);
        let (found, how) = self.walk(registers);
        let begins =
            function.filter(|(name, start, _)| Image::is_vector(name) && *start == registers[0]);
        Step {
            pc: registers[0],
            function: function.map(|(name, ..)| name.clone()),
            found,
            how,
            interrupted: begins.map(|(name, ..)| self.walk_interrupted(name, registers)),
        }
    }

    /// The walk from what an exception with this vector has just interrupted.
    fn walk_interrupted(&self, vector: &str, registers: &[u64]) -> Found {
        let mut registers = registers.to_vec();
        let number = vector.strip_prefix("exception_").expect("a vector");
        match self.arch {
            Arch::X86_64 => {
                let code = if WITH_CODE.contains(&number) { 8 } else { 0 };
                let pushed = registers[1] + code;
                registers[0] = self.words.at(pushed);
                registers[1] = self.words.at(pushed + 24);
            }
            Arch::Aarch64 => {
                registers[0] = registers[5];
                if !["4", "5", "6", "7"].contains(&number) {
                    registers[1] = registers[6];
                }
            }
        }
        self.walk(&registers).0
    }

    fn walk(&self, registers: &[u64]) -> (Found, Option<How>) {
        let tables = self.image.tables();
        let code = [self.image.code()];
        let unwinder = Unwinder::new(tables).code(&code);
        let stacks = Stacks::new(&self.ranges, |address| self.words.get(address));
        match (self.arch, registers) {
            (Arch::X86_64, &[pc, sp, fp, r10, r11]) => {
                let mut registers = unwind::x86_64::Registers::new(pc, sp, fp);
                registers.r10 = Some(r10);
                registers.r11 = Some(r11);
                let unwinder = unwinder.trap_registers(&SAVED_X86);
                collect(unwinder.frames(registers, stacks))
            }
            (Arch::Aarch64, &[pc, sp, fp, lr, x9, elr, sp_el0]) => {
                let mut registers = unwind::aarch64::Registers::new(pc, sp, fp, lr);
                registers.x9 = Some(x9);
                registers.elr = Some(elr);
                registers.sp_el0 = Some(sp_el0);
                let unwinder = unwinder.trap_registers(&SAVED_ARM);
                collect(unwinder.frames(registers, stacks))
            }
            other => panic!("registers {other:x?}"),
        }
    }
}

fn collect<R: RegisterSet, M: Memory>(mut frames: Frames<'_, R, M>) -> (Found, Option<How>) {
    let found: Vec<_> = frames.by_ref().collect();
    let addresses = found.iter().map(|frame| frame.pc).collect();
    let end = frames.end().expect("an ended walk has a reason");
    ((addresses, end), found.get(1).map(|frame| frame.how))
}
