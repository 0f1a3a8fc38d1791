//! Stacks that nobody has declared, and what a walk may do without.

use crate::memory::{Memory, Range, sealed};

/// Stacks that are not declared up front: each is asked for when the walk comes to it. Of one that nobody knows a walk reads only
/// words above its stack pointer, at most [`Self::SPAN`] bytes further, and does not know where it begins. So the outermost
/// function's frame may lie anywhere there, and such a walk ends with [`End::Outermost`](crate::End) at best; on a stack that
/// `stack_of` knows, with [`End::Complete`](crate::End).
///
/// A walk only goes up, by a word at least, changes stacks at most [`Self::SWITCHES`] times, and never goes back to where it has
/// been. So it ends; [`Unwinder::limit`](crate::Unwinder::limit) says how soon.
///
/// ```
/// use unwind::{Code, End, Range, Undeclared, Unwinder, sframe::Tables, x86_64::Registers};
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
/// // The code of the outermost function: `call 0x1010`.
/// let code = [Code::new(&[0xe8, 0x0b, 0, 0, 0], 0x1000)];
/// // A kernel looks into its page tables before it reads.
/// let read = |address: u64| [0_u64, 0x1005].get((address as usize).checked_sub(0x8000)? / 8).copied();
/// let unwinder = Unwinder::new(Tables::new(&table, 0x2000)).code(&code);
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
    /// What may be read: it begins at the walk's stack pointer.
    rest: Range,
    /// The lowest address of this stack that is known: its own, or the stack pointer with which the walk came.
    from: u64,
    /// Whether `rest` ends where the stack does.
    is_known: bool,
    /// The stacks that the walk has left: as far as it knows them, the ends included.
    left: [Option<Range>; SWITCHES],
    switches: usize,
}

const SWITCHES: usize = 4;

impl<R: Fn(u64) -> Option<u64>, A: Fn(u64) -> Option<Range>> Undeclared<R, A> {
    /// Bytes above its stack pointer that a walk reads of a stack that nobody knows: no frame is that large.
    pub const SPAN: u64 = 1 << 20;

    /// How often a walk may go to another stack.
    pub const SWITCHES: usize = SWITCHES;

    /// Memory that `read` reads: see [`Memory`]. It is asked for any address, as a damaged stack pointer can be anything, and has to
    /// find out whether something that may be read lies there. `stack_of` tells the stack with a stack pointer, if it is known; its
    /// guard pages may belong to it. If only the address is known at which a stack begins, `stack_of` returns an empty range there, and `None` for other
    /// addresses of the stack.
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

    /// Makes what lies above `sp` of the stack there what the walk reads, unless the walk has been there.
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

    /// Goes up to `sp` on a stack that ends at `end`, if that is known. Otherwise it ends below the stacks that the walk has left: one
    /// that a damaged trap frame names may lie right below them.
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
            // Only that a stack begins there may be known.
            false => (self.stack_of)(sp).and_then(|stack| (stack.end == sp).then_some(true)),
        }
    }
}
