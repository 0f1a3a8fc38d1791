//! What trap code saves. Manual: volume 3, chapter 7 "Interrupt and Exception Handling".

use core::fmt;
use core::mem::{offset_of, transmute};

use unwind::SavedRegister;
use x86_64::registers::rflags::RFlags;

use super::registers::Registers;
use crate::stack::{self, Place};

/// What vectors.s leaves on the stack.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TrapFrame {
    /// The address of the last page fault.
    pub cr2: u64,
    padding: u64,
    pub r15: u64,
    pub r14: u64,
    pub r13: u64,
    pub r12: u64,
    pub r11: u64,
    pub r10: u64,
    pub r9: u64,
    pub r8: u64,
    pub rbp: u64,
    pub rdi: u64,
    pub rsi: u64,
    pub rdx: u64,
    pub rcx: u64,
    pub rbx: u64,
    pub rax: u64,
    /// Which exception.
    pub vector: u64,
    /// Zero for those without.
    pub error_code: u64,
    pub rip: u64,
    pub cs: u64,
    pub rflags: u64,
    pub rsp: u64,
    pub ss: u64,
}

/// Words of a [`TrapFrame`].
const WORDS: usize = size_of::<TrapFrame>() / 8;

impl TrapFrame {
    /// Those that rows ask for in realigned frames and thunks; and the stack pointer, from whose place walks that start in trap
    /// code know the others'. By their DWARF numbers.
    pub const SAVED: [SavedRegister; 3] = [
        SavedRegister::new(10, offset_of!(Self, r10) as u32),
        SavedRegister::new(11, offset_of!(Self, r11) as u32),
        SavedRegister::new(7, offset_of!(Self, rsp) as u32),
    ];

    /// The frame at this address of a stack.
    pub fn read(address: u64) -> Option<Self> {
        let words = stack::read_words::<WORDS>(address)?;
        // SAFETY: as many words, and nothing but words.
        Some(unsafe { transmute::<[u64; WORDS], Self>(words) })
    }

    /// The registers of what was interrupted.
    pub fn registers(&self) -> Registers {
        let mut registers = Registers::new(self.rip, self.rsp, self.rbp);
        registers.r10 = Some(self.r10);
        registers.r11 = Some(self.r11);
        registers
    }

    /// The interrupted program counter, an address.
    pub fn pc(&self) -> u64 {
        self.rip
    }

    /// Has what was interrupted go on so many bytes further.
    pub fn skip(&mut self, bytes: u64) {
        self.rip += bytes;
    }

    /// The interrupted stack pointer, an address.
    pub fn sp(&self) -> u64 {
        self.rsp
    }

    /// Writes all of it, for a report.
    pub fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let lines = [
            [
                ("rax", self.rax),
                ("rbx", self.rbx),
                ("rcx", self.rcx),
                ("rdx", self.rdx),
            ],
            [
                ("rsi", self.rsi),
                ("rdi", self.rdi),
                ("rbp", self.rbp),
                ("rsp", self.rsp),
            ],
            [
                ("r8 ", self.r8),
                ("r9 ", self.r9),
                ("r10", self.r10),
                ("r11", self.r11),
            ],
            [
                ("r12", self.r12),
                ("r13", self.r13),
                ("r14", self.r14),
                ("r15", self.r15),
            ],
        ];
        for line in lines {
            for (name, value) in line {
                write!(f, "  {name} {value:#018x}")?;
            }
            f.write_str("\n")?;
        }
        writeln!(
            f,
            "  rip {:#018x}  cr2 {:#018x}  cs {:#06x}  ss {:#06x}",
            self.rip, self.cr2, self.cs, self.ss
        )?;
        write!(f, "  rflags {:#010x}", self.rflags)?;
        for (name, _) in RFlags::from_bits_truncate(self.rflags).iter_names() {
            write!(f, " {name}")?;
        }
        writeln!(f, ", {}", Place(self.rsp))
    }
}
