//! Ranges of code, and what a walk reads from their bytes: whether a call is before a return address, where it leads, and where
//! a function jumps to.
//!
//! No disassembler is needed: a few bytes answer each of these questions. Without instruction lengths, x86-64 bytes can be
//! misread as calls or jumps; then a walk may accept a wrong return address, but never rejects a right one.

mod effect;

use crate::memory::Range;

pub use effect::{Change, Effect, Flow, Place};

/// A range of code, with its bytes if they are available.
///
/// A kernel has its bytes, between two linker symbols. For a dump perhaps only the ranges are known.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a> {
    range: Range,
    bytes: &'a [u8],
}

impl<'a> Code<'a> {
    /// The code in `bytes`, which lie at `address`.
    #[must_use]
    pub const fn new(bytes: &'a [u8], address: u64) -> Self {
        Self {
            range: Range::new(address, address.saturating_add(bytes.len() as u64)),
            bytes,
        }
    }

    /// Code of which only the range is known. A walk through it is never [`End::Complete`](crate::End), because return
    /// addresses cannot be checked for a call before them.
    #[must_use]
    pub const fn without_bytes(range: Range) -> Self {
        Self { range, bytes: &[] }
    }

    /// Where it lies.
    #[must_use]
    pub const fn range(&self) -> Range {
        self.range
    }

    /// Whether the byte at `address` is code.
    #[inline]
    pub(crate) const fn holds(&self, address: u64) -> bool {
        self.range.holds(address, 1)
    }

    /// The bytes before `address`; `None` where they are not known.
    #[inline]
    pub(crate) fn before(&self, address: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(address.checked_sub(self.range.start)?).ok()?;
        self.bytes.get(..length).filter(|bytes| !bytes.is_empty())
    }

    /// The bytes before `address`, or none where they are not known.
    #[inline(always)]
    pub(crate) fn known_before(&self, address: u64) -> &'a [u8] {
        let length = usize::try_from(address.wrapping_sub(self.range.start));
        let bytes = length.ok().and_then(|length| self.bytes.get(..length));
        bytes.unwrap_or(&[])
    }

    /// The bytes from `address` on, at most `most`; `None` where they are not known.
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
    /// A jump to where this pointer to code leads, conditional or not.
    To(u64),
    /// A jump through a register or a word of memory.
    Anywhere,
    /// A call of where this one leads, which returns.
    Call(u64),
}

/// What a walk reads out of an architecture's code. Every function is total: bytes may be anything.
pub trait Instructions {
    /// The address that a pointer to code leads to: on ARM its lowest bit is not of the address, but tells Thumb.
    #[inline(always)]
    fn place(pointer: u64) -> u64 {
        pointer
    }

    /// Every instruction starts at a multiple of this many bytes.
    const ALIGNMENT: usize;

    /// A pointer to the code that is called, if a direct call may end with the last of `bytes`, right before where `end` leads, a
    /// pointer to code. Where instructions differ in length the same bytes may be read as an indirect call, too, and either may be what was run.
    fn direct_call(bytes: &[u8], end: u64) -> Option<u64>;

    /// Whether a call through a register or a word of memory may end there.
    fn is_indirect_call(bytes: &[u8], end: u64) -> bool;

    /// The jump that `bytes` may begin with, which lie where `at` leads, a pointer to code, and how many bytes further to look for the
    /// next: its length or, where any bytes may look like it by chance, no more than [`Self::ALIGNMENT`].
    fn jump(bytes: &[u8], at: u64) -> Option<(Jump, usize)>;

    /// What the instruction does to a frame that `bytes` begin with and that lies at the address `at`; `None` if that is not known.
    fn effect(_bytes: &[u8], _at: u64) -> Option<Effect> {
        None
    }

    /// Whether control certainly does not pass the end of `bytes`. A call there counts as an end, because a call that is a
    /// function's last instruction does not return.
    fn ends(bytes: &[u8]) -> bool;
}

#[cfg(test)]
mod tests;
