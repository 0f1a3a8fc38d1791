//! Code as a source of rules, for functions without a row.

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

/// A function that returns the addresses of the function with code at an address, for [`CodeReader`]:
/// [`SymbolTable::function_range`](crate::symbols::SymbolTable::function_range), for example.
///
/// The function must return `None` for pieces of functions that are reached by a jump (compilers name them `function.cold`), because such a
/// piece begins in the middle of a frame.
pub type FunctionAt<'a> = &'a dyn Fn(u64) -> Option<Range>;

/// A source of rows that analyses the code of functions without rows: see [`RowSource::read_code`].
///
/// For assembly without call frame information, and for code of other compilers, on x86-64 and AArch64. `R` is the `Registers` of the
/// architecture. The code comes from [`Unwinder::code`](crate::Unwinder::code).
///
/// The analysis begins at the first instruction of the function and follows all jumps with a known target. It tracks the stack pointer, and
/// where the frame pointer and the link register are saved. It finds nothing in trap code, after a stack pointer that was loaded from
/// memory or rounded without a frame pointer, and in functions of more than 16,384 instructions.
///
/// The result can be wrong, so frames that the analysis finds are in doubt. Compared with the rows of this repository's kernels at every
/// instruction (`cargo test -p sframe-proof --test analysis -- --nocapture`), the analysis finds the same caller at 99.6 % or more, and a
/// different one at 0.3 % or less: in unreachable code, or with a rule that names another register with the same value. For the C library of
/// Debian 12 on x86-64, it is 97.8 % and 0.7 %.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::ENTRY_TABLE;
/// use unwind::{Code, CodeReader, End, How, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
///
/// // Only the entry function at 0x1000 has rows. It called the function at 0x1010: `push rbx`, `sub rsp, 16`, `ud2`.
/// let text = [
///     0xe8, 0x0b, 0, 0, 0, 0xf4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
///     0x53, 0x48, 0x83, 0xec, 16, 0x0f, 0x0b,
/// ];
/// let code = [Code::new(&text, 0x1000)];
/// let functions = |pc| (0x1010..0x1017).contains(&pc).then_some(Range::new(0x1010, 0x1017));
/// let source = CodeReader::<Registers, _>::new(Tables::new(&ENTRY_TABLE, 0x2000), &functions);
///
/// let words = [1, 2, 3, 0x1005_u64];
/// let stacks = [Range::new(0x8000, 0x8020)];
/// let read = |address: u64| words.get((address as usize - 0x8000) / 8).copied();
/// let unwinder = Unwinder::new(source).code(&code);
/// let mut frames = unwinder.frames(Registers::new(0x1015, 0x8000, 0), Stacks::new(&stacks, read));
/// let found: Vec<_> = frames.by_ref().map(|frame| (frame.pc, frame.how)).collect();
/// assert_eq!(found, [(0x1015, How::Given), (0x1005, How::Analysis)]);
/// // The function without a caller was reached, but a frame was found without a table.
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
    /// Creates a source that uses the rows of `source` and, for code without a row, the code of the function that `function_at` returns.
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
