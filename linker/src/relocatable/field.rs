//! Where the value of a relocation goes: whole bytes, or bits of an instruction.

use object::{Architecture, Relocation, RelocationEncoding, RelocationFlags, RelocationKind, elf};

/// What a relocation wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) of: Of,
    pub(super) from: Base,
    pub(super) field: Field,
}

/// What its value leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// The symbol.
    Symbol,
    /// A word that the linker makes, such as one with the symbol's address.
    LinkersWord,
}

/// What its value counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Zero,
    /// The place of the field.
    Place,
    /// The page of that place, to the page of the target.
    Page,
}

/// The bits that it changes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// So many bytes, in the order of the file. The value is shifted to the right before that.
    Bytes { size: u8, shift: u8 },
    /// Bits of an A64 instruction: `width` of them from `low` on, for the value without its lowest `shift` bits. If it `is_whole`, what is
    /// above these bits is their sign.
    A64 {
        low: u8,
        width: u8,
        shift: u8,
        is_whole: bool,
    },
    /// The 21 bits of `adr` and `adrp`, in two parts.
    Adr { shift: u8 },
}

/// An A64 instruction has so many bytes.
const A64: u8 = 4;

impl Field {
    /// The lowest 12 bits of an address, in an instruction for accesses of `1 << shift` bytes.
    pub(super) fn low(shift: u8) -> Self {
        Self::A64 {
            low: 10,
            width: 12 - shift,
            shift,
            is_whole: false,
        }
    }

    /// In bytes.
    pub(super) fn size(self) -> u64 {
        match self {
            Self::Bytes { size, .. } => size.into(),
            Self::A64 { .. } | Self::Adr { .. } => A64.into(),
        }
    }

    /// The A64 instruction with this value; `None` if the value has too many bits for it. Other fields are no instructions.
    pub(super) fn in_instruction(self, instruction: u32, value: u64) -> Option<u32> {
        let signed = value.cast_signed();
        let put = |low: u8, width: u8, number: u32| {
            let mask = (1_u32 << width) - 1;
            instruction & !(mask << low) | (number & mask) << low
        };
        match self {
            Self::Bytes { .. } => None,
            Self::A64 {
                low,
                width,
                shift,
                is_whole,
            } => {
                let number = signed >> shift;
                let fits = (-(1_i64 << (width - 1))..1 << (width - 1)).contains(&number);
                (fits || !is_whole).then_some(put(low, width, number as u32))
            }
            Self::Adr { shift } => {
                let number = signed >> shift;
                let fits = (-(1_i64 << 20)..1 << 20).contains(&number);
                let high = put(5, 19, (number >> 2) as u32);
                fits.then_some(high & !(3 << 29) | (number as u32 & 3) << 29)
            }
        }
    }
}

impl Form {
    /// That of a relocation; `None` if it is not known.
    pub(super) fn of(machine: Architecture, relocation: &Relocation) -> Option<Self> {
        let RelocationFlags::Elf { r_type } = relocation.flags() else {
            return None;
        };
        let shift = match relocation.encoding() {
            RelocationEncoding::S390xDbl => 1,
            _ => 0,
        };
        let bytes = |of, from, size| {
            Some(Self {
                of,
                from,
                field: Field::Bytes { size, shift },
            })
        };
        let size = relocation.size() / 8;
        match (machine, relocation.kind()) {
            (Architecture::Aarch64, RelocationKind::Unknown | RelocationKind::PltRelative) => {
                a64(r_type)
            }
            (_, RelocationKind::Absolute) => bytes(Of::Symbol, Base::Zero, size),
            (_, RelocationKind::Relative | RelocationKind::PltRelative) => {
                bytes(Of::Symbol, Base::Place, size)
            }
            (_, RelocationKind::GotRelative) => bytes(Of::LinkersWord, Base::Place, size),
            (Architecture::X86_64, _) => match r_type {
                // GNU as emits it in `.sframe`; `object` does not know it.
                elf::R_X86_64_PC64 => bytes(Of::Symbol, Base::Place, 8),
                elf::R_X86_64_CODE_4_GOTPCRELX
                | elf::R_X86_64_GOTTPOFF
                | elf::R_X86_64_TLSGD
                | elf::R_X86_64_TLSLD => bytes(Of::LinkersWord, Base::Place, 4),
                _ => None,
            },
            _ => None,
        }
    }
}

/// That of a relocation of an A64 instruction. Source: "ELF for the Arm 64-bit Architecture", sections "Static AArch64 relocations" and
/// following.
fn a64(r_type: elf::RelocationType) -> Option<Form> {
    let branch = |low, width| Field::A64 {
        low,
        width,
        shift: 2,
        is_whole: true,
    };
    let low = Field::low;
    let part = |index: u8| Field::A64 {
        low: 5,
        width: 16,
        shift: 16 * index,
        is_whole: false,
    };
    let (of, from, field) = match r_type {
        elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => (Of::Symbol, Base::Place, branch(0, 26)),
        elf::R_AARCH64_CONDBR19 | elf::R_AARCH64_LD_PREL_LO19 => {
            (Of::Symbol, Base::Place, branch(5, 19))
        }
        elf::R_AARCH64_TSTBR14 => (Of::Symbol, Base::Place, branch(5, 14)),
        elf::R_AARCH64_ADR_PREL_LO21 => (Of::Symbol, Base::Place, Field::Adr { shift: 0 }),
        elf::R_AARCH64_ADR_PREL_PG_HI21 | elf::R_AARCH64_ADR_PREL_PG_HI21_NC => {
            (Of::Symbol, Base::Page, Field::Adr { shift: 12 })
        }
        elf::R_AARCH64_ADD_ABS_LO12_NC | elf::R_AARCH64_LDST8_ABS_LO12_NC => {
            (Of::Symbol, Base::Zero, low(0))
        }
        elf::R_AARCH64_LDST16_ABS_LO12_NC => (Of::Symbol, Base::Zero, low(1)),
        elf::R_AARCH64_LDST32_ABS_LO12_NC => (Of::Symbol, Base::Zero, low(2)),
        elf::R_AARCH64_LDST64_ABS_LO12_NC => (Of::Symbol, Base::Zero, low(3)),
        elf::R_AARCH64_LDST128_ABS_LO12_NC => (Of::Symbol, Base::Zero, low(4)),
        elf::R_AARCH64_MOVW_UABS_G0 | elf::R_AARCH64_MOVW_UABS_G0_NC => {
            (Of::Symbol, Base::Zero, part(0))
        }
        elf::R_AARCH64_MOVW_UABS_G1 | elf::R_AARCH64_MOVW_UABS_G1_NC => {
            (Of::Symbol, Base::Zero, part(1))
        }
        elf::R_AARCH64_MOVW_UABS_G2 | elf::R_AARCH64_MOVW_UABS_G2_NC => {
            (Of::Symbol, Base::Zero, part(2))
        }
        elf::R_AARCH64_MOVW_UABS_G3 => (Of::Symbol, Base::Zero, part(3)),
        elf::R_AARCH64_GOT_LD_PREL19 => (Of::LinkersWord, Base::Place, branch(5, 19)),
        elf::R_AARCH64_ADR_GOT_PAGE => (Of::LinkersWord, Base::Page, Field::Adr { shift: 12 }),
        elf::R_AARCH64_LD64_GOT_LO12_NC => (Of::LinkersWord, Base::Zero, low(3)),
        _ => return None,
    };
    Some(Form { of, from, field })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relocated(r_type: elf::RelocationType, instruction: u32, value: i64) -> Option<u32> {
        let form = a64(r_type).unwrap();
        form.field
            .in_instruction(instruction, value.cast_unsigned())
    }

    /// Encodings by GNU as 2.40.
    #[test]
    fn instructions_get_their_values() {
        for (r_type, before, value, after) in [
            (elf::R_AARCH64_CALL26, 0x9400_0000, -4, 0x97ff_ffff),
            (elf::R_AARCH64_JUMP26, 0x1400_0000, 0x100, 0x1400_0040),
            (elf::R_AARCH64_CONDBR19, 0x5400_0000, 8, 0x5400_0040),
            (elf::R_AARCH64_TSTBR14, 0x3600_0000, -8, 0x3607_ffc0),
            (elf::R_AARCH64_ADR_PREL_LO21, 0x1000_0000, 7, 0x7000_0020),
            (
                elf::R_AARCH64_ADR_PREL_PG_HI21,
                0x9000_0000,
                0x5000,
                0xb000_0020,
            ),
            (
                elf::R_AARCH64_ADD_ABS_LO12_NC,
                0x9100_0000,
                0x1234,
                0x9108_d000,
            ),
            (
                elf::R_AARCH64_LDST64_ABS_LO12_NC,
                0xf940_0000,
                0x1238,
                0xf941_1c00,
            ),
            (
                elf::R_AARCH64_MOVW_UABS_G1_NC,
                0xf2a0_0000,
                0x1234_5678,
                0xf2a2_4680,
            ),
        ] {
            let found = relocated(r_type, before, value);
            assert_eq!(found, Some(after), "{r_type:?}: {found:x?}");
        }
    }

    #[test]
    fn what_is_too_far_away_is_not_reached() {
        for (r_type, last) in [
            (elf::R_AARCH64_CALL26, (1 << 27) - 4),
            (elf::R_AARCH64_CONDBR19, (1 << 20) - 4),
            (elf::R_AARCH64_TSTBR14, (1 << 15) - 4),
            (elf::R_AARCH64_ADR_PREL_LO21, (1 << 20) - 1),
        ] {
            assert!(relocated(r_type, 0, last).is_some(), "{r_type:?}");
            assert_eq!(relocated(r_type, 0, last + 4), None, "{r_type:?}");
        }
    }
}
