//! Stacks that are not declared, and the walk over them.

use crate::memory::{Memory, Range, sealed};

/// Stacks that are not declared in advance: a function finds each stack when the walk comes to it.
///
/// If the function knows the stack, the walk can end with [`End::Complete`](crate::End). If not, the walk reads only words above its stack
/// pointer, at most [`Self::SPAN`] bytes further, and the base of the stack is unknown. Such a walk ends with
/// [`End::Outermost`](crate::End) at best, unless the tables contain the constant that boot code loaded into the stack pointer.
///
/// A walk only moves to higher addresses, by at least one word, switches stacks at most [`Self::SWITCHES`] times, and never returns to a
/// stack that it left. So every walk ends. [`Unwinder::limit`](crate::Unwinder::limit) limits the number of frames.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::{CODE, TABLE};
/// use unwind::{Code, End, Range, Undeclared, Unwinder, sframe::Tables, x86_64::Registers};
///
/// let code = [Code::new(&CODE, 0x1000)];
/// // A kernel looks into its page tables before it reads.
/// let read = |address: u64| [0_u64, 0x1005].get((address as usize).checked_sub(0x8000)? / 8).copied();
/// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
/// let registers = Registers::new(0x1018, 0x8000, 0);
///
/// let mut frames = unwinder.frames(registers, Undeclared::new(read, |_| None));
/// assert_eq!(frames.by_ref().count(), 2);
/// assert_eq!(frames.end(), Some(End::Outermost));
/// assert_eq!(frames.doubt().map(|doubt| doubt.reason), Some(End::BaseUnknown(0x8010)));
///
/// let mut frames = unwinder.frames(registers, Undeclared::new(read, |_| Some(Range::new(0x8000, 0x8010))));
/// assert_eq!(frames.by_ref().count(), 2);
/// assert_eq!(frames.end(), Some(End::Complete));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Undeclared<R, A> {
    read: R,
    stack_of: A,
    /// The memory that may be read, from the walk's stack pointer on.
    rest: Range,
    /// The lowest known address of this stack: its start, or the stack pointer with which the walk entered it.
    from: u64,
    /// Whether the end of `rest` is the base of the stack.
    is_known: bool,
    /// The stacks that the walk has left, as far as they are known, the ends included.
    left: [Option<Range>; SWITCHES],
    switches: usize,
}

const SWITCHES: usize = 4;

impl<R: Fn(u64) -> Option<u64>, A: Fn(u64) -> Option<Range>> Undeclared<R, A> {
    /// The distance above its stack pointer, in bytes, up to which a walk reads a stack whose bounds are unknown. No frame is that large.
    pub const SPAN: u64 = 1 << 20;

    /// The maximum number of times that a walk may switch to another stack.
    pub const SWITCHES: usize = SWITCHES;

    /// Creates the memory of a walk from two functions.
    ///
    /// `read` reads a word: see [`Memory`]. A walk calls it for any address, because a damaged stack pointer can have any value, so `read`
    /// must check that the word can be read.
    ///
    /// `stack_of` returns the stack that contains a stack pointer, or `None` if the stack is not known. Guard pages may be included. If only the
    /// base of a stack is known, `stack_of` returns an empty range at the base, and `None` for other addresses of the stack.
    #[must_use]
    pub const fn new(read: R, stack_of: A) -> Self {
        Self {
            read,
            stack_of,
            rest: Range::new(0, 0),
            from: 0,
            is_known: false,
            left: [None; SWITCHES],
            switches: 0,
        }
    }

    /// Switches to the stack that contains `sp`, unless the walk has been there. From now on the walk reads the stack above `sp`.
    fn go_to(&mut self, sp: u64) -> bool {
        let stack = (self.stack_of)(sp).filter(|stack| stack.holds_stack_pointer(sp));
        let place = stack.unwrap_or(Range::new(sp, sp));
        // Of two stacks side by side, the lower one ends where the upper one starts.
        let is_emptied = place.start < sp && sp == place.end;
        let was_there = |left: &Range| {
            let overlaps = left.start < place.end && place.start < left.end;
            overlaps || (left.holds_stack_pointer(sp) && !is_emptied)
        };
        if self.left.iter().flatten().any(was_there) {
            return false;
        }
        self.is_known = stack.is_some();
        self.from = place.start;
        self.go_up(sp, place.end);
        true
    }

    /// Moves up to `sp` on a stack that ends at `end`, if its end is known. Otherwise the stack ends below the stacks that the walk has left,
    /// because a damaged trap frame may contain a stack pointer immediately below them.
    fn go_up(&mut self, sp: u64, end: u64) {
        let end = match self.is_known {
            true => end,
            false => {
                let above = self.left.iter().flatten().map(|left| left.start);
                let above = above.filter(|start| *start >= sp);
                above.fold(sp.saturating_add(Self::SPAN), u64::min)
            }
        };
        self.rest = Range::new(sp, end);
    }
}

impl<R: Fn(u64) -> Option<u64>, A: Fn(u64) -> Option<Range>> Memory for Undeclared<R, A> {}

impl<R: Fn(u64) -> Option<u64>, A: Fn(u64) -> Option<Range>> sealed::Words for Undeclared<R, A> {
    #[inline(never)]
    fn word(&self, address: u64, size: u64) -> Option<u64> {
        self.rest
            .holds(address, size)
            .then(|| (self.read)(address))?
    }

    #[inline(always)]
    fn frame(&self, from: u64, to: u64, top: u64, _: u64) -> Option<Range> {
        let is_here = from < to && to <= top && self.rest.holds_stack_pointer(top);
        is_here.then_some(Range::new(from, top))
    }

    fn advance(&mut self, from: u64, to: u64, size: u64) -> bool {
        if self.rest.holds_stack_pointer(to) {
            // At least one word of progress: a call or an interruption has stored at least that much.
            let up = to.checked_sub(from).is_some_and(|up| up >= size);
            if up {
                self.go_up(to, self.rest.end);
            }
            return up;
        }
        let end = match self.is_known {
            true => self.rest.end,
            false => self.rest.start,
        };
        let Some(left) = self.left.get_mut(self.switches) else {
            return false;
        };
        *left = Some(Range::new(self.from, end));
        let may = self.go_to(to);
        if may {
            self.switches = self.switches.saturating_add(1);
        } else if let Some(left) = self.left.get_mut(self.switches) {
            *left = None;
        }
        may
    }

    fn enter(&mut self, sp: u64) -> bool {
        self.go_to(sp)
    }

    fn is_on_stack(&self, sp: u64) -> bool {
        self.rest.holds_stack_pointer(sp)
    }

    fn is_base(&self, sp: u64) -> Option<bool> {
        match self.is_known {
            true => Some(self.rest.end == sp),
            // The base alone may be known.
            false => (self.stack_of)(sp).and_then(|stack| (stack.end == sp).then_some(true)),
        }
    }
}
