//! Texts with numbers in them. What an error writes is data for one function: code that calls a writer for each piece of each text takes
//! three times as much.

use core::fmt::{Result, Write};

use super::{decimal, hex};

/// One of several texts, with up to two numbers in it: see [`texts`] and [`fill`].
#[derive(Clone, Copy)]
pub(crate) struct Filled {
    /// The texts, each with a `|` behind it.
    pub(crate) texts: &'static str,
    /// Which of them, from 0.
    pub(crate) index: u8,
    pub(crate) numbers: [u64; 2],
}

impl Filled {
    /// Nothing.
    pub(crate) const NONE: Self = Self::of("", 0);

    /// A text that is the only one, with a number.
    pub(crate) const fn of(text: &'static str, number: u64) -> Self {
        Self {
            texts: text,
            index: 0,
            numbers: [number, 0],
        }
    }

    /// Whether both are the same, of one list or of two that differ in length.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let of_one_list = self.texts.len() == other.texts.len();
        of_one_list && self.index == other.index && self.numbers == other.numbers
    }

    #[inline(never)]
    pub(crate) fn write(&self, out: &mut dyn Write) -> Result {
        fill_one(out, self.texts, self.index, &self.numbers)
    }
}

/// The text for a value, that of the first pattern which fits, and these numbers: a [`Filled`].
///
/// All texts for a type are one string, and each is known by its number. A place and a length for each would take as much as the texts
/// themselves; and where the patterns are the variants in their order, the compiler has the number from the value without any code.
macro_rules! texts {
    ($value:expr, $numbers:expr; $($pattern:pat => $text:literal,)*) => {
        $crate::text::Filled {
            texts: const {
                let texts = concat!($($text, "|"),*);
                assert!($crate::text::are_texts(texts, [$($text),*].len()));
                texts
            },
            index: $crate::text::texts!(@index $value, 0; $($pattern,)*),
            numbers: $numbers,
        }
    };
    (@index $value:expr, $index:expr; $pattern:pat, $($rest:pat,)*) => {
        if matches!($value, $pattern) {
            $index
        } else {
            $crate::text::texts!(@index $value, (const { $index + 1 }); $($rest,)*)
        }
    };
    (@index $value:expr, $index:expr;) => { $index };
}
pub(crate) use texts;

/// Whether these are so many texts, which [`fill`] can write: asked when this crate is compiled.
pub(crate) const fn are_texts(texts: &str, count: usize) -> bool {
    let (mut rest, mut ends) = (texts.as_bytes(), 0_usize);
    while let [byte, behind @ ..] = rest {
        ends = ends.wrapping_add((*byte == b'|') as usize);
        rest = behind;
    }
    texts.is_ascii() && ends == count
}

/// Writes ASCII text, in which these characters stand for the next number: `#` in decimal; `@` in hexadecimal, with at least 16 digits, `$`
/// with 8, `&` with 4, `%` with 2 and `~` with at least one. A `|` ends the text.
#[inline(never)]
pub(crate) fn fill(out: &mut dyn Write, text: &str, numbers: &[u64]) -> Result {
    fill_one(out, text, 0, numbers)
}

/// The same of the text with this number, from 0.
#[inline(never)]
fn fill_one(out: &mut dyn Write, texts: &str, index: u8, numbers: &[u64]) -> Result {
    let mut numbers = numbers.iter();
    let mut skip = index;
    for byte in texts.bytes() {
        if byte == b'|' {
            match skip.checked_sub(1) {
                Some(fewer) => skip = fewer,
                None => break,
            }
            continue;
        }
        if skip != 0 {
            continue;
        }
        let least = match byte {
            b'#' => 0,
            b'@' => 16,
            b'$' => 8,
            b'&' => 4,
            b'%' => 2,
            b'~' => 1,
            other => {
                out.write_char(other.into())?;
                continue;
            }
        };
        let number = numbers.next().copied().unwrap_or(0);
        match least {
            0 => decimal(out, number),
            least => hex(out, number, least),
        }?;
    }
    Ok(())
}
