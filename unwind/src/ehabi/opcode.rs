//! The opcodes of an entry. Source: EHABI32, section 10.3 "Frame unwinding instructions", table 4.

use super::Error;
use crate::bytes::{ByteOrder, Bytes};

/// An unwinding instruction, which restores registers of a caller.
///
/// The virtual stack pointer, `vsp`, begins as the function's stack pointer and ends as its caller's. Popped values are at `vsp` and above,
/// the lowest register first. The text of `Display` is the text of `readelf -u`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Opcode {
    /// Adds this number of bytes, at least 4, to `vsp`.
    Add(u64),
    /// Subtracts this number of bytes from `vsp`.
    Subtract(u32),
    /// Refuses to unwind the function.
    Refuse,
    /// Pops the core registers in this mask, 4 bytes each. Bit 0 is `r0`. If the mask contains `r13`, the popped value becomes `vsp` afterwards.
    Pop(u16),
    /// Sets `vsp` to the value of the register with this number, which is not 13 or 15.
    Set(u8),
    /// Ends the opcodes. The return address is in `r15` if `r15` was popped, otherwise in `r14`.
    Finish,
    /// Pops `count` floating-point registers of 8 bytes each, starting with D`first` (D0 to D31).
    PopDoubles {
        /// The number of the lowest register.
        first: u8,
        /// The number of registers, at least 1.
        count: u8,
        /// Whether `FSTMFDX` saved them, which leaves 4 further bytes above them.
        fstmfdx: bool,
    },
    /// Pops `count` Wireless MMX data registers of 8 bytes each, starting with wR`first` (wR0 to wR15).
    PopWireless {
        /// The number of the lowest register.
        first: u8,
        /// The number of registers, at least 1.
        count: u8,
    },
    /// Pops the Wireless MMX control registers in this mask, wCGR0 to wCGR3, 4 bytes each.
    PopWirelessControl(u8),
    /// Pops the authentication code of the return address, 4 bytes.
    PopAuthenticationCode,
    /// Marks this `vsp` as the modifier of the authentication code.
    ModifierIsVsp,
}

/// Iterator over the opcodes of an entry, up to the end of its last word. Opcodes after [`Opcode::Finish`] have no meaning. The iterator
/// ends after an error.
#[derive(Clone, Copy, Debug)]
pub struct Opcodes<'a> {
    /// Whole words, in each of which the most significant byte comes first.
    words: Bytes<'a>,
    /// The next byte.
    next: usize,
}

impl<'a> Opcodes<'a> {
    /// Creates an iterator over the opcodes in `words`, without the first `skip` bytes.
    pub(super) const fn new(words: &'a [u8], skip: usize) -> Self {
        Self {
            words: Bytes::new(words, ByteOrder::Little),
            next: skip,
        }
    }

    /// Returns the bytes of the next opcode and of all opcodes after it.
    pub fn bytes(&self) -> impl Iterator<Item = u8> + use<'a> {
        let mut rest = *self;
        core::iter::from_fn(move || rest.byte())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.words.u8(self.next ^ 3)?;
        self.next = self.next.wrapping_add(1);
        Some(byte)
    }

    fn opcode(&mut self, first: u8) -> Result<Opcode, Error> {
        let words = |six_bits: u8| (u32::from(six_bits) << 2).wrapping_add(4);
        Ok(match first {
            0x00..=0x3f => Opcode::Add(words(first & 0x3f).into()),
            0x40..=0x7f => Opcode::Subtract(words(first & 0x3f)),
            0x80..=0x8f => match (u16::from(first & 0xf) << 8) | u16::from(self.second(first)?) {
                0 => Opcode::Refuse,
                from_r4 => Opcode::Pop(from_r4 << 4),
            },
            0x9d | 0x9f => return Err(Error::Spare(first, 0)),
            0x90..=0x9f => Opcode::Set(first & 0xf),
            0xa0..=0xaf => {
                // r4 to r11, less as many as are not popped.
                let up_to = 0xfff_u16.wrapping_shr(u32::from(!first & 7));
                let link = if first & 8 == 0 { 0 } else { 1 << 14 };
                Opcode::Pop(up_to & 0xff0 | link)
            }
            0xb0 => Opcode::Finish,
            0xb1 => match self.second(first)? {
                mask @ 1..=0xf => Opcode::Pop(mask.into()),
                second => return Err(Error::Spare(first, second)),
            },
            0xb2 => {
                let number = self.uleb128(first)?;
                Opcode::Add((u64::from(number) << 2).wrapping_add(0x204))
            }
            0xb3 => doubles(self.second(first)?, 0, true),
            0xb4 => Opcode::PopAuthenticationCode,
            0xb5 => Opcode::ModifierIsVsp,
            0xb8..=0xbf => doubles(0x80 | first & 7, 0, true),
            0xc0..=0xc5 => Opcode::PopWireless {
                first: 10,
                count: (first & 7).wrapping_add(1),
            },
            0xc6 => {
                let second = self.second(first)?;
                Opcode::PopWireless {
                    first: second >> 4,
                    count: (second & 0xf).wrapping_add(1),
                }
            }
            0xc7 => match self.second(first)? {
                mask @ 1..=0xf => Opcode::PopWirelessControl(mask),
                second => return Err(Error::Spare(first, second)),
            },
            0xc8 => doubles(self.second(first)?, 16, false),
            0xc9 => doubles(self.second(first)?, 0, false),
            0xd0..=0xd7 => doubles(0x80 | first & 7, 0, false),
            0xb6 | 0xb7 | 0xca..=0xcf | 0xd8..=0xff => return Err(Error::Spare(first, 0)),
        })
    }

    fn second(&mut self, first: u8) -> Result<u8, Error> {
        self.byte().ok_or(Error::Truncated(first))
    }

    /// A number of seven bits a byte, the lowest first. Bytes of zeros at its end are allowed, as they are in DWARF.
    fn uleb128(&mut self, first: u8) -> Result<u32, Error> {
        let (mut number, mut shift) = (0_u32, 0_u32);
        loop {
            let byte = self.second(first)?;
            let bits = u32::from(byte & 0x7f);
            if bits != 0 {
                let placed = bits.checked_shl(shift).ok_or(Error::TooLarge)?;
                if placed.wrapping_shr(shift) != bits {
                    return Err(Error::TooLarge);
                }
                number |= placed;
            }
            if byte & 0x80 == 0 {
                return Ok(number);
            }
            shift = shift.saturating_add(7);
        }
    }
}

/// Four bits of the first register, and four of how many follow it.
const fn doubles(bits: u8, above: u8, fstmfdx: bool) -> Opcode {
    Opcode::PopDoubles {
        first: (bits >> 4).wrapping_add(above),
        count: (bits & 0xf).wrapping_add(1),
        fstmfdx,
    }
}

impl Iterator for Opcodes<'_> {
    type Item = Result<Opcode, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.byte()?;
        let opcode = self.opcode(first);
        if opcode.is_err() {
            self.next = self.words.data.len();
        }
        Some(opcode)
    }
}

impl core::iter::FusedIterator for Opcodes<'_> {}
