//! Ranges of code, and how a walk decodes their bytes: whether a call precedes a return address, its target, and where a function jumps to.
//!
//! Each of these needs a few bytes only, and no disassembler. Without instruction lengths, x86-64 bytes can be misread as calls or jumps.
//! Then a walk may accept a wrong return address, but never rejects a right return address.

mod effect;

use crate::memory::Range;

pub use effect::{Change, Effect, Flow, Place};

/// A range of code, with its bytes if they are available.
///
/// The bytes of a kernel's code are between two linker symbols. For a dump, perhaps only the range is known. See
/// [`Unwinder::code`](crate::Unwinder::code).
///
/// ```
/// use unwind::{Code, Range};
///
/// // `call 0x1010` at 0x1000.
/// let code = Code::new(&[0xe8, 0x0b, 0, 0, 0], 0x1000);
/// assert_eq!(code.range(), Range::new(0x1000, 0x1005));
/// ```
///
/// In a kernel:
///
/// ```
/// use unwind::Code;
///
/// /// Returns the code between the linker symbols `__text_start` and `__text_end`.
/// fn kernel_code(start: *const u8, end: *const u8) -> Code<'static> {
///     let size = end.addr() - start.addr();
///     Code::new(unsafe { core::slice::from_raw_parts(start, size) }, start.addr() as u64)
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Code<'a> {
    range: Range,
    bytes: &'a [u8],
}

impl<'a> Code<'a> {
    /// Creates the range of the code in `bytes`, whose first byte is at `address`.
    #[must_use]
    pub const fn new(bytes: &'a [u8], address: u64) -> Self {
        Self {
            range: Range::new(address, address.saturating_add(bytes.len() as u64)),
            bytes,
        }
    }

    /// Creates a range of code whose bytes are not known. A walk through this code never ends with [`End::Complete`](crate::End), because
    /// calls before return addresses cannot be checked.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// # use unwind::{Code, End, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    /// let code = [Code::without_bytes(Range::new(0x1000, 0x1030))];
    /// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
    /// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
    /// assert_eq!(frames.by_ref().count(), 2);
    /// assert_eq!(frames.end(), Some(End::Outermost));
    /// ```
    #[must_use]
    pub const fn without_bytes(range: Range) -> Self {
        Self { range, bytes: &[] }
    }

    /// Returns the range of addresses.
    #[must_use]
    pub const fn range(&self) -> Range {
        self.range
    }

    /// Checks whether the byte at `address` is code.
    #[inline]
    pub(crate) const fn holds(&self, address: u64) -> bool {
        self.range.holds(address, 1)
    }

    /// Returns the bytes before `address`; `None` if they are not known.
    #[inline]
    pub(crate) fn before(&self, address: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(address.checked_sub(self.range.start)?).ok()?;
        self.bytes.get(..length).filter(|bytes| !bytes.is_empty())
    }

    /// Returns the bytes before `address`; an empty slice if they are not known.
    #[inline(always)]
    pub(crate) fn known_before(&self, address: u64) -> &'a [u8] {
        let length = usize::try_from(address.wrapping_sub(self.range.start));
        let bytes = length.ok().and_then(|length| self.bytes.get(..length));
        bytes.unwrap_or(&[])
    }

    /// Returns the bytes from `address` on, at most `most`; `None` if they are not known.
    pub(crate) fn from(&self, address: u64, most: u64) -> Option<&'a [u8]> {
        let at = usize::try_from(address.checked_sub(self.range.start)?).ok()?;
        let bytes = self.bytes.get(at..)?;
        let length = usize::try_from(most).map_or(bytes.len(), |most| most.min(bytes.len()));
        bytes.get(..length).filter(|bytes| !bytes.is_empty())
    }
}

/// A transfer of control in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// A jump, conditional or not, to the target of this pointer to code.
    To(u64),
    /// A jump through a register or a word of memory.
    Anywhere,
    /// A call, which returns, of the target of this pointer to code.
    Call(u64),
}

/// The decoder of an architecture's instructions, as far as a walk needs them. Every function accepts any bytes.
pub trait Instructions {
    /// Returns the address in a pointer to code: on ARM, the lowest bit selects Thumb and is not part of the address.
    #[inline(always)]
    fn place(pointer: u64) -> u64 {
        pointer
    }

    /// The alignment of instructions in bytes.
    const ALIGNMENT: usize;

    /// Returns a pointer to the code that is called, if a direct call may end with the last of `bytes`. `end` is a pointer to the code after
    /// them. If instructions differ in length, the same bytes may also be an indirect call, and either may have run.
    fn direct_call(bytes: &[u8], end: u64) -> Option<u64>;

    /// Checks whether a call through a register or a word of memory may end with the last of `bytes`.
    fn is_indirect_call(bytes: &[u8], end: u64) -> bool;

    /// Returns the jump with which `bytes` may begin, and the number of bytes after which to search for the next jump. `at` is a pointer to
    /// the first byte. The number is the jump's length or, if other bytes may look like this jump by chance, at most [`Self::ALIGNMENT`].
    fn jump(bytes: &[u8], at: u64) -> Option<(Jump, usize)>;

    /// Returns the effect on a frame of the instruction with which `bytes` begin, at the address `at`; `None` if the effect is not known.
    fn effect(_bytes: &[u8], _at: u64) -> Option<Effect> {
        None
    }

    /// Checks whether control flow certainly does not pass the end of `bytes`. A call there counts as an end, because a call that is the
    /// last instruction of a function does not return.
    fn ends(bytes: &[u8]) -> bool;
}

#[cfg(test)]
mod tests;
