//! x86-64: where an instruction ends, and its operands. Source: "Intel 64 and IA-32 Architectures Software Developer's Manual",
//! volume 2, chapter 2 "Instruction Format", and appendix A "Opcode Map".

use crate::code::Place;

/// What is needed of an instruction's encoding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    /// Bytes.
    pub(super) length: usize,
    /// The opcode map: 0 with one byte, 1 after 0F, 2 after 0F 38, 3 after 0F 3A; others by prefixes of vector instructions.
    pub(super) map: u8,
    pub(super) opcode: u8,
    /// The register of the ModRM byte, or the further opcode bits.
    pub(super) register: u8,
    /// The ModRM byte's operand, if that is a register.
    pub(super) operand: Option<u8>,
    /// Its address, if it is memory at the stack pointer or at the frame pointer, without an index.
    pub(super) place: Option<Place>,
    /// The upper bit of a register in the opcode.
    pub(super) extension: u8,
    /// Operands have 64 bits.
    pub(super) wide: bool,
    /// Operands have 16 bits.
    pub(super) short_operand: bool,
    /// Whether there is a REX prefix, without which 8-bit registers 4 to 7 are others.
    rex: bool,
    /// The last operand, if it is a number of 8 or 32 bits; otherwise 0.
    pub(super) immediate: i64,
}

impl Instruction {
    /// Whether a register with the number of `rsp` or `rbp` is that, not one of `ah` and `ch`, as in instructions of eight bits. Mostly
    /// these have even opcodes.
    pub(super) const fn whole(&self) -> bool {
        let eight_bits = match (self.map, self.opcode) {
            (0, 0xb0..=0xb7) | (1, 0x90..=0x9f) => true,
            (0, 0x8c) => false,
            (_, opcode) => opcode & 1 == 0,
        };
        self.rex || !eight_bits
    }

    /// Where a jump leads whose distance is the last operand.
    pub(super) const fn target(&self, at: u64) -> u64 {
        at.wrapping_add(self.length as u64)
            .wrapping_add_signed(self.immediate)
    }
}

/// The sizes of a number behind the operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    None,
    Byte,
    /// Two bytes, whatever the prefixes.
    Word,
    /// Four bytes, or two with an operand-size prefix.
    Full,
    /// As [`Self::Full`], with eight where operands have 64 bits.
    Whole,
    /// An address.
    Address,
    /// Those of ENTER.
    Three,
}

/// Reads the instruction that `bytes` begin with; `None` if it is not known, or not whole.
pub(super) fn decode(bytes: &[u8]) -> Option<Instruction> {
    // No instruction is longer.
    let bytes = bytes.get(..15).unwrap_or(bytes);
    let mut rest = bytes;
    let mut short_operand = false;
    let mut short_address = false;
    let mut rex = 0;
    let mut vector = false;
    let mut map = 0;
    let mut opcode = next(&mut rest)?;
    while let 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3 = opcode {
        short_operand |= opcode == 0x66;
        short_address |= opcode == 0x67;
        opcode = next(&mut rest)?;
    }
    if opcode & 0xf0 == 0x40 {
        rex = opcode;
        opcode = next(&mut rest)?;
    }
    match opcode {
        0x0f => {
            map = 1;
            opcode = next(&mut rest)?;
            if let 0x38 | 0x3a = opcode {
                map = if opcode == 0x38 { 2 } else { 3 };
                opcode = next(&mut rest)?;
            }
        }
        // VEX and EVEX: the bits of REX are inverted, and W is not needed, as none of them moves a stack pointer.
        0xc4 | 0xc5 | 0x62 if rex == 0 => {
            vector = true;
            let first = next(&mut rest)?;
            rex = 0x40 | (!first >> 5 & 7);
            map = match opcode {
                0xc5 => {
                    rex = 0x40 | (!first >> 5 & 4);
                    1
                }
                0xc4 => {
                    next(&mut rest)?;
                    first & 31
                }
                _ => {
                    next(&mut rest)?;
                    next(&mut rest)?;
                    first & 7
                }
            };
            let known = match opcode {
                0x62 => matches!(map, 1..=3 | 5 | 6),
                _ => matches!(map, 1..=3),
            };
            if !known {
                return None;
            }
            opcode = next(&mut rest)?;
        }
        _ => {}
    }
    let wide = !vector && rex & 8 != 0;
    let (has_operands, mut number) = match map {
        0 => form_of_one_byte(opcode)?,
        1 => form_of_two_bytes(opcode, vector)?,
        3 => (true, Number::Byte),
        _ => (true, Number::None),
    };
    let mut instruction = Instruction {
        length: 0,
        map,
        opcode,
        register: 0,
        operand: None,
        place: None,
        extension: rex << 3 & 8,
        wide,
        short_operand: short_operand && !wide,
        rex: rex != 0,
        immediate: 0,
    };
    if has_operands {
        let modrm = next(&mut rest)?;
        instruction.register = modrm >> 3 & 7 | rex << 1 & 8;
        // Control registers have no memory operand.
        let is_memory = modrm < 0xc0 && !(map == 1 && matches!(opcode, 0x20..=0x23));
        if is_memory {
            instruction.place = memory(modrm, rex, &mut rest)?;
        } else {
            instruction.operand = Some(modrm & 7 | rex << 3 & 8);
        }
        // What looks like a POP with another number is a prefix of AMD's.
        if map == 0 && opcode == 0x8f && modrm & 0x38 != 0 {
            return None;
        }
        // TEST, alone of its group, has a number.
        if map == 0 && opcode & 0xfe == 0xf6 && modrm >> 3 & 7 < 2 {
            number = if opcode == 0xf6 {
                Number::Byte
            } else {
                Number::Full
            };
        }
    }
    let full = if instruction.short_operand { 2 } else { 4 };
    let size = match number {
        Number::None => 0,
        Number::Byte => 1,
        Number::Word => 2,
        Number::Three => 3,
        Number::Full => full,
        Number::Whole if wide => 8,
        Number::Whole => full,
        Number::Address if short_address => 4,
        Number::Address => 8,
    };
    let (last, rest) = rest.split_at_checked(size)?;
    instruction.immediate = match *last {
        [byte] => byte.cast_signed().into(),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
        _ => 0,
    };
    instruction.length = bytes.len().checked_sub(rest.len())?;
    Some(instruction)
}

fn next(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

/// Reads the rest of an operand in memory, and returns where it is, as far as that is followed.
fn memory(modrm: u8, rex: u8, rest: &mut &[u8]) -> Option<Option<Place>> {
    let mode = modrm >> 6;
    let mut base = modrm & 7;
    let mut index = false;
    let by_sib = base == 4;
    if by_sib {
        let sib = next(rest)?;
        base = sib & 7;
        index = sib >> 3 & 7 | rex << 2 & 8 != 4;
    }
    let distance = match mode {
        1 => next(rest)?.cast_signed().into(),
        0 if base != 5 => 0,
        _ => {
            let (bytes, after) = rest.split_first_chunk()?;
            *rest = after;
            i64::from(i32::from_le_bytes(*bytes))
        }
    };
    let extended = rex & 1 != 0;
    Some(match base {
        4 if !index && !extended => Some(Place::in_stack(distance)),
        5 if !index && !extended && mode != 0 => Some(Place::in_frame(distance)),
        _ => None,
    })
}

/// Whether an opcode of one byte has a ModRM byte, and the number behind it; `None` if there is no such instruction.
fn form_of_one_byte(opcode: u8) -> Option<(bool, Number)> {
    Some(match opcode {
        0x00..=0x3f => match opcode & 7 {
            0..=3 => (true, Number::None),
            4 => (false, Number::Byte),
            5 => (false, Number::Full),
            _ => return None,
        },
        0x50..=0x5f | 0x6c..=0x6f | 0x90..=0x99 | 0x9b..=0x9f | 0xa4..=0xa7 | 0xaa..=0xaf => {
            (false, Number::None)
        }
        0x63 | 0x84..=0x8f | 0xd0..=0xd3 | 0xd8..=0xdf | 0xf6 | 0xf7 | 0xfe | 0xff => {
            (true, Number::None)
        }
        0x68 | 0xa9 | 0xe8 | 0xe9 => (false, Number::Full),
        0x69 | 0x81 | 0xc7 => (true, Number::Full),
        0x6a | 0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xcd | 0xe0..=0xe7 | 0xeb => {
            (false, Number::Byte)
        }
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => (true, Number::Byte),
        0xa0..=0xa3 => (false, Number::Address),
        0xb8..=0xbf => (false, Number::Whole),
        0xc2 | 0xca => (false, Number::Word),
        0xc8 => (false, Number::Three),
        0xc3
        | 0xc9
        | 0xcb
        | 0xcc
        | 0xcf
        | 0xd7
        | 0xec..=0xef
        | 0xf1
        | 0xf4
        | 0xf5
        | 0xf8..=0xfd => (false, Number::None),
        _ => return None,
    })
}

/// The same behind 0F.
fn form_of_two_bytes(opcode: u8, vector: bool) -> Option<(bool, Number)> {
    Some(match opcode {
        0x77 => (false, Number::None),
        0x70..=0x73 | 0xc2 | 0xc4..=0xc6 => (true, Number::Byte),
        _ if vector => (true, Number::None),
        0x05..=0x09 | 0x0b | 0x30..=0x35 | 0x37 | 0xa0..=0xa2 | 0xa8..=0xaa | 0xc8..=0xcf => {
            (false, Number::None)
        }
        0x80..=0x8f => (false, Number::Full),
        0xa4 | 0xac | 0xba => (true, Number::Byte),
        0x04
        | 0x0a
        | 0x0c
        | 0x0e
        | 0x0f
        | 0x24..=0x27
        | 0x36
        | 0x38..=0x3f
        | 0x7a
        | 0x7b
        | 0xa6
        | 0xa7 => return None,
        _ => (true, Number::None),
    })
}

#[cfg(test)]
mod tests;
