//! The trap frame: the registers that trap code saves. Manual: volume 3, chapter 7 "Interrupt and Exception Handling".

use core::fmt::{self, Write};
use core::mem::offset_of;

use bitflags::bitflags;
use unwind::SavedRegister;
use unwind::x86_64::{CS, RIP, RSP};

use super::{Registers, Words};
use crate::names::Names;
use crate::stack::{ReadWord, read_words};

/// The registers of the interrupted code, as trap code stores them on the stack: `ss` to `rip` as the CPU pushes them, below them the error
/// code (zero if the CPU pushes none), the vector, and the general registers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrapFrame {
    /// The register of this name: the address of the last page fault.
    pub cr2: u64,
    /// Padding without meaning. It makes the frame 24 words long, which keeps the stack aligned to 16 bytes.
    pub padding: u64,
    /// The register of this name, like the next 14 fields.
    pub r15: u64,
    #[allow(missing_docs)]
    pub r14: u64,
    #[allow(missing_docs)]
    pub r13: u64,
    #[allow(missing_docs)]
    pub r12: u64,
    #[allow(missing_docs)]
    pub r11: u64,
    #[allow(missing_docs)]
    pub r10: u64,
    #[allow(missing_docs)]
    pub r9: u64,
    #[allow(missing_docs)]
    pub r8: u64,
    #[allow(missing_docs)]
    pub rbp: u64,
    #[allow(missing_docs)]
    pub rdi: u64,
    #[allow(missing_docs)]
    pub rsi: u64,
    #[allow(missing_docs)]
    pub rdx: u64,
    #[allow(missing_docs)]
    pub rcx: u64,
    #[allow(missing_docs)]
    pub rbx: u64,
    #[allow(missing_docs)]
    pub rax: u64,
    /// The number of the exception or interrupt.
    pub vector: u64,
    /// The error code that the CPU pushed; zero for exceptions without one.
    pub error_code: u64,
    /// The interrupted program counter, an address.
    pub rip: u64,
    /// The interrupted code segment.
    pub cs: u64,
    /// The interrupted flags.
    pub rflags: u64,
    /// The interrupted stack pointer, an address.
    pub rsp: u64,
    /// The interrupted stack segment.
    pub ss: u64,
}

/// Words of a [`TrapFrame`].
const WORDS: usize = size_of::<TrapFrame>() / 8;

bitflags! {
    /// The flags that reports name. Manual: volume 1, 3.4.3 "EFLAGS Register".
    #[derive(Clone, Copy)]
    struct Flags: u64 {
        const ID = 1 << 21;
        const VIRTUAL_INTERRUPT_PENDING = 1 << 20;
        const VIRTUAL_INTERRUPT = 1 << 19;
        const ALIGNMENT_CHECK = 1 << 18;
        const VIRTUAL_8086_MODE = 1 << 17;
        const RESUME_FLAG = 1 << 16;
        const NESTED_TASK = 1 << 14;
        const IOPL_HIGH = 1 << 13;
        const IOPL_LOW = 1 << 12;
        const OVERFLOW_FLAG = 1 << 11;
        const DIRECTION_FLAG = 1 << 10;
        const INTERRUPT_FLAG = 1 << 9;
        const TRAP_FLAG = 1 << 8;
        const SIGN_FLAG = 1 << 7;
        const ZERO_FLAG = 1 << 6;
        const AUXILIARY_CARRY_FLAG = 1 << 4;
        const PARITY_FLAG = 1 << 2;
        const CARRY_FLAG = 1;
    }
}

impl TrapFrame {
    /// The offsets of registers in the frame, by DWARF number, for [`TrapCode::saved`](crate::TrapCode::saved).
    ///
    /// The registers are `r10` and `r11`, which rows need in realigned frames and thunks; the stack pointer, at whose offset walks that start in
    /// trap code find the frame; the program counter, which with the stack pointer shows whether such a frame exists; `cs`, which
    /// identifies user code; and the frame's end.
    pub const SAVED: [SavedRegister; 6] = [
        SavedRegister::new(10, offset_of!(Self, r10) as u32),
        SavedRegister::new(11, offset_of!(Self, r11) as u32),
        SavedRegister::new(RSP, offset_of!(Self, rsp) as u32),
        SavedRegister::new(RIP, offset_of!(Self, rip) as u32),
        SavedRegister::new(CS, offset_of!(Self, cs) as u32),
        SavedRegister::new(SavedRegister::END, size_of::<Self>() as u32),
    ];

    /// Reads the frame at the address `address`. Returns `None` if `read` cannot read one of its words.
    #[must_use]
    pub fn read(read: ReadWord<'_>, address: u64) -> Option<Self> {
        let words = read_words::<WORDS>(read, address, 8)?;
        // SAFETY: the frame is `repr(C)` with `WORDS` fields of type `u64` and no padding, and every value of a `u64` is valid.
        Some(unsafe { core::mem::transmute::<[u64; WORDS], Self>(words) })
    }

    /// Returns the registers of the interrupted code, from which a walk can start.
    ///
    /// ```
    /// # #[cfg(target_arch = "x86_64")] {
    /// let frame = postmortem::TrapFrame { rip: 0x10_2000, rsp: 0x20_fff8, cs: 0x33, ..Default::default() };
    /// assert_eq!(frame.registers().sp, 0x20_fff8);
    /// // Privilege level 3: a trace ends here.
    /// assert!(frame.is_user());
    /// # }
    /// ```
    #[must_use]
    pub fn registers(&self) -> Registers {
        let mut registers = Registers::new(self.rip, self.rsp, self.rbp);
        registers.r10 = Some(self.r10);
        registers.r11 = Some(self.r11);
        registers.user = self.is_user();
        registers
    }

    /// Returns whether user code was interrupted: its code segment has privilege level 3.
    #[must_use]
    pub const fn is_user(&self) -> bool {
        self.cs & 3 == 3
    }

    /// Returns the interrupted program counter, an address.
    #[must_use]
    pub const fn pc(&self) -> u64 {
        self.rip
    }

    /// Sets the address at which the interrupted code continues.
    pub const fn set_pc(&mut self, address: u64) {
        self.rip = address;
    }

    /// Returns the interrupted stack pointer, an address.
    #[must_use]
    pub const fn sp(&self) -> u64 {
        self.rsp
    }

    /// Returns the text of the exception: the cause and the place.
    ///
    /// ```
    /// # fn example(stacks: postmortem::Stacks<'static>, frame: &postmortem::TrapFrame) {
    /// // Such as "page fault: read of 0x0000000000000010, not mapped".
    /// println!("{}", frame.words(&stacks));
    /// # }
    /// ```
    #[must_use]
    pub const fn words<'a>(&'a self, names: &'a dyn Names) -> Words<'a> {
        Words::new(self, names)
    }

    /// The general registers, four to a line, with names of one width.
    pub(super) const fn general(&self) -> [[(&'static str, u64); 4]; 4] {
        [
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
        ]
    }

    /// Writes all registers, in lines.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write_registers(&self, names: &dyn Names, out: &mut dyn Write) -> fmt::Result {
        for line in self.general() {
            for (name, value) in line {
                write!(out, "  {name} {value:#018x}")?;
            }
            out.write_str("\n")?;
        }
        let Self {
            rip, cr2, cs, ss, ..
        } = self;
        writeln!(
            out,
            "  rip {rip:#018x}  cr2 {cr2:#018x}  cs {cs:#06x}  ss {ss:#06x}"
        )?;
        write!(out, "  rflags {:#010x}", self.rflags)?;
        for (name, _) in Flags::from_bits_truncate(self.rflags).iter_names() {
            write!(out, " {name}")?;
        }
        out.write_str(", ")?;
        match self.is_user() {
            true => out.write_str("user code\n"),
            false => {
                names.write_place(out, self.rsp)?;
                out.write_str("\n")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use x86_64::registers::rflags::RFlags;

    use super::*;

    #[test]
    fn flags_have_the_names_of_the_crate_x86_64() {
        let ours: Vec<_> = Flags::all()
            .iter_names()
            .map(|(name, flag)| (name, flag.bits()))
            .collect();
        let theirs: Vec<_> = RFlags::all()
            .iter_names()
            .map(|(name, flag)| (name, flag.bits()))
            .collect();
        assert_eq!(ours, theirs);
    }
}
