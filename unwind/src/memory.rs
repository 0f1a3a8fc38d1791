//! The memory that a walk reads: the traits, address ranges, and unbounded memory.

/// An address range, `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Range {
    /// First address.
    pub start: u64,
    /// First address after the range.
    pub end: u64,
}

impl Range {
    /// The range `start..end`, both addresses.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// The range of one byte.
    #[inline(always)]
    pub(crate) const fn of_one(address: u64) -> Self {
        Self::new(address, address.wrapping_add(1))
    }

    /// Whether an object of `size` bytes at `address` lies wholly inside.
    #[must_use]
    #[inline]
    pub const fn holds(&self, address: u64, size: u64) -> bool {
        match address.checked_add(size) {
            Some(end) => self.start <= address && end <= self.end,
            None => false,
        }
    }

    /// Whether `address` is one of the range.
    pub(crate) const fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }

    /// Whether a stack pointer may have this value while the stack is `self`: its end means empty.
    #[must_use]
    #[inline]
    pub const fn holds_stack_pointer(&self, sp: u64) -> bool {
        self.start <= sp && sp <= self.end
    }
}

/// The memory that a walk may read: [`Stacks`](crate::Stacks), [`Undeclared`](crate::Undeclared), or [`Unbounded`]. Implemented
/// for these types, and for no other.
///
/// A complete trace depends on that: only who was told knows where a stack begins, and a walk over memory that can be read
/// anywhere never ends [`End::Complete`](crate::End). An implementation for all closures, or by other crates, was rejected: neither
/// could guarantee this.
///
/// # Every word is aligned
///
/// All of them read by a closure, `Fn(u64) -> Option<u64>`. It gets the address of a word, and returns the word in the target's
/// byte order, or `None` where it cannot be read. A word has the size of the architecture's general registers: 8 bytes on
/// x86-64, AArch64 and s390x, 4 on 32-bit ARM. **The closure is called only for addresses that are multiples of that size.** That
/// of [`Stacks`](crate::Stacks) is called only inside declared stacks, so that it may read by `read_volatile` of a `*const u64`;
/// those of [`Undeclared`](crate::Undeclared) and [`Unbounded`] may not.
///
/// Misaligned addresses do occur: an interrupted stack pointer can have any value, and so can an offset in a damaged table. A
/// walk does not read such a word: it ends with [`End::UnalignedWord`](crate::End), unless a fallback finds the caller. To
/// combine the word from the two aligned ones around it was rejected: no call pushes a return address to a misaligned place, so
/// the result would be two halves of other values. A scan of the stack begins at the next aligned word.
pub trait Memory: sealed::Words {}

pub(crate) mod sealed {
    use super::Range;

    /// The operations of a walk on memory.
    pub trait Words {
        /// The word of `size` bytes at `address`, which is a multiple of `size`; `None` when it must not or cannot be read.
        fn word(&self, address: u64, size: u64) -> Option<u64>;

        /// The frame of a function whose stack pointer is `from`, that of the walk, and whose caller's will be `to`: memory up to `top`, which
        /// is no less than `to`. Only if the walk may go to `to` without leaving its stack, and that is quickly told; `None` says nothing.
        ///
        /// One comparison then tells of each word whether it is in the frame, and none is needed to go on.
        #[inline(always)]
        fn frame(&self, from: u64, to: u64, top: u64, _size: u64) -> Option<Range> {
            (from < to).then_some(Range::new(from, top))
        }

        /// As [`Self::word`], of a word in such a frame. `None` says nothing.
        #[inline(always)]
        fn word_of(&self, _frame: &Range, address: u64, size: u64) -> Option<u64> {
            self.word(address, size)
        }

        /// As [`Self::advance`], to the caller of such a frame.
        #[inline(always)]
        fn leave(&mut self, frame: &Range, to: u64, size: u64) -> bool {
            self.advance(frame.start, to, size)
        }

        /// Moves the walk from the stack pointer `from` to `to`, if that is allowed, and returns whether it is; otherwise
        /// changes nothing. Afterwards nothing below `to` may be read. Words have `size` bytes.
        ///
        /// Allows only finitely many moves, so that every walk ends.
        fn advance(&mut self, from: u64, to: u64, size: u64) -> bool;

        /// Whether a walk may start at the stack pointer `sp`.
        fn enter(&mut self, sp: u64) -> bool;

        /// Whether `sp` is a stack pointer on the walk's stack, so that a move to it leaves no other stack.
        fn is_on_stack(&self, sp: u64) -> bool;

        /// Whether the canonical frame address `sp` is where a stack begins, so that the outermost function's frame may lie there;
        /// `None` if nobody has said where the walk's stack begins.
        fn is_base(&self, sp: u64) -> Option<bool>;
    }
}

/// Whether an address is a multiple of `size` bytes, a power of two.
#[inline(always)]
pub(crate) const fn is_aligned(address: u64, size: u64) -> bool {
    address & size.wrapping_sub(1) == 0
}

/// Memory without declared stacks, read by a closure: a core dump, or another address space whose stacks are not known.
///
/// A walk over it only goes up, so it ends, at best with [`End::NotAtBase`](crate::End). If a stack is known, declare it by
/// [`Stacks`](crate::Stacks) over the same closure:
///
/// ```
/// use unwind::{Code, End, Range, Stacks, Unbounded, Unwinder, sframe::Tables, x86_64::Registers};
///
/// # let table: [u8; 107] = [
/// #     0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 2, 0, 0, 0, 3, 0, 0, 0, 47, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0,
/// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0,
/// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 7, 0, 0, 0,
/// #     1, 0, 0, 0, 0,  0, 0,
/// #     2, 0, 0, 0, 0,  0, 3, 8,  1, 5, 16, 0xf0,
/// #     0, 0, 0, 0, b'S', b'F', b'P', b'F', 0, 0x20, 0, 0, 0, 0, 0, 0, b'S', b'L', b'N', b'K',
/// #     0x20, 0x40, 0x34, 0x4a, b'S', b'F', b'C', b'K',
/// # ];
/// // The dump holds a piece of the stack: where it lay, and its bytes.
/// let dump: (u64, Vec<u8>) = (0x8000, [0_u64, 0x1005].iter().flat_map(|word| word.to_le_bytes()).collect());
/// // And the code of the outermost function: `call 0x1010`.
/// let code = [Code::new(&[0xe8, 0x0b, 0, 0, 0], 0x1000)];
/// let read = |address: u64| {
///     let at = usize::try_from(address.checked_sub(dump.0)?).ok()?;
///     Some(u64::from_le_bytes(*dump.1.get(at..)?.first_chunk()?))
/// };
/// let registers = Registers::new(0x1018, 0x8000, 0);
/// let unwinder = Unwinder::new(Tables::new(&table, 0x2000)).code(&code);
/// let mut frames = unwinder.frames(registers, Unbounded(read));
/// assert_eq!(frames.by_ref().count(), 2);
/// // Nobody has said where a stack begins, so that the frame of the outermost function may lie anywhere.
/// assert_eq!(frames.end(), Some(End::NotAtBase(0x8010)));
///
/// let ranges = [Range::new(0x8000, 0x8010)];
/// let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
/// assert_eq!(frames.by_ref().count(), 2);
/// assert_eq!(frames.end(), Some(End::Complete));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Unbounded<R>(
    /// Reads the word at an aligned address: see [`Memory`].
    pub R,
);

impl<R: Fn(u64) -> Option<u64>> Memory for Unbounded<R> {}

impl<R: Fn(u64) -> Option<u64>> sealed::Words for Unbounded<R> {
    fn word(&self, address: u64, _: u64) -> Option<u64> {
        (self.0)(address)
    }

    fn advance(&mut self, from: u64, to: u64, _: u64) -> bool {
        from < to
    }

    fn enter(&mut self, _: u64) -> bool {
        true
    }

    fn is_on_stack(&self, _: u64) -> bool {
        true
    }

    fn is_base(&self, _: u64) -> Option<bool> {
        Some(false)
    }
}
