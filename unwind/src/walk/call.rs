//! Whether a call led to a frame: the test that makes a return address believed.

use crate::code::{Code, Jump};
use crate::memory::{Memory, Range};
use crate::registers::Registers;
use crate::walk::frame::lookup_pc;
use crate::walk::{End, FrameKind, Frames, How};

/// Most pieces of code that are searched for a way from a call's target to a function. A chain of tail calls is seldom
/// longer than two, and a function seldom in more pieces than three; what jumps to many others is a dispatcher.
const PIECES: usize = 8;

/// Most bytes of code that are searched: three times what the greatest function of this repository's kernel has. It bounds
/// the time that a damaged stack can cost.
const BYTES: u32 = 1 << 16;

/// Most bytes searched from an address on for which the table has no function: an entry of a procedure linkage table or a
/// linker's veneer has 12 to 20, and assembly without rules is short.
const UNDESCRIBED: u64 = 256;

/// What code says of a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Its bytes are not known.
    Unknown,
    /// No call stands before it.
    None,
    /// An indirect call, or one of the current frame's function.
    Fits,
    /// A call of this address, which is not in the current frame's function.
    Elsewhere(u64),
}

impl<'a, R: Registers, M: Memory> Frames<'a, R, M> {
    /// The code that holds `address`.
    fn code_at(&self, address: u64) -> Option<&'a Code<'a>> {
        self.code.iter().find(|code| code.holds(address))
    }

    /// The bytes of code before a return address.
    #[inline(always)]
    fn code_before(&self, return_address: u64) -> Option<&'a [u8]> {
        let call = lookup_pc(return_address, FrameKind::ReturnAddress);
        self.code_at(call)?.before(return_address)
    }

    /// The call before a return address, which is to be one of [`Self::function`].
    pub(super) fn call_before(&self, return_address: u64) -> Call {
        let Some(bytes) = self.code_before(return_address) else {
            return Call::Unknown;
        };
        match R::direct_call(bytes, return_address) {
            Some(target) if self.function.holds(target, 1) => Call::Fits,
            Some(target) => Call::Elsewhere(target),
            None if R::is_indirect_call(bytes, return_address) => Call::Fits,
            None => Call::None,
        }
    }

    /// After a step to a caller, by a call of `target`, which is not in the callee's function ([`Self::function`]): there was
    /// a tail call, or the frame is in doubt.
    #[inline(never)]
    pub(super) fn explain(&mut self, target: u64) {
        let return_address = self.callee.registers.pc();
        if self.leads_on(target) {
            self.tail_call = Some(target);
            return;
        }
        // The same bytes can be an indirect call.
        let bytes = self.code_before(return_address).unwrap_or(&[]);
        if !R::is_indirect_call(bytes, return_address) {
            self.note(How::SFrame, End::CalledElsewhere(return_address, target));
        }
    }

    /// Whether code from `target` on can get to the callee's function without a call: by jumps, also of functions in between,
    /// and by running on where a piece of a function has no end. An indirect jump can get anywhere.
    ///
    /// A list of pieces instead of a function that calls itself keeps the need of stack fixed. Where the bounds end the
    /// search the answer is no: what is not shown is not claimed.
    fn leads_on(&mut self, target: u64) -> bool {
        let goal = self.function;
        let mut left = BYTES;
        let mut pieces = Pieces::new();
        pieces.add(self.piece(target));
        let mut index = 0_usize;
        while let Some(start) = pieces.get(index) {
            index = index.wrapping_add(1);
            let piece = self.piece(start);
            let size = piece.end.wrapping_sub(piece.start);
            let known = self
                .code_at(piece.start)
                .and_then(|code| code.from(piece.start, size));
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
                    // Bytes that lead out of all code are none of an instruction.
                    Some((jump @ (Jump::To(to) | Jump::Call(to)), of_jump)) if self.is_code(to) => {
                        length = of_jump;
                        if matches!(jump, Jump::To(_)) && !piece.holds(to, 1) {
                            pieces.add(self.piece(to));
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
                pieces.add(self.piece(piece.end));
            }
        }
        false
    }

    /// The piece of code that `address` is in: the table's function, or some bytes, up to the callee's function at most.
    #[inline(never)]
    fn piece(&mut self, address: u64) -> Range {
        // The row is of no further use: the next frame has another.
        if let Ok((function, _)) = self.tables.read_row(address, &mut self.row) {
            return function;
        }
        let end = address.saturating_add(UNDESCRIBED);
        let goal = self.function.start;
        let cut = address < goal && goal < end;
        Range::new(address, if cut { goal } else { end })
    }
}

/// Where the pieces of code to search start, each of them once.
struct Pieces {
    starts: [u64; PIECES],
    count: usize,
}

impl Pieces {
    const fn new() -> Self {
        Self {
            starts: [0; PIECES],
            count: 0,
        }
    }

    fn get(&self, index: usize) -> Option<u64> {
        self.starts.get(..self.count)?.get(index).copied()
    }

    /// Adds one, if it is new and there is room.
    fn add(&mut self, piece: Range) {
        let known = self.starts.get(..self.count).unwrap_or(&[]);
        if known.contains(&piece.start) {
            return;
        }
        if let Some(free) = self.starts.get_mut(self.count) {
            *free = piece.start;
            self.count = self.count.wrapping_add(1);
        }
    }
}
