//! Decodes where instructions start, and which of them are calls or can fault.
//!
//! An instruction can fault if it accesses memory, divides, traps on purpose, is undefined, or writes a value that the
//! processor checks. Accesses relative to the stack pointer are left out: there are many, and they fail only after a stack
//! overflow. Jumps to invalid addresses are left out, too, because they fail at their target.

mod a64;
mod x86;

/// How code is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// x86-64, by the crate `iced-x86`.
    X86,
    /// A64: four bytes an instruction, in little-endian order whatever the order of data.
    A64,
    /// Not decoded: each two bytes count as an instruction that is no call and cannot fault.
    Unknown,
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Bytes from the start of the code.
    pub offset: u32,
    /// Bytes.
    pub length: u32,
    /// It is a call.
    pub is_call: bool,
    /// It accesses memory, except relative to the stack pointer, divides, traps, is undefined, or writes a checked value.
    pub can_fault: bool,
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

    /// Whether it is known which instructions are calls, and which can fault.
    #[must_use]
    pub fn is_known(self) -> bool {
        self != Self::Unknown
    }

    /// The instructions in `code`, which lies at `address`. They cover all of it.
    #[must_use]
    pub fn decode(self, code: &[u8], address: u64) -> Vec<Decoded> {
        match self {
            Self::X86 => x86::decode(code, address),
            Self::A64 => words(code, 4, |word| {
                let word = <[u8; 4]>::try_from(word).map(u32::from_le_bytes);
                word.map_or((false, false), |word| {
                    (a64::is_call(word), a64::can_fault(word))
                })
            }),
            Self::Unknown => words(code, 2, |_| (false, false)),
        }
    }
}

/// Instructions of one size. `classify` tells of each whether it is a call, and whether it can fault.
fn words(code: &[u8], size: usize, classify: impl Fn(&[u8]) -> (bool, bool)) -> Vec<Decoded> {
    let words = code.chunks(size).enumerate();
    words
        .map(|(index, word)| {
            let (is_call, can_fault) = classify(word);
            Decoded {
                offset: (index * size) as u32,
                length: word.len() as u32,
                is_call,
                can_fault,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
