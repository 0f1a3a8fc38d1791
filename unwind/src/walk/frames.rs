//! The walk.

use core::iter::FusedIterator;

use crate::code::Code;
use crate::memory::{Memory, Range};
use crate::registers::Registers;
use crate::sframe::{Base, LookupError, Row, Rule, Tables};
use crate::walk::call::Call;
use crate::walk::frame::lookup_pc;
use crate::walk::step::{Callee, read};
use crate::walk::{Doubt, End, Fallbacks, Frame, FrameKind, How, SavedRegister};

/// The frames from some registers outwards: an iterator. After its last frame, [`Self::end`] says why it was the last.
///
/// No step changes anything before it has wholly succeeded, so frames already found are never lost, and where no row
/// leads further the [`Fallbacks`] start from an intact state.
#[derive(Clone, Debug)]
pub struct Frames<'a, R, M> {
    pub(super) tables: Tables<'a>,
    pub(super) code: &'a [Code<'a>],
    trap_registers: &'a [SavedRegister],
    pub(super) memory: M,
    /// The stack pointer lies where the walk may be; it need not, in the first frame and in those that were interrupted.
    on_stack: bool,
    /// The last stack pointer that did.
    reached: u64,
    pub(super) fallbacks: Fallbacks,
    pub(super) limit: u32,
    pub(super) callee: Callee<R>,
    how: How,
    /// The row of the frame that was yielded last; its function is a trap frame.
    pub(super) row: Row,
    /// Where that function lies.
    pub(super) function: Range,
    trap: Result<bool, End>,
    /// Its canonical frame address.
    cfa: Result<u64, End>,
    /// The current frame was interrupted, and this is where the trap code's frame lies.
    trap_frame: Option<u64>,
    /// A call led to the frame that was yielded last by way of this address.
    pub(super) tail_call: Option<u64>,
    /// The first frame whose call was not checked.
    unchecked: Option<u32>,
    pub(super) count: u32,
    pub(super) doubt: Option<Doubt>,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// The next frame is `callee`.
    Found,
    /// The next frame is the caller of `callee`.
    Stepping,
    /// The next frame is a word at or after this address; so many candidates and words are left.
    Scanning {
        at: u64,
        frames: u32,
        words: u32,
        reason: End,
    },
    Ended(End),
}

impl<'a, R: Registers, M: Memory> Frames<'a, R, M> {
    /// The frames from `registers` outwards: the exact registers of some instruction that runs, was interrupted, or
    /// failed. With all fallbacks.
    pub fn new(tables: Tables<'a>, registers: R, mut memory: M) -> Self {
        let on_stack = memory.enter(registers.sp());
        Self {
            tables,
            code: &[],
            trap_registers: &[],
            memory,
            on_stack,
            reached: registers.sp(),
            fallbacks: Fallbacks::all(),
            limit: u32::MAX,
            callee: Callee {
                registers,
                exact: true,
                sp_known: true,
                fp_known: true,
            },
            how: How::Given,
            row: Row::EMPTY,
            function: Range::new(0, 0),
            trap: Err(End::Limit),
            cfa: Err(End::Limit),
            trap_frame: None,
            tail_call: None,
            unchecked: None,
            count: 0,
            doubt: tables.damage().map(|damage| Doubt {
                frame: 0,
                how: How::SFrame,
                reason: End::DamagedTables(damage),
            }),
            state: State::Found,
        }
    }

    /// Says what code there is: all of it, as several ranges where that is so. A return address outside is not followed, and
    /// one before which no call stands is not believed. Without this, code is what the tables have functions for, calls are
    /// not checked, and a walk with more than one frame ends with [`End::Outermost`] at best.
    #[must_use]
    pub const fn code(mut self, code: &'a [Code<'a>]) -> Self {
        self.code = code;
        self
    }

    /// Says where trap code keeps registers of what it interrupted. Without this, a leaf that was interrupted on AArch64
    /// has no known caller.
    ///
    /// When trap code itself was interrupted, or a walk starts in it, it may not have saved these registers yet, or have
    /// restored them. The row tells where they are, and trap code has to keep to that: in themselves where the interrupted
    /// program counter is in a register (`ELR_EL1` on AArch64), and where that is in memory, in the trap frame, or below the
    /// stack pointer, which means in themselves too. For the latter the stack pointer must be one of `registers`: from its place
    /// in the frame and the one that the row gives follows where the frame is. Otherwise they are lost.
    #[must_use]
    pub const fn trap_registers(mut self, registers: &'a [SavedRegister]) -> Self {
        self.trap_registers = registers;
        self
    }

    /// Takes the first program counter for a return address: that of a task which gave up its processor by a call.
    ///
    /// A task that waits has kept what a switch saves, mostly on its stack: its registers are those with which the switch will
    /// return to it.
    ///
    /// ```
    /// use unwind::{Code, End, FrameKind, Frames, Range, Stacks, sframe::Tables, x86_64::Registers};
    ///
    /// # let table: [u8; 79] = [
    /// #     0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 2, 0, 0, 0, 3, 0, 0, 0, 19, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0,
    /// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0,
    /// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 7, 0, 0, 0,
    /// #     1, 0, 0, 0, 0,  0, 0,
    /// #     2, 0, 0, 0, 0,  0, 3, 8,  1, 5, 16, 0xf0,
    /// # ];
    /// // What the task pushed before it gave up the processor in the function at 0x1010: its frame pointer; below that its own
    /// // frame, and above its caller's return address. The switch kept the stack pointer only.
    /// let (saved_sp, stack) = (0x8000, Range::new(0x8000, 0x8020));
    /// let words = [0, 0x1018, 0, 0x1005_u64];
    /// let read = |address| words.get((address as usize - 0x8000) / 8).copied();
    /// let word = |address| read(address).unwrap_or(0);
    /// let saved = Registers::new(word(saved_sp + 8), saved_sp + 16, word(saved_sp));
    ///
    /// let ranges = [stack];
    /// // The code of the entry function: `call 0x1010`.
    /// let code = [Code::new(&[0xe8, 0x0b, 0, 0, 0], 0x1000)];
    /// let frames = Frames::new(Tables::new(&table, 0x2000), saved, Stacks::new(&ranges, read));
    /// let mut frames = frames.code(&code).from_call();
    /// let first = frames.next().expect("the function that waits");
    /// assert_eq!((first.pc, first.kind), (0x1018, FrameKind::ReturnAddress));
    /// assert_eq!(frames.next().map(|frame| frame.pc), Some(0x1005));
    /// assert_eq!((frames.next(), frames.end()), (None, Some(End::Complete)));
    /// ```
    #[must_use]
    pub const fn from_call(mut self) -> Self {
        self.callee.exact = false;
        self
    }

    /// Allows these fallbacks only.
    #[must_use]
    pub const fn fallbacks(mut self, fallbacks: Fallbacks) -> Self {
        self.fallbacks = fallbacks;
        self
    }

    /// Stops after `frames` frames.
    #[must_use]
    pub const fn limit(mut self, frames: u32) -> Self {
        self.limit = frames;
        self
    }

    /// Why there is no further frame; `None` before the last one was taken.
    pub const fn end(&self) -> Option<End> {
        match self.state {
            State::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// How many frames there were so far.
    pub const fn found(&self) -> u32 {
        self.count
    }

    /// The first frame that was not found by table, or not by a call that leads to its callee, and why; or that the tables are
    /// damaged.
    pub const fn doubt(&self) -> Option<Doubt> {
        self.doubt
    }

    /// When the frame that was yielded last was interrupted: the stack pointer of the trap code while it called the
    /// handler, where a kernel's entry code puts what it saves. `None` when the trap code itself was interrupted.
    pub const fn trap_frame(&self) -> Option<u64> {
        self.trap_frame
    }

    /// The registers of the frame that was yielded last, as far as a walk knows them.
    pub const fn registers(&self) -> &R {
        &self.callee.registers
    }

    /// After [`End::TrapFrame`]: goes on from the registers that the trap saved. `false`, and the end stays, when the
    /// walk ended for another reason or the stack pointer lies where the walk has been.
    pub fn resume_at(&mut self, registers: R) -> bool {
        let resumes =
            matches!(self.state, State::Ended(End::TrapFrame(_))) && self.advance(registers.sp());
        if resumes {
            self.find(registers, true, How::TrapFrame);
            self.state = State::Found;
        }
        resumes
    }

    /// Goes up to a stack pointer, if the walk may.
    pub(super) fn advance(&mut self, to: u64) -> bool {
        let may = self.memory.advance(self.reached, to, R::WORD);
        if may {
            self.reached = to;
            self.on_stack = true;
        }
        may
    }

    /// Makes a frame the current one.
    pub(super) fn find(&mut self, registers: R, exact: bool, how: How) {
        self.callee = Callee {
            registers,
            exact,
            sp_known: true,
            fp_known: true,
        };
        self.how = how;
        self.trap_frame = None;
        self.tail_call = None;
    }

    fn kind(&self) -> FrameKind {
        if self.callee.exact {
            FrameKind::Exact
        } else {
            FrameKind::ReturnAddress
        }
    }

    /// Looks the current frame's row up, and hands the frame out.
    #[inline(never)]
    fn yield_frame(&mut self) -> Option<Frame> {
        if self.count >= self.limit {
            return self.stop(End::Limit);
        }
        self.count = self.count.wrapping_add(1);
        self.state = State::Stepping;
        let (pc, kind) = (self.callee.registers.pc(), self.kind());
        self.trap = self.read_row(lookup_pc(pc, kind));
        self.cfa = match self.trap {
            Ok(trap) => self.callee.cfa(&self.row, trap, &self.memory),
            Err(end) => Err(end),
        };
        Some(Frame {
            pc,
            cfa: self.cfa.ok(),
            kind,
            how: self.how,
            tail_call: self.tail_call,
        })
    }

    fn read_row(&mut self, pc: u64) -> Result<bool, End> {
        let abi = self.tables.abi().map_err(End::NoTables)?;
        if !R::accepts(abi) {
            return Err(End::WrongAbi(abi));
        }
        let found = self.tables.read_row(pc, &mut self.row);
        let found = found.map(|(function, trap)| {
            self.function = function;
            trap
        });
        // The reason names the address that the frame has, which is not the one looked up.
        let of_frame = self.callee.registers.pc();
        found.map_err(|error| match error {
            LookupError::NoRows { signal: true } => End::TrapFrame(self.callee.registers.sp()),
            LookupError::NoFunction if !self.is_code(pc) => match self.callee.exact {
                true => End::BadPc(of_frame),
                false => End::BadReturnAddress(of_frame),
            },
            error => End::NoRow(of_frame, error),
        })
    }

    /// Whether `pc` lies in code, as far as is known.
    pub(super) fn is_code(&self, pc: u64) -> bool {
        if self.code.is_empty() {
            self.tables.covers(pc)
        } else {
            self.code.iter().any(|code| code.holds(pc))
        }
    }

    /// Whether `address` can be a return address: a call stands before it or, where the bytes are not known, code.
    pub(super) fn is_return_address(&self, address: u64) -> bool {
        match self.call_before(address) {
            Call::Unknown => self.is_code(lookup_pc(address, FrameKind::ReturnAddress)),
            call => call != Call::None,
        }
    }

    pub(super) fn stop(&mut self, end: End) -> Option<Frame> {
        self.state = State::Ended(end);
        None
    }

    /// From the current frame to its caller, or to the end.
    fn step(&mut self) {
        self.state = match self.step_by_row() {
            Ok(call) => {
                if let Call::Elsewhere(target) = call {
                    self.explain(target);
                }
                State::Found
            }
            Err(End::Outermost) => {
                // Said last, because any other doubt says more.
                self.doubt = self.doubt.or(self.unchecked.map(|frame| Doubt {
                    frame,
                    how: How::SFrame,
                    reason: End::CallsUnchecked,
                }));
                State::Ended(match self.doubt {
                    None => End::Complete,
                    Some(_) => End::Outermost,
                })
            }
            Err(end @ (End::NotAtBase(_) | End::TrapFrame(_))) => State::Ended(end),
            Err(reason) => return self.fall_back(reason),
        };
    }

    /// The caller by the current frame's row, and what code says of its call.
    #[inline(never)]
    fn step_by_row(&mut self) -> Result<Call, End> {
        let sp = self.callee.registers.sp();
        let trap = self.trap?;
        // Before trap code has tested its stack pointer it may be anywhere, and is not needed for a row without memory.
        let needs_stack = !(trap && self.begins_at_edge());
        if !self.on_stack && needs_stack {
            return Err(End::NoStack(sp));
        }
        let (caller, fp_known) = match self.callee.caller(&self.row, self.cfa, &self.memory) {
            Err(End::Outermost) if self.callee.sp_known && !self.memory.is_base(sp) => {
                return Err(End::NotAtBase(sp));
            }
            other => other?,
        };
        if trap {
            self.interrupted(caller);
            self.callee.fp_known = fp_known;
            // There was none.
            return Ok(Call::Fits);
        }
        // What lies outside the declared code is not followed; without declared code the next look-up will tell.
        let pc = caller.pc();
        let call = self.call_before(pc);
        let fits = match call {
            Call::Unknown if self.code.is_empty() => pc != 0,
            Call::Unknown => self.is_code(lookup_pc(pc, FrameKind::ReturnAddress)),
            _ => true,
        };
        if !fits {
            return Err(End::BadReturnAddress(pc));
        }
        if call == Call::None && !self.has_no_caller(pc) {
            return Err(End::NoCall(pc));
        }
        // Only a leaf's caller can have the same stack pointer.
        let leaf = self.callee.exact && caller.sp() == sp;
        if !leaf && !self.advance(caller.sp()) {
            return Err(End::NotAdvancing(caller.sp()));
        }
        self.find(caller, false, How::SFrame);
        self.callee.fp_known = fp_known;
        match call {
            Call::None => self.note(How::SFrame, End::NoCall(pc)),
            Call::Unknown => self.unchecked = self.unchecked.or(Some(self.count)),
            Call::Fits | Call::Elsewhere(_) => {}
        }
        Ok(call)
    }

    /// Whether a return address is in a function that nobody calls: kernels make frames for new tasks, with the address of
    /// their first instruction. Such a frame is listed, in doubt, although no call led from there.
    #[inline(never)]
    fn has_no_caller(&mut self, return_address: u64) -> bool {
        let pc = lookup_pc(return_address, FrameKind::ReturnAddress);
        // The current frame's row is of no further use.
        self.tables.read_row(pc, &mut self.row).is_ok() && self.row.is_outermost()
    }

    /// Whether the current row, of trap code, is the first one of the walk, and trap code has not begun to save, or has done
    /// with restoring.
    fn begins_at_edge(&self) -> bool {
        self.how == How::Given && self.pc_is_in_register()
    }

    /// Whether the current row, of trap code, says that the interrupted program counter is still or again in a register.
    const fn pc_is_in_register(&self) -> bool {
        matches!(
            self.row.return_address,
            Rule::Value {
                base: Base::Register(_),
                ..
            }
        )
    }

    /// The frame of trap code that runs itself, if all is saved there: its row tells where the interrupted stack pointer is.
    fn saved_at(&self) -> Option<u64> {
        let offset = match self.row.cfa {
            Rule::Saved {
                base: Base::StackPointer,
                offset,
            } if !self.pc_is_in_register() => offset,
            _ => return None,
        };
        let number = self.tables.abi().ok()?.stack_pointer();
        let mut saved = self.trap_registers.iter();
        let saved = saved.find(|saved| saved.register == number)?;
        let slot = self.callee.registers.sp().checked_add_signed(offset)?;
        slot.checked_sub(saved.offset.into())
    }

    /// What trap code interrupted is the next frame, whatever its program counter and stack pointer: they may be why there
    /// was a trap. But the walk leads no further from a stack pointer where it must not go; without this rule a damaged
    /// table could make a trap frame its own caller for ever.
    fn interrupted(&mut self, mut registers: R) {
        let callee = self.callee;
        let sp = callee.registers.sp();
        // While the trap code itself runs, its stack pointer is anywhere, and registers are still or again where they were.
        let trap_frame = (!callee.exact && callee.sp_known).then_some(sp);
        let saved_at = match callee.exact {
            true => self.saved_at(),
            false => trap_frame,
        };
        for saved in self.trap_registers {
            let slot = saved_at.and_then(|frame| frame.checked_add(saved.offset.into()));
            let value = match slot {
                Some(slot) if !callee.exact || slot >= sp => read::<R>(&self.memory, slot).ok(),
                None if !self.pc_is_in_register() => None,
                _ => callee.registers.other(saved.register),
            };
            if let Some(value) = value {
                registers.learn(saved.register, value);
            }
        }
        // At the edge of trap code both can have one stack pointer. Only the first frame can be there, so the walk still ends.
        let same = self.on_stack && registers.sp() == sp && self.begins_at_edge();
        self.on_stack = same || self.advance(registers.sp());
        self.find(registers, true, How::TrapFrame);
        self.trap_frame = trap_frame;
    }
}

impl<R: Registers, M: Memory> Iterator for Frames<'_, R, M> {
    type Item = Frame;

    // The parts are called one after the other, not one by the other, so that their stack frames do not add up.
    fn next(&mut self) -> Option<Frame> {
        if let State::Stepping = self.state {
            self.step();
        }
        match self.state {
            State::Found => self.yield_frame(),
            State::Scanning { .. } => self.scan(),
            // The first is not reached: a step has another outcome.
            State::Stepping | State::Ended(_) => None,
        }
    }
}

impl<R: Registers, M: Memory> FusedIterator for Frames<'_, R, M> {}
