//! Where instructions start, and which of them are calls: as much decoding as symbols need.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};

/// How code is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// x86-64, by the crate `iced-x86`.
    X86,
    /// A64: four bytes an instruction, in little-endian order whatever the order of data.
    A64,
    /// Not decoded: every two bytes might start an instruction, and none is known to be a call.
    Unknown,
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Bytes from the start of the code.
    pub offset: u32,
    /// Bytes.
    pub length: u32,
    /// It leaves a return address behind.
    pub is_call: bool,
}

impl Coding {
    /// How an image's code is decoded.
    #[must_use]
    pub fn of(file: &object::File<'_>) -> Self {
        use object::{Architecture, Object};
        match file.architecture() {
            Architecture::X86_64 => Self::X86,
            Architecture::Aarch64 => Self::A64,
            _ => Self::Unknown,
        }
    }

    /// Whether calls are known.
    #[must_use]
    pub fn knows_calls(self) -> bool {
        self != Self::Unknown
    }

    /// The instructions in `code`, which lies at `address`. They cover all of it.
    #[must_use]
    pub fn decode(self, code: &[u8], address: u64) -> Vec<Decoded> {
        match self {
            Self::X86 => x86(code, address),
            Self::A64 => words(code, 4, |word| {
                <[u8; 4]>::try_from(word).is_ok_and(|word| is_a64_call(u32::from_le_bytes(word)))
            }),
            Self::Unknown => words(code, 2, |_| false),
        }
    }
}

fn x86(code: &[u8], address: u64) -> Vec<Decoded> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut found = Vec::with_capacity(code.len() / 4);
    while decoder.can_decode() {
        let offset = decoder.position() as u32;
        decoder.decode_out(&mut instruction);
        found.push(Decoded {
            offset,
            length: decoder.position() as u32 - offset,
            is_call: instruction.mnemonic() == Mnemonic::Call,
        });
    }
    found
}

fn words(code: &[u8], size: usize, is_call: impl Fn(&[u8]) -> bool) -> Vec<Decoded> {
    let words = code.chunks(size).enumerate();
    words
        .map(|(index, word)| Decoded {
            offset: (index * size) as u32,
            length: word.len() as u32,
            is_call: is_call(word),
        })
        .collect()
}

/// BL, BLR, and BLRAA, BLRAB, BLRAAZ, BLRABZ (Arm Architecture Reference Manual, C4.1 "Branches").
const fn is_a64_call(word: u32) -> bool {
    word & 0xfc00_0000 == 0x9400_0000 || word & 0xfeff_f000 == 0xd63f_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(coding: Coding, code: &[u8]) -> Vec<(u32, u32)> {
        let decoded = coding.decode(code, 0x1000);
        let calls = decoded.iter().filter(|decoded| decoded.is_call);
        calls.map(|call| (call.offset, call.length)).collect()
    }

    #[test]
    fn x86_calls() {
        // nop; call rel32; call rax; call [rip+0]; jmp rax; ret
        let code = [
            0x90, 0xe8, 0, 0, 0, 0, 0xff, 0xd0, 0xff, 0x15, 0, 0, 0, 0, 0xff, 0xe0, 0xc3,
        ];
        assert_eq!(calls(Coding::X86, &code), [(1, 5), (6, 2), (8, 6)]);
    }

    #[test]
    fn a64_calls() {
        // b .; bl .; blr x8; br x8; ret; blraaz x1; braaz x1; retaa
        let code: Vec<u8> = [
            0x1400_0000_u32,
            0x9400_0000,
            0xd63f_0100,
            0xd61f_0100,
            0xd65f_03c0,
            0xd63f_083f,
            0xd61f_083f,
            0xd65f_0bff,
        ]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
        assert_eq!(calls(Coding::A64, &code), [(4, 4), (8, 4), (20, 4)]);
    }

    #[test]
    fn instructions_cover_what_is_no_code() {
        for coding in [Coding::X86, Coding::A64, Coding::Unknown] {
            for length in 0..20 {
                let code = vec![0x0f; length];
                let mut at = 0;
                for decoded in coding.decode(&code, 0) {
                    assert_eq!(decoded.offset, at);
                    at += decoded.length;
                }
                assert_eq!(at as usize, length);
            }
        }
    }
}
