//! The constants of each architecture that tables depend on. Conversion code uses these instead of asking which one it is.

use std::ops::Range;

use gimli::{Register, Vendor};
use unwind::ByteOrder;
use unwind::sframe::{Abi, Base, Rule, format};

/// An architecture's registers and calling convention, in the terms of DWARF and of SFrame.
#[derive(Debug, PartialEq, Eq)]
pub struct Architecture {
    /// As messages name it.
    pub name: &'static str,
    /// As ELF files name it.
    pub machine: object::Architecture,
    /// The header's ABI number, which also gives the numbers of the stack and the frame pointer. `None`: SFrame has none, so that rows can
    /// only be in a rule map.
    pub abi: Option<Abi>,
    /// Column of the return address in DWARF's tables.
    pub return_address: Register,
    /// Offset from the CFA, in bytes, at which a call leaves the return address; `None` when it leaves it in a register.
    pub fixed_return_address: Option<i8>,
    /// A column whose value a walk never has. A row that takes the frame pointer from it says that the caller's is lost.
    pub lost: Register,
    /// Column that tells whether the return address carries a pointer authentication code: constant 1 means it does.
    pub sign_state: Option<Register>,
    /// Offset from the CFA, in bytes, of the caller's stack pointer.
    pub stack_pointer_offset: i64,
    /// The CFA's offset is stored divided by this, after `stack_pointer_offset` is added.
    pub cfa_scale: i64,
    /// Whose meaning the vendor-specific opcodes of call frame instructions have.
    pub vendor: Vendor,
    /// Largest page size, in bytes: the alignment of a segment.
    pub page: u64,
    /// Bytes that instructions are aligned to, as a power of two.
    pub unit: u8,
    /// Bytes of an address, and of a register on the stack.
    pub word: u8,
    /// Columns of further registers that rows say something of: those of [`unwind::Kept`].
    pub kept: Range<u16>,
}

/// x86-64 with the System V ABI: "DWARF Register Number Mapping" and "The Stack Frame" of its supplement.
pub static X86_64: Architecture = Architecture {
    name: "x86-64",
    machine: object::Architecture::X86_64,
    abi: Some(Abi::Amd64),
    return_address: Register(16),
    fixed_return_address: Some(format::AMD64_RETURN_ADDRESS_OFFSET),
    // The return address's column.
    lost: Register(16),
    sign_state: None,
    stack_pointer_offset: 0,
    cfa_scale: 1,
    vendor: Vendor::Default,
    page: 0x1000,
    unit: 0,
    word: 8,
    kept: 0..0,
};

/// AArch64, little-endian: "DWARF for the Arm 64-bit Architecture", section "DWARF register names".
pub static AARCH64: Architecture = Architecture {
    name: "AArch64",
    machine: object::Architecture::Aarch64,
    abi: Some(Abi::AArch64Little),
    return_address: Register(30),
    fixed_return_address: None,
    // The program counter's.
    lost: Register(32),
    sign_state: Some(Register(34)),
    stack_pointer_offset: 0,
    cfa_scale: 1,
    vendor: Vendor::AArch64,
    page: 0x10000,
    unit: 2,
    word: 8,
    kept: 0..0,
};

/// AArch64, big-endian: as [`AARCH64`].
pub static AARCH64_BE: Architecture = Architecture {
    name: "AArch64 (big-endian)",
    machine: object::Architecture::Aarch64,
    abi: Some(Abi::AArch64Big),
    return_address: Register(30),
    fixed_return_address: None,
    // The program counter's.
    lost: Register(32),
    sign_state: Some(Register(34)),
    stack_pointer_offset: 0,
    cfa_scale: 1,
    vendor: Vendor::AArch64,
    page: 0x10000,
    unit: 2,
    word: 8,
    kept: 0..0,
};

/// s390x: "ELF Application Binary Interface, s390x Supplement", sections "DWARF Register Number Mapping" and "The Stack
/// Frame". A caller leaves 160 bytes above its stack pointer for registers, `r15` among them.
pub static S390X: Architecture = Architecture {
    name: "s390x",
    machine: object::Architecture::S390x,
    abi: Some(Abi::S390x),
    return_address: Register(14),
    fixed_return_address: None,
    // The program status word's address.
    lost: Register(65),
    sign_state: None,
    stack_pointer_offset: -format::S390X_CFA_ADJUSTMENT,
    cfa_scale: format::S390X_CFA_SCALE,
    vendor: Vendor::Default,
    page: 0x1000,
    unit: 1,
    word: 8,
    kept: 0..0,
};

/// 32-bit ARM, little-endian: "DWARF for the Arm Architecture", section "DWARF register names". Its
/// rows are in a rule map.
pub static ARM: Architecture = Architecture {
    name: "32-bit ARM",
    machine: object::Architecture::Arm,
    abi: None,
    return_address: Register(14),
    fixed_return_address: None,
    // The program counter's.
    lost: Register(15),
    sign_state: None,
    stack_pointer_offset: 0,
    cfa_scale: 1,
    vendor: Vendor::Default,
    page: 0x1000,
    unit: 1,
    word: 4,
    kept: 4..11,
};

impl Architecture {
    /// The architecture of an ELF file; `None` for one that no tables can be made for.
    #[must_use]
    pub fn of(machine: object::Architecture, big_endian: bool) -> Option<&'static Self> {
        [&X86_64, &AARCH64, &AARCH64_BE, &S390X, &ARM]
            .into_iter()
            .find(|known| known.machine == machine && known.is_big_endian() == big_endian)
    }

    /// The ABI number.
    ///
    /// # Panics
    /// There is none: no `.sframe` is made then.
    #[must_use]
    pub fn abi(&self) -> Abi {
        self.abi
            .expect("tables are made only for architectures with an SFrame ABI")
    }

    /// The byte order, of data and of tables.
    #[must_use]
    pub fn is_big_endian(&self) -> bool {
        self.abi
            .is_some_and(|abi| abi.byte_order() == ByteOrder::Big)
    }

    /// DWARF number of the stack pointer.
    #[must_use]
    pub fn stack_pointer(&self) -> Register {
        register(self.stack_pointer_number())
    }

    /// DWARF number of the frame pointer.
    #[must_use]
    pub fn frame_pointer(&self) -> Register {
        register(self.frame_pointer_number())
    }

    fn stack_pointer_number(&self) -> u32 {
        self.abi.map_or(unwind::arm::SP, Abi::stack_pointer)
    }

    fn frame_pointer_number(&self) -> u32 {
        self.abi.map_or(unwind::arm::R11, Abi::frame_pointer)
    }

    /// The rule for a frame pointer that is saved nowhere.
    #[must_use]
    pub fn lost_frame_pointer(&self) -> Rule {
        Rule::Value {
            base: self.base(self.lost),
            offset: 0,
        }
    }

    /// The base of a rule for a DWARF register.
    #[must_use]
    pub fn base(&self, register: Register) -> Base {
        if register == self.stack_pointer() {
            Base::StackPointer
        } else if register == self.frame_pointer() {
            Base::FramePointer
        } else {
            Base::Register(register.0.into())
        }
    }

    /// DWARF number of a rule's base; `None` for the CFA, which is no register.
    #[must_use]
    pub fn register(&self, base: Base) -> Option<u32> {
        match base {
            Base::StackPointer => Some(self.stack_pointer_number()),
            Base::FramePointer => Some(self.frame_pointer_number()),
            Base::Register(register) => Some(register),
            Base::Cfa => None,
        }
    }

    /// The CFA's offset as a row stores it; `None` if a row cannot store it.
    #[must_use]
    pub fn stored_cfa_offset(&self, offset: i64) -> Option<i64> {
        let moved = offset.checked_add(self.stack_pointer_offset)?;
        (moved % self.cfa_scale == 0).then(|| moved / self.cfa_scale)
    }

    /// The rule for the return address that a row need not spell out.
    #[must_use]
    pub fn default_return_address(&self) -> Rule {
        self.fixed_return_address
            .map_or(Rule::Same, |offset| Rule::Saved {
                base: Base::Cfa,
                offset: offset.into(),
            })
    }
}

/// SFrame has register numbers as `u32`, DWARF readers as `u16`; those of the ABIs are below 32.
fn register(number: u32) -> Register {
    Register(u16::try_from(number).expect("register numbers of an SFrame ABI fit in 16 bits"))
}
