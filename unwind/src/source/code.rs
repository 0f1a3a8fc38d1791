//! Code as a source of rules, where no table has a row.

use core::fmt;
use core::marker::PhantomData;

use super::RowSource;
use crate::analysis;
use crate::code::Code;
use crate::lookup::{Found, LookupError, Proof};
use crate::memory::Range;
use crate::registers::{Machine, RegisterSet};
use crate::restored::Restored;
use crate::row::Rule;
use crate::verdict::End;

/// A function that knows which addresses the function with code at this one has: by `.symbols`, or by whatever a kernel has. It should
/// know nothing of pieces that are jumped to, which compilers name `function.cold`: they begin in the middle of a frame.
pub type FunctionAt<'a> = &'a dyn Fn(u64) -> Option<Range>;

/// A source of rows that, where it has none, reads the function's code, from its first instruction on: [`RowSource::read_code`].
///
/// For assembly without call frame information, and for code of other compilers; the bytes are those of
/// [`Unwinder::code`](crate::Unwinder::code). It follows `push`, `pop` and whatever else moves the
/// stack pointer, saves the frame pointer or the link register, on x86-64 and AArch64 (`R`), along all jumps that it can see. Where
/// it is not sure it says nothing: in trap code, where a stack pointer comes from memory or is rounded without a frame pointer, in
/// functions of more than 16,384 instructions.
///
/// ```
/// use unwind::{Code, CodeReader, End, How, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
///
/// # let table: [u8; 52] = [
/// #     0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
/// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0,
/// #     1, 0, 0, 0, 0,  0, 0, 0,
/// # ];
/// // `table` describes the entry function at 0x1000, and nothing else. That calls the function at 0x1010: `push rbx`,
/// // `sub rsp, 16`, and there it is.
/// let text = [
///     0xe8, 0x0b, 0, 0, 0, 0xf4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
///     0x53, 0x48, 0x83, 0xec, 16, 0x0f, 0x0b,
/// ];
/// let code = [Code::new(&text, 0x1000)];
/// let functions = |pc| (0x1010..0x1017).contains(&pc).then_some(Range::new(0x1010, 0x1017));
/// let source = CodeReader::<Registers, _>::new(Tables::new(&table, 0x2000), &functions);
///
/// let words = [1, 2, 3, 0x1005_u64];
/// let stacks = [Range::new(0x8000, 0x8020)];
/// let read = |address: u64| words.get((address as usize - 0x8000) / 8).copied();
/// let unwinder = Unwinder::new(source).code(&code);
/// let mut frames = unwinder.frames(Registers::new(0x1015, 0x8000, 0), Stacks::new(&stacks, read));
/// let found: Vec<_> = frames.by_ref().map(|frame| (frame.pc, frame.how)).collect();
/// assert_eq!(found, [(0x1015, How::Given), (0x1005, How::Analysis)]);
/// // The outermost function is reached, but not by table alone.
/// assert_eq!(frames.end(), Some(End::Outermost));
/// ```
#[derive(Clone, Copy)]
pub struct CodeReader<'a, R, S> {
    source: S,
    function_at: FunctionAt<'a>,
    registers: PhantomData<R>,
}

impl<S: fmt::Debug, R> fmt::Debug for CodeReader<'_, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeReader")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl<'a, R: RegisterSet, S: RowSource> CodeReader<'a, R, S> {
    /// The rows of `source`; and where it has none, the code, whose functions `function_at` knows.
    pub const fn new(source: S, function_at: FunctionAt<'a>) -> Self {
        Self {
            source,
            function_at,
            registers: PhantomData,
        }
    }
}

impl<R: RegisterSet, S: RowSource> RowSource for CodeReader<'_, R, S> {
    #[inline]
    fn describes(&self, machine: Machine) -> Result<(), End> {
        self.source.describes(machine)
    }

    #[inline]
    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        self.source.look_up(pc, found)
    }

    fn function(&self, pc: u64) -> Option<Range> {
        self.source.function(pc)
    }

    #[inline]
    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        self.source.is_one_function(found, other)
    }

    fn restored(&self, pc: u64, restored: &mut Restored) {
        self.source.restored(pc, restored);
    }

    fn interrupted_link(&self, pc: u64) -> Option<Rule> {
        self.source.interrupted_link(pc)
    }

    fn stack_pointer(&self, pc: u64) -> Option<u64> {
        self.source.stack_pointer(pc)
    }

    fn covers(&self, pc: u64) -> bool {
        self.source.covers(pc)
    }

    fn doubt(&self) -> Option<End> {
        self.source.doubt()
    }

    #[inline(never)]
    fn read_code(&self, machine: Machine, code: &Code<'_>, pc: u64) -> Option<Found> {
        if machine != R::MACHINE {
            return None;
        }
        let range = (self.function_at)(pc)?;
        let rules = analysis::rules::<R>(code, range, pc)?;
        Some(Found {
            range,
            place: 0,
            is_trap: false,
            proof: Proof::Unknown,
            rules,
        })
    }
}
