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
    #[inline(never)]
    pub(super) fn leads_to<R: RegisterSet>(
        &self,
        target: u64,
        user: bool,
        found: &mut Found,
    ) -> bool {
        let goal = self.whole(found);
        let mut left = BYTES;
        let mut pieces = Pieces::new();
        self.add::<R>(target, goal, &mut pieces, found);
        let mut index = 0_usize;
        while let Some(piece) = pieces.get(index) {
            index = index.wrapping_add(1);
            let start = R::place(piece.start);
            let size = piece.end.wrapping_sub(start);
            let known = self
                .code_at(start, user)
                .and_then(|code| code.from(start, size));
            let Some(code) = known else {
                continue;
            };
            let mut rest = code;
            let mut at = piece.start;
            while !rest.is_empty() {
                let Some(fewer) = left.checked_sub(1) else {
                    return false;
                };
                left = fewer;
                let mut length = R::ALIGNMENT;
                match R::jump(rest, at) {
                    Some((Jump::Anywhere, _)) => return true,
                    Some((Jump::To(to), _)) if goal.holds(to, 1) => return true,
                    // Bytes that lead out of all code are not an instruction.
                    Some((jump @ (Jump::To(to) | Jump::Call(to)), of_jump))
                        if self.is_code(to, user) =>
                    {
                        length = of_jump;
                        if matches!(jump, Jump::To(_)) {
                            self.add::<R>(to, goal, &mut pieces, found);
                        }
                    }
                    _ => {}
                }
                at = at.wrapping_add(length as u64);
                rest = rest.get(length..).unwrap_or(&[]);
            }
            if !R::ends(code) {
                if goal.holds(piece.end, 1) {
                    return true;
                }
                self.add::<R>(piece.end, goal, &mut pieces, found);
            }
        }
        false
    }

    /// Adds the piece of code that `address` is in, if that is new and there is room. Otherwise it is not looked up: code may
    /// hold any number of jumps, and a look-up may have to read a whole table.
    #[inline(never)]
    fn add<R: RegisterSet>(
        &self,
        address: u64,
        goal: Range,
        pieces: &mut Pieces,
        found: &mut Found,
    ) {
        let mut known = pieces.pieces.iter().take(pieces.count);
        if known.any(|piece| piece.holds(address, 1)) {
            return;
        }
        if let Some(free) = pieces.pieces.get_mut(pieces.count) {
            *free = self.piece::<R>(address, goal, found);
            pieces.count = pieces.count.wrapping_add(1);
        }
    }

    /// All of the function that was `found`.
    pub(super) fn whole(&self, found: &Found) -> Range {
        let function = self.source.function(found.last_address());
        function.unwrap_or(found.range)
    }

    /// The piece of code that `address` is in: the table's function, or some bytes, up to `goal` at most.
    fn piece<R: RegisterSet>(&self, address: u64, goal: Range, found: &mut Found) -> Range {
        if self.source.look_up(address, found).is_ok() {
            let function = self.whole(found);
            // What a pointer tells beside the address is true of the whole function.
            let beside = address ^ R::place(address);
            return Range::new(function.start | beside, function.end);
        }
        let end = address.saturating_add(UNDESCRIBED);
        let cut = address < goal.start && goal.start < end;
        Range::new(address, if cut { goal.start } else { end })
    }
}

/// The pieces of code to search, each of them once.
struct Pieces {
    pieces: [Range; PIECES],
    count: usize,
}

impl Pieces {
    const fn new() -> Self {
        Self {
            pieces: [Range::new(0, 0); PIECES],
            count: 0,
        }
    }

    fn get(&self, index: usize) -> Option<Range> {
        self.pieces.get(..self.count)?.get(index).copied()
    }
}
