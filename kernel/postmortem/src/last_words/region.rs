//! The memory that keeps text over a reset, and the checksums that protect it.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::caches::{BLOCK, clean};
use crc::{CRC_32_MPEG_2, Crc};

/// Bytes of text in a part.
pub(super) const SIZE: usize = 4096;

/// This variant is neither reflected nor inverted at its end, so that the checksum of a text is the initial value for that of a
/// longer one.
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_MPEG_2);

/// Memory that keeps the last text of the kernel over a reset. Any content is valid: checksums are verified before the text is shown.
///
/// Put it where neither the boot loader nor the kernel's start code clears it: a static in a section of no segment, or a page of RAM at a
/// fixed address.
///
/// The memory may be cached. A reset does not write caches back. Therefore each line is written back when it ends, and so is each text of
/// the report that ends the kernel. Text after the last newline may be lost otherwise.
///
/// ```
/// #[unsafe(link_section = ".last_words")]
/// static REGION: postmortem::Region = postmortem::Region::new();
///
/// # const fn reports(kernel: &'static dyn postmortem::Platform, per_cpu: &'static [postmortem::PerCpu]) -> postmortem::Postmortem {
/// postmortem::Postmortem::new(kernel, per_cpu).with_last_words(&REGION)
/// # }
/// ```
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Region {
    /// How often the kernel was booted since power was switched on, in the low half; its inverse in the high half.
    pub(super) boots: AtomicU64,
    /// What was printed while the kernel ran.
    pub(super) text: Ring,
    /// What was printed by the report that ended it. Only the CPU that writes that keeps text here: one that does not answer may be
    /// in the middle of keeping some above.
    pub(super) report: Ring,
}

/// Two parts, of which one is written to; when it is full, the other one is emptied and used.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) parts: [Part; 2],
}

#[repr(C)]
#[derive(Debug)]
pub(super) struct Part {
    /// A [`State`].
    pub(super) state: AtomicU64,
    pub(super) text: [AtomicU8; SIZE],
}

impl Default for Region {
    fn default() -> Self {
        Self::new()
    }
}

impl Region {
    /// Creates a region without text.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            boots: AtomicU64::new(0),
            text: Ring::new(),
            report: Ring::new(),
        }
    }

    /// What was printed, oldest first: the report comes after all other text, as nothing else is kept once it has begun. Only a text
    /// that another CPU was keeping then may end later.
    pub(super) const fn rings(&self) -> [&Ring; 2] {
        [&self.text, &self.report]
    }
}

impl Ring {
    const fn new() -> Self {
        Self {
            parts: [const {
                Part {
                    state: AtomicU64::new(0),
                    text: [const { AtomicU8::new(0) }; SIZE],
                }
            }; 2],
        }
    }

    /// Appends text, byte by byte, and writes it back from the caches at the end of each line. Only one CPU at a time calls this.
    pub(super) fn append(&self, text: &[u8]) {
        for byte in text {
            let (mut part, mut state) = self.current();
            if usize::from(state.length) >= SIZE {
                part = self.other(part);
                state = State::empty(state.sequence.wrapping_add(1));
            }
            if let Some(slot) = part.text.get(usize::from(state.length)) {
                slot.store(*byte, Ordering::Relaxed);
                let state = state.with(*byte);
                part.set(state);
                let ends = *byte == b'\n' || usize::from(state.length) == SIZE;
                // Of a longer line every block, too, once it is full.
                let block_ends = (slot.as_ptr() as usize)
                    .wrapping_add(1)
                    .is_multiple_of(BLOCK);
                if ends || block_ends {
                    clean(slot.as_ptr());
                }
                if ends {
                    clean(part.state.as_ptr().cast());
                }
            }
        }
    }

    /// Writes back from the caches what was appended.
    pub(super) fn write_back(&self) {
        let (part, state) = self.current();
        let last = usize::from(state.length).saturating_sub(1);
        if let Some(slot) = part.text.get(last) {
            clean(slot.as_ptr());
        }
        clean(part.state.as_ptr().cast());
    }

    /// Forgets what was appended.
    pub(super) fn forget(&self) {
        let [first, second] = &self.parts;
        for part in [second, first] {
            part.set(State::empty(0));
            clean(part.state.as_ptr().cast());
        }
    }

    /// The parts, each with its state if its checksum is right, in the order in which they were written, as far as that is known.
    pub(super) fn checked(&self) -> [(&Part, Option<State>); 2] {
        let [first, second] = &self.parts;
        let mut parts = [first, second];
        if first.state().follows(second.state()) {
            parts.reverse();
        }
        parts.map(|part| (part, part.checked()))
    }

    /// The part that is written to, and its state, which is not checked here.
    pub(super) fn current(&self) -> (&Part, State) {
        let [first, second] = &self.parts;
        let (of_first, of_second) = (first.state(), second.state());
        if of_second.follows(of_first) {
            (second, of_second)
        } else {
            (first, of_first)
        }
    }

    /// The part that is not written to.
    pub(super) fn other(&self, part: &Part) -> &Part {
        let [first, second] = &self.parts;
        if core::ptr::eq(part, first) {
            second
        } else {
            first
        }
    }
}

/// The state of a part, stored in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Bytes of text.
    pub(super) length: u16,
    /// How many parts were begun before this one, modulo 2^16.
    pub(super) sequence: u16,
    /// Checksum of the sequence number and the text.
    checksum: u32,
}

impl State {
    /// The state of a part without text.
    pub(super) fn empty(sequence: u16) -> Self {
        Self {
            length: 0,
            sequence,
            checksum: CHECKSUM.checksum(&sequence.to_le_bytes()),
        }
    }

    /// Decodes it from its word. A word of zero is a part without text.
    fn from_word(word: u64) -> Self {
        if word == 0 {
            return Self::empty(0);
        }
        Self {
            length: word as u16,
            sequence: (word >> 16) as u16,
            checksum: (word >> 32) as u32,
        }
    }

    fn word(self) -> u64 {
        u64::from(self.length) | u64::from(self.sequence) << 16 | u64::from(self.checksum) << 32
    }

    /// The state after one more byte.
    pub(super) fn with(self, byte: u8) -> Self {
        let mut digest = CHECKSUM.digest_with_initial(self.checksum);
        digest.update(&[byte]);
        Self {
            length: self.length.wrapping_add(1),
            checksum: digest.finalize(),
            ..self
        }
    }

    /// Whether this part was begun right after `other`.
    pub(super) fn follows(self, other: Self) -> bool {
        self.sequence == other.sequence.wrapping_add(1)
    }
}

impl Part {
    /// Its state, which is not checked here.
    fn state(&self) -> State {
        State::from_word(self.state.load(Ordering::Relaxed))
    }

    /// Its state, if the checksum is right.
    pub(super) fn checked(&self) -> Option<State> {
        let state = State::from_word(self.state.load(Ordering::Acquire));
        let text = self.text.get(..usize::from(state.length))?;
        let empty = State::empty(state.sequence);
        let computed = text.iter().fold(empty, |state, byte| {
            state.with(byte.load(Ordering::Relaxed))
        });
        (computed == state).then_some(state)
    }

    pub(super) fn set(&self, state: State) {
        self.state.store(state.word(), Ordering::Release);
    }
}
