//! A walk as a kernel does it, with every read checked.

use qemu::machine::Arch;
use unwind::sframe::Tables;
use unwind::{
    Code, End, Frame, FrameKind, Memory, Range, RegisterSet, SavedRegister, Stacks, Unwinder,
    aarch64, x86_64,
};

use crate::damage::capture::Situation;

/// Where trap code keeps registers: `TrapFrame::SAVED` of the kernel.
const SAVED_X86_64: [SavedRegister; 6] = [
    SavedRegister::new(10, 7 * 8),
    SavedRegister::new(11, 6 * 8),
    SavedRegister::new(x86_64::RSP, 22 * 8),
    SavedRegister::new(x86_64::RIP, 19 * 8),
    SavedRegister::new(x86_64::CS, 20 * 8),
    SavedRegister::new(SavedRegister::END, 24 * 8),
];
const SAVED_AARCH64: [SavedRegister; 6] = [
    SavedRegister::new(9, 9 * 8),
    SavedRegister::new(30, 30 * 8),
    SavedRegister::new(aarch64::SP, 31 * 8),
    SavedRegister::new(aarch64::ELR, 32 * 8),
    SavedRegister::new(aarch64::SPSR, 33 * 8),
    SavedRegister::new(SavedRegister::END, 38 * 8),
];

/// A line of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub pc: u64,
    pub kind: FrameKind,
    pub tail_call: Option<u64>,
    pub trap_frame: Option<u64>,
}

impl Place {
    /// The address by which the frame is looked up.
    pub fn lookup_pc(&self) -> u64 {
        self.pc - u64::from(self.kind == FrameKind::ReturnAddress)
    }
}

/// What a walk has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    pub places: Vec<Place>,
    /// The frame addresses.
    pub cfas: Vec<Option<u64>>,
    pub end: End,
}

impl List {
    /// Whether the addresses are those of the `truth`.
    pub fn has_addresses_of(&self, truth: &Self) -> bool {
        let addresses = |list: &Self| list.places.iter().map(|place| place.pc).collect::<Vec<_>>();
        addresses(self) == addresses(truth)
    }
}

/// Where a walk begins, and what it may read.
pub struct View<'a> {
    /// pc, sp, the frame pointer; on AArch64 the link register.
    pub registers: [u64; 4],
    /// Parts of the situation's stacks.
    pub stacks: &'a [Range],
    /// Is told of each word that is read; what it returns false for cannot be read.
    pub reads: &'a dyn Fn(u64) -> bool,
}

/// Walks by these tables over these words of the situation's stacks.
pub fn walk(situation: &Situation, tables: Tables<'_>, words: &[Vec<u64>]) -> List {
    let view = View {
        registers: situation.registers,
        stacks: &situation.stacks,
        reads: &|_| true,
    };
    walk_from(situation, tables, words, &view)
}

/// The same with another view.
pub fn walk_from(
    situation: &Situation,
    tables: Tables<'_>,
    words: &[Vec<u64>],
    view: &View<'_>,
) -> List {
    let read = |address: u64| {
        assert!(address.is_multiple_of(8), "unaligned read at {address:#x}");
        let inside = view.stacks.iter().any(|range| range.holds(address, 8));
        assert!(inside, "stray read at {address:#x}");
        let stacks = &situation.stacks;
        let index = stacks.iter().position(|range| range.holds(address, 8));
        let index = index.expect("a view is a part of the stacks");
        let at = (address - stacks[index].start) / 8;
        (view.reads)(address).then(|| words[index][at as usize])
    };
    let code = [Code::new(&situation.code.bytes, situation.code.address)];
    let unwinder = Unwinder::new(tables).code(&code);
    let stacks = Stacks::new(view.stacks, read);
    let [pc, sp, fp, lr] = view.registers;
    match situation.arch {
        Arch::X86_64 => {
            let registers = x86_64::Registers::new(pc, sp, fp);
            let unwinder = unwinder.trap_registers(&SAVED_X86_64);
            collect(view.stacks, &unwinder, registers, stacks)
        }
        Arch::Aarch64 => {
            let registers = aarch64::Registers::new(pc, sp, fp, lr);
            let unwinder = unwinder.trap_registers(&SAVED_AARCH64);
            collect(view.stacks, &unwinder, registers, stacks)
        }
    }
}

fn collect<R: RegisterSet, M: Memory>(
    ranges: &[Range],
    unwinder: &Unwinder<'_>,
    registers: R,
    memory: M,
) -> List {
    let mut frames = unwinder.frames(registers, memory);
    // As many as the stacks have words, the first one, a leaf's caller, and a scan's.
    let words: u64 = ranges
        .iter()
        .map(|range| (range.end - range.start) / 8)
        .sum();
    let bound = words as usize + 4 + 32;
    let (mut places, mut cfas) = (Vec::with_capacity(32), Vec::with_capacity(32));
    let place = |frame: &Frame<R>| Place {
        pc: frame.pc,
        kind: frame.kind,
        tail_call: frame.tail_call,
        trap_frame: frame.trap_frame,
    };
    for frame in frames.by_ref() {
        places.push(place(&frame));
        cfas.push(frame.cfa);
        assert!(places.len() <= bound, "more frames than {bound}");
    }
    // User code, without a doubt, is a claim too: of all the kernel's frames. With a doubt it is none.
    let end = match frames.end().expect("an ended walk has a reason") {
        End::User(_) if frames.doubt().is_some() => End::Outermost,
        end => end,
    };
    List { places, cfas, end }
}
