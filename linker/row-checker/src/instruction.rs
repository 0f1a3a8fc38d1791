//! What an instruction does, as far as the checker looks: where control goes, and what registers and the stack hold behind it.
//!
//! Each architecture's decoder translates its instructions to this form, and nothing else in the checker knows an architecture.

/// A register by its DWARF number. AArch64's system registers that trap code saves have numbers, too: see [`crate::aarch64`].
pub type Register = u8;

/// Registers that a state follows: DWARF numbers below this.
pub const REGISTERS: usize = 42;

/// Where control goes behind an instruction. A branch's target is [`Instruction::target`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the next instruction, if it goes on at all: a halt, or a call of the operating system.
    Halt,
    /// To the target.
    Jump,
    /// To the target or to the next instruction.
    Branch,
    /// To an address from a register or from memory.
    IndirectJump,
    /// Calls the target.
    Call,
    /// Calls an address from a register or from memory.
    IndirectCall,
    /// To the return address.
    Return,
    /// To the code that an exception or interrupt has interrupted.
    TrapReturn,
    /// Raises an exception: nowhere, or to the next instruction if a handler resumes there.
    Trap,
    /// To a place that is not followed, such as another mode of the processor.
    Unknown,
}

/// A value that an instruction computes from the state before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register plus a number of bytes.
    Sum(Register, i32),
    /// A register plus, or minus, another one, which is shifted left by so many bits.
    Registers {
        /// The first register.
        left: Register,
        /// The second register.
        right: Register,
        /// How far the second one is shifted.
        shift: u8,
        /// It is subtracted.
        subtracts: bool,
    },
    /// A constant.
    Number(i32),
    /// The register with 16 bits of a constant in place of its own from bit `at` on (AArch64 `movk`).
    Inserted {
        /// The register.
        register: Register,
        /// The bits.
        bits: u16,
        /// The lowest bit that they replace.
        at: u8,
    },
    /// The register with a constant in place of its lowest byte (x86-64).
    LowByte(Register, u8),
    /// The address of code or data, which the instruction names.
    Address(u64),
    /// The word in memory at a register plus a number of bytes.
    Load(Register, i32),
    /// A word in memory. Its address is unknown.
    Word,
    /// The register with the pointer authentication code of a return address added to it (AArch64).
    Signed(Register),
    /// The register with that code checked and removed (AArch64).
    Authenticated(Register),
    /// A value that arithmetic computes from these registers (a bit for each). If one of them contains an address of the stack or the return
    /// address, so may the result.
    Computed(u64),
    /// The register moved by an unknown number of bytes: aligned, or by another register. Also a value from a vector register, and any value
    /// if the instruction is not listed.
    Moved,
    /// Anything else.
    Unknown,
}

/// How many bytes a store writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// At most so many.
    Bytes(u32),
    /// As many as a register counts, times so many bytes (x86-64 `rep stos`).
    Counted(Register, u32),
    /// Not known: everything from the address on.
    Unknown,
    /// Not known, and the address is not either: an index is added to the register.
    Anywhere,
}

/// A change of the state. All effects of an instruction read the state before it; they apply in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Sets a register.
    Set(Register, Operand),
    /// Stores to memory at a register plus a number of bytes. Only stores of one word keep their value.
    Store {
        /// The register.
        base: Register,
        /// Added to it, in bytes.
        offset: i32,
        /// How much is written.
        size: Size,
        /// What is written.
        value: Operand,
    },
    /// Calls the operating system.
    SystemCall(&'static SystemCalls),
    /// Compares the stack pointer with a register: behind `b.ne` that is not taken both are equal (loops that probe the stack).
    ComparesStackPointer(Register),
}

/// The calls of an operating system, Linux, that do not continue once on the stack of their caller.
#[derive(Debug, PartialEq, Eq)]
pub struct SystemCalls {
    /// The register with the number of the call.
    pub number: Register,
    /// They may continue on another stack, too, without a caller: `clone`, `clone3`.
    pub on_other_stack: &'static [i32],
    /// They continue after another process has used the stack below the stack pointer: `vfork`.
    pub on_used_stack: &'static [i32],
    /// They never continue: `exit`, `exit_group`.
    pub last: &'static [i32],
    /// Calls that return from a signal handler: `rt_sigreturn`, `sigreturn`.
    pub signal_returns: &'static [SignalFrame],
}

impl SystemCalls {
    /// Whether the call with a number never continues at the next instruction.
    #[must_use]
    pub fn never_continues(&self, number: i32) -> bool {
        let is_signal_return = |frame: &SignalFrame| frame.number == number;
        self.last.contains(&number) || self.signal_returns.iter().any(is_signal_return)
    }
}

/// Where the kernel has saved registers that a signal has interrupted, in bytes from the stack pointer at the system call that restores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalFrame {
    /// The number of the system call.
    pub number: i32,
    /// The stack pointer.
    pub stack_pointer: i32,
    /// The program counter.
    pub program_counter: i32,
    /// The frame pointer.
    pub frame_pointer: i32,
}

/// A decoded instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Bytes.
    pub length: u8,
    /// Where control goes.
    pub flow: Flow,
    /// The target of a direct branch or call; 0 otherwise.
    pub target: u64,
    /// It is executed under a condition: if that does not hold, it has no effect, and control goes to the next instruction (32-bit ARM).
    pub is_conditional: bool,
    /// The number of the condition that decides over it, if that is known: the lowest bit inverts a condition (32-bit ARM).
    pub condition: Option<u8>,
    /// The flags that conditions test are the same after it.
    pub keeps_flags: bool,
    /// It may name an address of code or data.
    pub may_name: bool,
    /// It is padding between functions.
    pub is_padding: bool,
    /// A branch that is not taken if the two values compared last are equal.
    pub is_not_equal: bool,
    /// What it changes.
    pub effects: Vec<Effect>,
}

impl Instruction {
    /// One of so many bytes that changes nothing, with control going on.
    #[must_use]
    pub const fn nothing(length: u8) -> Self {
        Self {
            length,
            flow: Flow::Next,
            target: 0,
            is_conditional: false,
            condition: None,
            keeps_flags: false,
            may_name: true,
            is_padding: false,
            is_not_equal: false,
            effects: Vec::new(),
        }
    }

    /// Returns a byte that belongs to a function by its call frame information only, and that is never executed.
    pub(crate) fn border() -> Self {
        Self {
            flow: Flow::Unknown,
            is_padding: true,
            ..Self::nothing(1)
        }
    }

    /// Returns an instruction that the decoder does not list. It may change every register, and continue anywhere. Nothing that counts
    /// from a register is found after it, so that its stores do not matter.
    #[must_use]
    pub fn unlisted(length: u8) -> Self {
        // For the stack pointer, `Operand::Unknown` would be a load, and the instruction a switch of stacks.
        let unknown = |register| Effect::Set(register, Operand::Moved);
        Self {
            // No instruction has this address.
            target: u64::MAX,
            flow: Flow::Branch,
            effects: (0..REGISTERS as Register).map(unknown).collect(),
            ..Self::nothing(length)
        }
    }
}

/// The address of code or data that instructions name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// The instruction that completes the address.
    pub at: u64,
    /// The address.
    pub address: u64,
    /// It is computed from the program counter.
    pub is_relative: bool,
}

/// How an indirect jump finds its target, as far as one look at the instructions before it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableForm {
    /// Bytes of an entry.
    pub size: u8,
    /// An entry is a signed number.
    pub signed: bool,
    /// An entry counts units of so many bytes.
    pub scale: u8,
    /// What an entry is added to.
    pub base: TableBase,
}

/// What an entry of a jump table is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableBase {
    /// Nothing: it is an address.
    Zero,
    /// The table's own address, or that of code which the function names.
    Named,
    /// This address, which the instruction itself gives.
    At(u64),
    /// The entries are instructions, and the jump goes to the entry itself (32-bit ARM: `add pc, pc, r0, lsl #2` before branches).
    Inline,
}

/// Where an indirect jump may find its target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndirectJump {
    /// The register with the target.
    pub register: Option<Register>,
    /// The forms of table that it can read.
    pub forms: Vec<TableForm>,
    /// The table, if the jump itself names it; otherwise each one that the function names is tried.
    pub table: Option<u64>,
    /// The instruction that loads the entry, and the register with the address of the table.
    pub pointer: Option<(u64, Register)>,
    /// The instruction that adds an address to the entry, and the register with this address.
    pub label: Option<(u64, Register)>,
    /// An indexed load is seen right before the jump: it is by a table, and no call in the last place.
    pub is_indexed: bool,
    /// The jump adds an entry to an address. If the function names this address for that purpose only, it is not a pointer to code.
    pub counts_from_labels: bool,
    /// Arithmetic may compute its target, directly or before the target is stored to the stack.
    pub is_computed: bool,
    /// A bit for each register from which the target is computed, and which no instruction before the jump in its block sets.
    pub unset: u64,
    /// It reads one word at a constant address, which no table is: an import.
    pub is_import: bool,
}
