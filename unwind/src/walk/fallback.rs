//! How a walk goes on where no row leads further.

use bitflags::bitflags;

use crate::memory::Memory;
use crate::registers::Registers;
use crate::sframe::LookupError;
use crate::walk::frame::lookup_pc;
use crate::walk::frames::State;
use crate::walk::step::read;
use crate::walk::{End, Frame, FrameKind, Frames, How};

bitflags! {
    /// Ways to go on where no row leads further. Each frame found so is marked in its [`How`], and the end of the
    /// walk does not say complete.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Fallbacks: u8 {
        /// The link register or, on x86-64, the word on top of the stack: for the innermost or an interrupted frame
        /// whose code has no rows, or is no code (a call through a bad pointer).
        const LINK_REGISTER = 1;
        /// The frame record at the frame pointer.
        const FRAME_POINTER = 2;
        /// Last: every word of the stack that could be a return address, because a call stands before it.
        const SCAN = 4;
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Fallbacks {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Fallbacks({=u8:#b})", self.bits());
    }
}

/// Most candidates that a scan lists, and most words it looks at.
const SCAN_FRAMES: u32 = 32;
const SCAN_WORDS: u32 = 4096;

/// Where the first frame came from that was not found by table, or not by a call that leads to its callee; or, where
/// [`How::SFrame`] is how, that a damaged table is walked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Doubt {
    /// The frame's number, from 0.
    pub frame: u32,
    /// How it was found.
    pub how: How,
    /// Why not by table; or, if it was, what is in doubt.
    pub reason: End,
}

impl<R: Registers, M: Memory> Frames<'_, R, M> {
    /// The caller by the link register, or by the word that a call has pushed. Only where that is likely to be the return
    /// address still: a call through a bad pointer, or an innermost function that no table describes.
    fn step_by_link(&mut self, reason: End) -> Option<How> {
        let registers = self.callee.registers;
        let undescribed = match reason {
            End::BadPc(_) => false,
            End::NoRow(_, LookupError::NoFunction) => true,
            _ => return None,
        };
        if !self.fallbacks.contains(Fallbacks::LINK_REGISTER) || !self.callee.exact {
            return None;
        }
        let sp = registers.sp();
        let (return_address, caller_sp) = match registers.link() {
            Some(link) => (link, sp),
            None if R::RECORD_IS_TOP_OF_FRAME => {
                (read::<R>(&self.memory, sp).ok()?, sp.checked_add(R::WORD)?)
            }
            None => return None,
        };
        let pc = registers.strip(return_address);
        // An undescribed function that is no leaf has overwritten it, with an address of its own.
        let described = || {
            let call = lookup_pc(pc, FrameKind::ReturnAddress);
            self.tables.covers(call)
        };
        if !self.is_return_address(pc)
            || (undescribed && !described())
            || (caller_sp != sp && !self.advance(caller_sp))
        {
            return None;
        }
        let caller = registers.caller(pc, caller_sp, registers.fp());
        let fp_known = self.callee.fp_known;
        self.find(caller, false, How::LinkRegister);
        self.callee.fp_known = fp_known;
        Some(How::LinkRegister)
    }

    /// The caller by the frame record at the frame pointer: saved frame pointer, return address.
    fn step_by_record(&mut self) -> Option<How> {
        let registers = self.callee.registers;
        let fp = registers.fp();
        let aligned = fp.checked_rem(R::CFA_ALIGNMENT) == Some(0);
        let known = self.callee.fp_known && aligned;
        if !self.fallbacks.contains(Fallbacks::FRAME_POINTER) || !known {
            return None;
        }
        let caller_fp = read::<R>(&self.memory, fp).ok()?;
        let slot = fp.checked_add(R::WORD)?;
        let caller_sp = slot.checked_add(R::WORD)?;
        let pc = registers.strip(read::<R>(&self.memory, slot).ok()?);
        if !self.is_return_address(pc) || !self.advance(caller_sp) {
            return None;
        }
        let caller = registers.caller(pc, caller_sp, caller_fp);
        self.find(caller, false, How::FramePointer);
        self.callee.sp_known = R::RECORD_IS_TOP_OF_FRAME;
        Some(How::FramePointer)
    }

    /// Finds the caller without a row, for `reason`; or makes the next frames come from a scan; or ends the walk.
    #[inline(never)]
    pub(super) fn fall_back(&mut self, reason: End) {
        match self.step_by_link(reason).or_else(|| self.step_by_record()) {
            Some(how) => {
                self.note(how, reason);
                self.state = State::Found;
            }
            None if self.fallbacks.contains(Fallbacks::SCAN) => {
                let sp = self.callee.registers.sp();
                self.state = State::Scanning {
                    // The next word: what was interrupted may have had any stack pointer.
                    at: sp.checked_next_multiple_of(R::WORD).unwrap_or(sp),
                    frames: SCAN_FRAMES,
                    words: SCAN_WORDS,
                    reason,
                };
            }
            None => self.state = State::Ended(reason),
        }
    }

    /// The next word of the stack that could be a return address. The walk's registers stay where the rows ended:
    /// a candidate says nothing about where its caller's frame lies.
    #[inline(never)]
    pub(super) fn scan(&mut self) -> Option<Frame> {
        let State::Scanning {
            mut at,
            frames,
            mut words,
            reason,
        } = self.state
        else {
            return None;
        };
        while frames > 0 && words > 0 && self.count < self.limit {
            let Ok(word) = read::<R>(&self.memory, at) else {
                break;
            };
            at = at.wrapping_add(R::WORD);
            words = words.wrapping_sub(1);
            let pc = self.callee.registers.strip(word);
            if self.is_return_address(pc) {
                self.note(How::Scan, reason);
                self.count = self.count.wrapping_add(1);
                self.state = State::Scanning {
                    at,
                    frames: frames.wrapping_sub(1),
                    words,
                    reason,
                };
                return Some(Frame {
                    pc,
                    cfa: None,
                    kind: FrameKind::ReturnAddress,
                    how: How::Scan,
                    tail_call: None,
                });
            }
        }
        self.stop(reason)
    }

    /// Keeps the first doubt about a frame, the next one to be handed out.
    pub(super) fn note(&mut self, how: How, reason: End) {
        self.doubt = self.doubt.or(Some(Doubt {
            frame: self.count,
            how,
            reason,
        }));
    }
}
