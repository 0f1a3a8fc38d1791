//! The search for tail calls: whether code gets from one function to another without a call.

use crate::code::Jump;
use crate::lookup::Found;
use crate::memory::Range;
use crate::registers::RegisterSet;
use crate::source::RowSource;
use crate::walk::Unwinder;

/// The greatest number of pieces of code to search for a way from a call's target to a function. A chain of tail calls seldom
/// has more than two, and a function seldom more than three pieces; code that jumps to many others is a dispatcher.
const PIECES: usize = 8;

/// The greatest number of bytes to search, which bounds the time that a damaged stack can cost: three times the largest
/// function of this repository's kernel.
const BYTES: u32 = 1 << 16;

/// The greatest number of bytes to search from an address without a function in the table: PLT entries and linkers' veneers
/// have 12 to 20, and assembly without rows is short.
const UNDESCRIBED: u64 = 256;

impl<S: RowSource> Unwinder<'_, S> {
    /// Whether code from `target` on can get to the function that was `found` without a call: by jumps, also of functions in between,
    /// and by running on where a piece of a function has no end. An indirect jump can get anywhere.
    ///
    /// A list of pieces instead of recursion keeps the stack usage constant. If a limit ends the search, the result is false:
    /// only a way that was found counts. The memory of `found` is used for other look-ups.
    // What a piece is searched with is in a function of its own, so that it is not on the stack while a piece is looked up.
    #[inline(never)]
    pub(super) fn leads_to<R: RegisterSet>(
        &self,
        target: u64,
        user: bool,
        found: &mut Found,
    ) -> bool {
        let goal = self.whole(found);
        let mut pieces = Pieces::new();
        let (mut to, mut index) = (target, 0_usize);
        // How far the piece with this number was searched, and how many bytes may still be.
        let (mut passed, mut left) = (0, BYTES);
        loop {
            self.add::<R>(to, goal, &mut pieces, found);
            to = loop {
                let Some(piece) = pieces.get(index) else {
                    return false;
                };
                let way = self.way::<R>(piece, goal, user, &mut passed, &mut left);
                match way {
                    Way::Over(leads) => return leads,
                    Way::Jumps(to) => break to,
                    Way::RunsOn(_) | Way::Ends => {
                        (index, passed) = (index.wrapping_add(1), 0);
                    }
                }
                if let Way::RunsOn(to) = way {
                    break to;
                }
            };
        }
    }

    /// Searches a piece from the byte on that `passed` counts, up to its next jump; `left` counts the bytes.
    #[inline(never)]
    fn way<R: RegisterSet>(
        &self,
        piece: Range,
        goal: Range,
        user: bool,
        passed: &mut usize,
        left: &mut u32,
    ) -> Way {
        let start = R::place(piece.start);
        let size = piece.end.wrapping_sub(start);
        let code = self.code_at(start, user);
        let Some(code) = code.and_then(|code| code.from(start, size)) else {
            return Way::Ends;
        };
        while let Some(rest @ [_, ..]) = code.get(*passed..) {
            let Some(fewer) = left.checked_sub(1) else {
                return Way::Over(false);
            };
            *left = fewer;
            let at = piece.start.wrapping_add(*passed as u64);
            let mut length = R::ALIGNMENT;
            let jump = R::jump(rest, at);
            match jump {
                Some((Jump::Anywhere, _)) => return Way::Over(true),
                Some((Jump::To(to), _)) if goal.holds(to, 1) => return Way::Over(true),
                // Bytes that lead out of all code are not an instruction.
                Some((Jump::To(to) | Jump::Call(to), of_jump))
                    if self.code_at(to, user).is_some() =>
                {
                    length = of_jump;
                }
                _ => {}
            }
            *passed = passed.wrapping_add(length);
            if let Some((Jump::To(to), of_jump)) = jump
                && length == of_jump
            {
                return Way::Jumps(to);
            }
        }
        match R::ends(code) {
            true => Way::Ends,
            false if goal.holds(piece.end, 1) => Way::Over(true),
            false => Way::RunsOn(piece.end),
        }
    }

    /// Adds the piece of code that `address` is in, if that is new and there is room. Otherwise it is not looked up: code may
    /// hold any number of jumps, and a look-up may have to read a whole table.
    #[inline(always)]
    fn add<R: RegisterSet>(
        &self,
        address: u64,
        goal: Range,
        pieces: &mut Pieces,
        found: &mut Found,
    ) {
        if !pieces.has(address) && pieces.count < PIECES {
            let piece = self.piece::<R>(address, goal, found);
            pieces.push(piece);
        }
    }

    /// All of the function that was `found`.
    pub(super) fn whole(&self, found: &Found) -> Range {
        let function = self.source.function(found.last_address());
        function.unwrap_or(found.range)
    }

    /// The piece of code that `address` is in: the table's function, or some bytes, up to `goal` at most.
    fn piece<R: RegisterSet>(&self, address: u64, goal: Range, found: &mut Found) -> Range {
        found.range = Range::new(0, 0);
        let function = match self.source.look_up(address, found) {
            Ok(()) => Some(self.whole(found)),
            // A function without a row for this address still has its extent.
            Err(_) => (self.source.function(address))
                .or_else(|| found.range.contains(address).then_some(found.range)),
        };
        if let Some(function) = function {
            // What a pointer tells beside the address is true of the whole function.
            let beside = address ^ R::place(address);
            return Range::new(function.start | beside, function.end);
        }
        let end = address.saturating_add(UNDESCRIBED);
        let cut = address < goal.start && goal.start < end;
        Range::new(address, if cut { goal.start } else { end })
    }
}

/// Where the search of a piece of code has come to.
#[derive(Clone, Copy)]
enum Way {
    /// To the end of all search, and whether that is the goal.
    Over(bool),
    /// To a jump to this address.
    Jumps(u64),
    /// To the end of the piece, from where the code runs on to this address.
    RunsOn(u64),
    /// To the end of the piece, and no further.
    Ends,
}

/// The pieces of code to search, each of them once.
struct Pieces {
    starts: [u64; PIECES],
    /// In bytes. Of a larger piece so many are searched, which are more than the search has left.
    sizes: [u32; PIECES],
    count: usize,
}

impl Pieces {
    const fn new() -> Self {
        Self {
            starts: [0; PIECES],
            sizes: [0; PIECES],
            count: 0,
        }
    }

    fn get(&self, index: usize) -> Option<Range> {
        let (start, size) = (self.starts.get(index)?, self.sizes.get(index)?);
        let piece = Range::new(*start, start.wrapping_add((*size).into()));
        (index < self.count).then_some(piece)
    }

    /// Whether an address is in one of them.
    fn has(&self, address: u64) -> bool {
        (0..self.count).any(|index| self.get(index).is_some_and(|piece| piece.holds(address, 1)))
    }

    /// Adds one, if there is room.
    fn push(&mut self, piece: Range) {
        let size = u32::try_from(piece.end.wrapping_sub(piece.start)).unwrap_or(u32::MAX);
        let places = (
            self.starts.get_mut(self.count),
            self.sizes.get_mut(self.count),
        );
        if let (Some(start), Some(of_size)) = places {
            (*start, *of_size) = (piece.start, size);
            self.count = self.count.wrapping_add(1);
        }
    }
}
