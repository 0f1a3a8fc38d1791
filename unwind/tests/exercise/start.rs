//! Where a walk starts, and what a kernel may choose.

use unwind::{Code, Fallbacks, Range, RegisterSet, RowSource, SavedRegister, Unwinder};

/// Where a walk starts, and what it may see.
pub struct Start<'a> {
    /// pc, sp, fp, link register or r10.
    pub registers: [u64; 4],
    /// The stacks.
    pub ranges: &'a [Range],
    /// The code; empty: what the table says.
    pub code: &'a [Code<'a>],
    /// The word at an address.
    pub word: &'a dyn Fn(u64) -> u64,
    /// What a kernel may choose, as bits; 0: nothing.
    pub choices: u64,
}

impl Start<'_> {
    /// Where trap code keeps two registers, if it says so.
    pub fn saved(&self) -> Vec<SavedRegister> {
        let [_, _, flags, first, offset, second, ..] = self.choices.to_le_bytes();
        // Of numbers that are no register's, some tell user code.
        let register = |number: u8| match number % 40 {
            34 | 35 => unwind::x86_64::CS,
            36 | 37 => unwind::aarch64::SPSR,
            38 | 39 => SavedRegister::END,
            number => number.into(),
        };
        let saved = [
            SavedRegister::new(register(first), offset.into()),
            SavedRegister::new(register(second), u32::from(offset) + 8),
        ];
        saved[..usize::from(flags & 3).min(2)].to_vec()
    }

    /// So many frames of the beginning and of the end are shown.
    pub fn ends(&self) -> (u32, u32) {
        let [.., first, last] = self.choices.to_le_bytes();
        (first.into(), last.into())
    }

    /// The last range of code, if it is a user's.
    fn user_code(&self) -> (&[Code<'_>], &[Code<'_>]) {
        let [_, _, flags, ..] = self.choices.to_le_bytes();
        let users = usize::from(flags & 4 != 0).min(self.code.len());
        self.code.split_at(self.code.len() - users)
    }

    /// The walk as it was chosen.
    pub fn unwinder<'a, S: RowSource>(
        &'a self,
        source: S,
        saved: &'a [SavedRegister],
    ) -> Unwinder<'a, S> {
        let [fallbacks, limit, ..] = self.choices.to_le_bytes();
        let (code, user_code) = self.user_code();
        let (code, more) = code.split_at(code.len().div_ceil(2));
        let unwinder = Unwinder::new(source)
            .code(code)
            .more_code(more)
            .user_code(user_code)
            .trap_registers(saved);
        let unwinder = match fallbacks {
            0 => unwinder,
            bits => unwinder.fallbacks(Fallbacks::from_bits_truncate(bits)),
        };
        match limit {
            0 => unwinder,
            limit => unwinder.limit(limit.into()),
        }
    }

    /// The words of all stacks.
    pub fn words<R: RegisterSet>(&self) -> usize {
        let bytes: u64 = self
            .ranges
            .iter()
            .map(|range| range.end - range.start)
            .sum();
        usize::try_from(bytes / R::WORD).expect("small stacks")
    }
}
