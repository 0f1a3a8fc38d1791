//! The memory that a walk reads: the traits, address ranges, and unbounded memory.

/// A range of addresses, `start..end`.
///
/// ```
/// use unwind::Range;
///
/// let stack = Range::new(0x8000, 0x9000);
/// assert!(stack.holds(0x8ff8, 8) && !stack.holds(0x8ff9, 8));
/// // An empty stack has its stack pointer at the end.
/// assert!(stack.holds_stack_pointer(0x9000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Range {
    /// The first address of the range.
    pub start: u64,
    /// The first address after the range.
    pub end: u64,
}

impl Range {
    /// Creates the range of the addresses `start..end`.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// Creates the range of one byte.
    #[inline(always)]
    pub(crate) const fn of_one(address: u64) -> Self {
        Self::new(address, address.wrapping_add(1))
    }

    /// Checks whether the range contains all of an object of `size` bytes at `address`.
    #[must_use]
    #[inline]
    pub const fn holds(&self, address: u64, size: u64) -> bool {
        match address.checked_add(size) {
            Some(end) => self.start <= address && end <= self.end,
            None => false,
        }
    }

    /// Checks whether the range contains `address`.
    pub(crate) const fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }

    /// Checks whether `sp` is a valid stack pointer for a stack in this range. The end of the range is valid, for an empty stack.
    #[must_use]
    #[inline]
    pub const fn holds_stack_pointer(&self, sp: u64) -> bool {
        self.start <= sp && sp <= self.end
    }
}

/// The memory that a walk may read. This crate implements the trait for three types, and other crates cannot implement it.
///
/// | type | stacks | best end of a walk |
/// |---|---|---|
/// | [`Stacks`](crate::Stacks) | declared ranges | [`End::Complete`](crate::End) |
/// | [`Undeclared`](crate::Undeclared) | a function finds each stack, if it is known | [`End::Complete`](crate::End) if it is, else [`End::Outermost`](crate::End) |
/// | [`Unbounded`] | not known | [`End::NotAtBase`](crate::End) |
///
/// The last two can also end with [`End::Complete`](crate::End) if the tables contain the base of the stack: the constant that boot code
/// loads into the stack pointer.
///
/// A list is complete only if the base of the stack is known, so an implementation for all closures could not guarantee that a list is
/// complete.
///
/// # The closure that reads
///
/// Each type reads with a closure, `Fn(u64) -> Option<u64>`. The closure gets the address of a word, and returns the word, converted from
/// the target's byte order, or `None` if the word cannot be read. A word has the size of the architecture's general registers: 8 bytes
/// on x86-64, AArch64 and s390x, 4 bytes on 32-bit ARM.
///
/// **A walk calls the closure only for addresses that are multiples of the word size.** [`Stacks`](crate::Stacks) calls it only inside
/// declared stacks, so that it may use `read_volatile` on a `*const u64`. [`Undeclared`](crate::Undeclared) and [`Unbounded`] call it for
/// any address, so there the closure must check that the word can be read.
///
/// ```
/// use unwind::{Range, Stacks};
///
/// let stacks = [Range::new(0x8000, 0x9000)];
/// // Sound if the kernel owns these stacks, because no other address is read.
/// let read = |address: u64| Some(unsafe { (address as *const u64).read_volatile() });
/// let memory = Stacks::new(&stacks, read);
/// ```
///
/// # Misaligned addresses
///
/// An interrupted stack pointer can have any value, and so can an offset in a damaged table. A walk does not read a misaligned word: the
/// walk ends with [`End::UnalignedWord`](crate::End), unless a fallback finds the caller. A scan of the stack begins at the next
/// aligned word. A word is not combined from its two aligned neighbours, because no call stores a return address at a misaligned address.
pub trait Memory: sealed::Words {}

pub(crate) mod sealed {
    use super::Range;

    /// The operations of a walk on memory.
    pub trait Words {
        /// Returns the word of `size` bytes at `address`, a multiple of `size`; `None` if the word must not or cannot be read.
        fn word(&self, address: u64, size: u64) -> Option<u64>;

        /// Returns the frame of a function: the memory from `from`, the stack pointer of the walk, to `top`. `to` is the stack pointer of its
        /// caller, at most `top`. `None` if the walk would leave its stack, or if that cannot be found out quickly.
        ///
        /// Afterwards one comparison per word finds out whether the word is in the frame, and the step to `to` needs none.
        #[inline(always)]
        fn frame(&self, from: u64, to: u64, top: u64, _size: u64) -> Option<Range> {
            (from < to).then_some(Range::new(from, top))
        }

        /// Returns what [`Self::word`] returns, for a word in such a frame. Also returns `None` for other words.
        #[inline(always)]
        fn word_of(&self, _frame: &Range, address: u64, size: u64) -> Option<u64> {
            self.word(address, size)
        }

        /// Does what [`Self::advance`] does, for a move to the caller of such a frame.
        #[inline(always)]
        fn leave(&mut self, frame: &Range, to: u64, size: u64) -> bool {
            self.advance(frame.start, to, size)
        }

        /// Moves the walk from the stack pointer `from` to `to`, if that is allowed, and returns whether it is; otherwise
        /// changes nothing. Afterwards nothing below `to` may be read. Words have `size` bytes.
        ///
        /// Allows only finitely many moves, so that every walk ends.
        fn advance(&mut self, from: u64, to: u64, size: u64) -> bool;

        /// Starts a walk at the stack pointer `sp`, and returns whether that is allowed.
        fn enter(&mut self, sp: u64) -> bool;

        /// Checks whether `sp` is a stack pointer on the walk's stack, so that a move to `sp` leaves no stack.
        fn is_on_stack(&self, sp: u64) -> bool;

        /// Checks whether a stack begins at the canonical frame address `sp`, so that the outermost function's frame may be there; `None` if
        /// the base of the walk's stack is unknown.
        fn is_base(&self, sp: u64) -> Option<bool>;
    }
}

/// Checks whether an address is a multiple of `size` bytes, a power of two.
#[inline(always)]
pub(crate) const fn is_aligned(address: u64, size: u64) -> bool {
    address & size.wrapping_sub(1) == 0
}

/// Memory whose stacks are not known, read with a closure: a core dump, or another address space.
///
/// A walk only moves to higher addresses, so every walk ends, usually with [`End::NotAtBase`](crate::End) at best: see [`Memory`]. If a
/// stack is known, declare it with [`Stacks`](crate::Stacks) and the same closure:
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::{CODE, TABLE};
/// use unwind::{Code, End, Range, Stacks, Unbounded, Unwinder, sframe::Tables, x86_64::Registers};
///
/// // The dump contains a piece of a stack: its address and its bytes.
/// let dump: (u64, Vec<u8>) = (0x8000, [0_u64, 0x1005].iter().flat_map(|word| word.to_le_bytes()).collect());
/// let code = [Code::new(&CODE, 0x1000)];
/// let read = |address: u64| {
///     let at = usize::try_from(address.checked_sub(dump.0)?).ok()?;
///     Some(u64::from_le_bytes(*dump.1.get(at..)?.first_chunk()?))
/// };
/// let registers = Registers::new(0x1018, 0x8000, 0);
/// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
/// let mut frames = unwinder.frames(registers, Unbounded(read));
/// assert_eq!(frames.by_ref().count(), 2);
/// // The base of the stack is not known.
/// assert_eq!(frames.end(), Some(End::NotAtBase(0x8010)));
///
/// let ranges = [Range::new(0x8000, 0x8010)];
/// let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
/// assert_eq!(frames.by_ref().count(), 2);
/// assert_eq!(frames.end(), Some(End::Complete));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Unbounded<R>(
    /// The closure that reads the word at an aligned address: see [`Memory`].
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
