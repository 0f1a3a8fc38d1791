//! Encodes one row ("frame row entry").

use unwind::sframe::{Abi, Base, Row, Rule, format};

use super::Version;
use crate::architecture::Architecture;

/// The words of one row, before their common width is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Word {
    /// An offset in bytes.
    Offset(i32),
    /// A control word of a flexible row.
    Control(u32),
}

impl Word {
    /// Width code (0, 1, 2 for 1, 2, 4 bytes) that the value needs.
    fn width(self) -> u8 {
        let bits = match self {
            Self::Offset(value) => 33 - (value ^ (value >> 31)).leading_zeros(),
            Self::Control(value) => 32 - value.leading_zeros(),
        };
        match bits {
            ..=8 => 0,
            9..=16 => 1,
            _ => 2,
        }
    }

    fn bits(self) -> u32 {
        match self {
            Self::Offset(value) => value.cast_unsigned(),
            Self::Control(value) => value,
        }
    }
}

/// The words of a row in a function of the default kind, and whether the CFA's base is the stack pointer; `None` if that kind
/// cannot express it.
pub(super) fn default_words(
    row: &Row,
    architecture: &Architecture,
    version: Version,
) -> Option<(bool, Vec<Word>)> {
    let (from_sp, cfa) = match row.cfa {
        Rule::Undefined => return Some((false, Vec::new())),
        Rule::Value { base, offset } => match base {
            Base::StackPointer => (true, offset),
            Base::FramePointer => (false, offset),
            _ => return None,
        },
        _ => return None,
    };
    let mut words = vec![cfa_word(cfa, architecture)?];
    let tracks_return_address = architecture.fixed_return_address.is_none();
    match row.return_address {
        rule if rule == architecture.default_return_address() => {
            // The frame pointer's word is the third one, so the second has to be filled. Only s390x has padding for it.
            if tracks_return_address && row.frame_pointer != Rule::Same {
                words.push(padding(architecture)?);
            }
        }
        Rule::Saved {
            base: Base::Cfa,
            offset,
        } if tracks_return_address => words.push(tracked(offset, architecture)?),
        Rule::Value { base, offset: 0 } if tracks_return_address => {
            words.push(in_register(base, architecture, version)?);
        }
        _ => return None,
    }
    match row.frame_pointer {
        Rule::Same => {}
        Rule::Saved {
            base: Base::Cfa,
            offset,
        } => words.push(tracked(offset, architecture)?),
        Rule::Value { base, offset: 0 } => words.push(in_register(base, architecture, version)?),
        _ => return None,
    }
    Some((from_sp, words))
}

/// The words of a row in a function of the flexible kind: pairs of a control word and an offset for the CFA, the
/// return address and the frame pointer. `None` if that kind cannot express it either.
pub(super) fn flexible_words(row: &Row, architecture: &Architecture) -> Option<Vec<Word>> {
    if row.is_outermost() {
        return Some(Vec::new());
    }
    let mut words = Vec::new();
    let cfa_from_register = matches!(
        row.cfa,
        Rule::Value { base, .. } | Rule::Saved { base, .. } if base != Base::Cfa
    );
    if !cfa_from_register {
        return None;
    }
    let mut cfa = pair(row.cfa, architecture)?;
    let (Rule::Value { offset, .. } | Rule::Saved { offset, .. }) = row.cfa else {
        return None;
    };
    cfa[1] = cfa_word(offset, architecture)?;
    words.extend(cfa);
    if row.return_address != architecture.default_return_address() {
        words.extend(pair(row.return_address, architecture)?);
    } else if row.frame_pointer != Rule::Same {
        // A single control word 0: the return address has the default rule.
        words.push(Word::Control(0));
    }
    if row.frame_pointer != Rule::Same {
        words.extend(pair(row.frame_pointer, architecture)?);
    }
    Some(words)
}

fn pair(rule: Rule, architecture: &Architecture) -> Option<[Word; 2]> {
    let (base, offset, dereference) = match rule {
        // The control word would be 0, which means the default rule.
        Rule::Value {
            base: Base::Cfa, ..
        }
        | Rule::Same
        | Rule::Undefined => return None,
        Rule::Value { base, offset } => (base, offset, 0),
        Rule::Saved { base, offset } => (base, offset, format::CONTROL_DEREFERENCE),
    };
    let register = match architecture.register(base) {
        Some(number) => number << format::CONTROL_REGISTER_SHIFT | format::CONTROL_REGISTER,
        None => 0,
    };
    Some([Word::Control(register | dereference), offset_word(offset)?])
}

/// The word for the CFA's offset.
fn cfa_word(offset: i64, architecture: &Architecture) -> Option<Word> {
    offset_word(architecture.stored_cfa_offset(offset)?)
}

/// The word for a value that is saved `offset` bytes from the CFA. On s390x offset 0 cannot be stored: it is the padding.
fn tracked(offset: i64, architecture: &Architecture) -> Option<Word> {
    offset_word(offset).filter(|_| offset != 0 || padding(architecture).is_none())
}

/// The word that says that the return address is not saved; only s390x has one.
fn padding(architecture: &Architecture) -> Option<Word> {
    (architecture.abi() == Abi::S390x).then_some(Word::Offset(0))
}

/// The word for a value in a register, which only version 2 errata 1 has, for s390x: the register's number above a set bit 0.
fn in_register(base: Base, architecture: &Architecture, version: Version) -> Option<Word> {
    if architecture.abi() != Abi::S390x || version != Version::V2 {
        return None;
    }
    let register = i32::try_from(architecture.register(base)?).ok()?;
    Some(Word::Offset(register << 1 | 1))
}

fn offset_word(offset: i64) -> Option<Word> {
    i32::try_from(offset).ok().map(Word::Offset)
}

/// Appends a row: start, info, and words of the narrowest common width.
pub(super) fn write(
    out: &mut Vec<u8>,
    little: bool,
    start: u32,
    start_width: u8,
    flags: u8,
    words: &[Word],
) {
    let width = words.iter().map(|word| word.width()).max().unwrap_or(0);
    // At most 6 words.
    let count = words.len() as u8;
    number(out, little, start, start_width);
    out.push(flags | count << format::ROW_COUNT_SHIFT | width << format::ROW_WIDTH_SHIFT);
    for word in words {
        number(out, little, word.bits(), width);
    }
}

/// Appends the low 1, 2 or 4 bytes of a number, by width code.
fn number(out: &mut Vec<u8>, little: bool, value: u32, width: u8) {
    let size = 1 << width;
    if little {
        out.extend_from_slice(&value.to_le_bytes()[..size]);
    } else {
        out.extend_from_slice(&value.to_be_bytes()[4 - size..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_narrow_as_they_can_be() {
        for (value, width) in [
            (0, 0),
            (127, 0),
            (-128, 0),
            (128, 1),
            (-129, 1),
            (32767, 1),
            (-32768, 1),
            (32768, 2),
            (-32769, 2),
            (i32::MIN, 2),
            (i32::MAX, 2),
        ] {
            assert_eq!(Word::Offset(value).width(), width, "offset {value}");
        }
        for (value, width) in [(0, 0), (255, 0), (256, 1), (65535, 1), (65536, 2)] {
            assert_eq!(Word::Control(value).width(), width, "control {value}");
        }
    }
}
