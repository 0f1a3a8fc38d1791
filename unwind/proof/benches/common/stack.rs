//! A prepared stack: what memory holds when so many functions have called each other.

use unwind::{Code, Range};

use super::peers::Registers;
use super::peers::framehop::CACHE_SLOTS;
use super::program::Program;
use super::random::Random;
use super::shape::Row;

/// Room for the deepest frames of the sample.
const WORDS: usize = 1 << 18;

/// A stack, and the registers of its innermost function.
pub struct Stack {
    words: Vec<u64>,
    pub registers: Registers,
    /// The addresses that a walk finds, innermost first.
    pub pcs: Vec<u64>,
    /// The program's code, where it lies, and its bytes: nothing but the calls that made this stack.
    text: u64,
    code: Vec<u8>,
}

/// Bytes of a direct call.
const CALL: u64 = 5;

impl Stack {
    /// `depth` frames of functions drawn from a program, the innermost first, the last of them the outermost function.
    ///
    /// No two of the addresses share an entry of framehop's cache: its warm walks never miss.
    pub fn new(program: &Program, depth: usize, frame_pointers: bool) -> Self {
        let mut random = Random::new(3);
        let entry = program.entry();
        let outermost = entry.start + 5;
        let mut slots = vec![(outermost - 1) % CACHE_SLOTS];
        let mut frames: Vec<(u64, Row)> = Vec::new();
        while frames.len() < depth - 1 {
            let function = random.pick(program.functions());
            let (body, row) = function.body();
            let Some(rules) = row.rules else { continue };
            let record = rules.from_fp && rules.cfa == 16 && rules.fp == Some(-16);
            // A return address: somewhere in the body, behind the instruction that calls.
            let pc = body + 5 + random.below(8);
            // The innermost address is exact, the others are return addresses.
            let slot = (pc - u64::from(!frames.is_empty())) % CACHE_SLOTS;
            let inside =
                function.row_at((pc - function.start) as u32) == row && pc < function.end();
            let apart = |(other, _): &(u64, Row)| other.abs_diff(pc) >= CALL;
            if inside
                && frames.iter().all(apart)
                && record == frame_pointers
                && !slots.contains(&slot)
            {
                slots.push(slot);
                frames.push((pc, row));
            }
        }
        Self::of(program, outermost, &frames)
    }

    /// Pushes the frames, outermost first, the way the functions would.
    fn of(program: &Program, outermost: u64, frames: &[(u64, Row)]) -> Self {
        let (text, text_end) = program.text();
        let mut code = vec![0; (text_end - text) as usize];
        let mut words = vec![0; WORDS];
        let base = words.as_ptr() as u64;
        let end = base + 8 * WORDS as u64;
        let (mut pc, mut sp, mut fp) = (outermost, end, 0);
        let mut pcs = vec![pc];
        for (frame, row) in frames.iter().rev() {
            let rules = row.rules.expect("a function with a caller");
            let callee = program.function_at(*frame).expect("code of a function");
            let distance = callee.start.wrapping_sub(pc) as i32;
            let call = (pc - text - CALL) as usize;
            code[call] = 0xe8;
            code[call + 1..][..4].copy_from_slice(&distance.to_le_bytes());
            let cfa = sp;
            let mut store = |address: u64, value| words[((address - base) / 8) as usize] = value;
            store(cfa - 8, pc);
            if let Some(offset) = rules.fp {
                store(cfa.wrapping_add_signed(offset.into()), fp);
            }
            if rules.from_fp {
                fp = cfa - rules.cfa as u64;
                // Some local variables.
                sp = fp - 64;
            } else {
                sp = cfa - rules.cfa as u64;
            }
            pc = *frame;
            pcs.push(pc);
        }
        pcs.reverse();
        Self {
            words,
            registers: (pc, sp, fp),
            pcs,
            text,
            code,
        }
    }

    pub fn range(&self) -> Range {
        let start = self.words.as_ptr() as u64;
        Range::new(start, start + 8 * self.words.len() as u64)
    }

    pub fn code(&self) -> Code<'_> {
        Code::new(&self.code, self.text)
    }

    /// The word at an address.
    ///
    /// # Safety
    /// All of it must lie in [`Self::range`].
    pub unsafe fn read(&self, address: u64) -> u64 {
        // SAFETY: the caller's promise; the words are initialised.
        unsafe { (address as *const u64).read_unaligned() }
    }
}
