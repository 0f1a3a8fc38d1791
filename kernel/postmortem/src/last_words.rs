//! What was printed last, kept in memory that a reset does not clear, and shown at the next boot to whoever was not there when
//! the kernel died.
//!
//! Text is appended to one of two parts of a [`Region`]; when that part is full, the other one is begun anew. Each part has a
//! checksum that is right after every byte: the byte is stored first, then length and checksum in one store. One checksum over
//! everything, computed at the end, was rejected: a kernel that hangs, or is reset by a watchdog, has no end.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crc::{CRC_32_MPEG_2, Crc};

/// Bytes of text in a part.
const SIZE: usize = 4096;

/// This variant is neither reflected nor inverted at its end, so that the checksum of a text is the initial value for that of a
/// longer one.
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_MPEG_2);

/// The memory that keeps the text. Any content is valid: before it is shown it is checked.
///
/// Put it where neither the boot loader nor the kernel's own start code clears it: a static in a section of no segment, or a
/// page of RAM at a fixed address.
///
/// ```
/// #[unsafe(link_section = ".last_words")]
/// static REGION: postmortem::Region = postmortem::Region::new();
/// ```
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Region {
    /// How often the kernel was booted since power was switched on, in the low half; its inverse in the high half.
    boots: AtomicU64,
    parts: [Part; 2],
}

#[repr(C)]
#[derive(Debug)]
struct Part {
    /// A [`State`].
    state: AtomicU64,
    text: [AtomicU8; SIZE],
}

impl Default for Region {
    fn default() -> Self {
        Self::new()
    }
}

impl Region {
    /// A region without text.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            boots: AtomicU64::new(0),
            parts: [const {
                Part {
                    state: AtomicU64::new(0),
                    text: [const { AtomicU8::new(0) }; SIZE],
                }
            }; 2],
        }
    }

    /// The part that is written to, and its state, which is not checked here.
    fn current(&self) -> (&Part, State) {
        let [first, second] = &self.parts;
        let state = |part: &Part| State::from_word(part.state.load(Ordering::Relaxed));
        let (of_first, of_second) = (state(first), state(second));
        if of_second.follows(of_first) {
            (second, of_second)
        } else {
            (first, of_first)
        }
    }

    /// The part that is not written to.
    fn other(&self, part: &Part) -> &Part {
        let [first, second] = &self.parts;
        if core::ptr::eq(part, first) {
            second
        } else {
            first
        }
    }
}

/// What is known of a part, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// Bytes of text.
    length: u16,
    /// How many parts were begun before this one, modulo 2^16.
    sequence: u16,
    /// Checksum of the sequence number and the text.
    checksum: u32,
}

impl State {
    /// That of a part without text.
    fn empty(sequence: u16) -> Self {
        Self {
            length: 0,
            sequence,
            checksum: CHECKSUM.checksum(&sequence.to_le_bytes()),
        }
    }

    /// From its word. Memory that is all zero is taken for a part without text.
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

    /// After one more byte.
    fn with(self, byte: u8) -> Self {
        let mut digest = CHECKSUM.digest_with_initial(self.checksum);
        digest.update(&[byte]);
        Self {
            length: self.length.wrapping_add(1),
            checksum: digest.finalize(),
            ..self
        }
    }

    /// Whether this part was begun right after `other`.
    fn follows(self, other: Self) -> bool {
        self.sequence == other.sequence.wrapping_add(1)
    }
}

impl Part {
    /// Its state, if the checksum is right.
    fn checked(&self) -> Option<State> {
        let state = State::from_word(self.state.load(Ordering::Acquire));
        let text = self.text.get(..usize::from(state.length))?;
        let empty = State::empty(state.sequence);
        let computed = text.iter().fold(empty, |state, byte| {
            state.with(byte.load(Ordering::Relaxed))
        });
        (computed == state).then_some(state)
    }

    fn set(&self, state: State) {
        self.state.store(state.word(), Ordering::Release);
    }
}

/// Keeps text in a [`Region`].
#[derive(Debug)]
pub struct LastWords {
    region: &'static Region,
    /// Some CPU is keeping text at the moment, perhaps one that was stopped in the middle of it. What others print in the
    /// meantime is not kept.
    is_busy: AtomicBool,
    /// The old text is being shown, and must not be kept again.
    is_paused: AtomicBool,
}

impl LastWords {
    /// Keeps text in this region.
    #[must_use]
    pub const fn new(region: &'static Region) -> Self {
        Self {
            region,
            is_busy: AtomicBool::new(false),
            is_paused: AtomicBool::new(false),
        }
    }

    /// Keeps what is printed.
    pub fn keep(&self, text: &[u8]) {
        if self.is_paused.load(Ordering::Relaxed) || self.is_busy.swap(true, Ordering::Acquire) {
            return;
        }
        for byte in text {
            let (mut part, mut state) = self.region.current();
            if usize::from(state.length) >= SIZE {
                part = self.region.other(part);
                state = State::empty(state.sequence.wrapping_add(1));
            }
            if let Some(slot) = part.text.get(usize::from(state.length)) {
                slot.store(*byte, Ordering::Relaxed);
                part.set(state.with(*byte));
            }
        }
        self.is_busy.store(false, Ordering::Release);
    }

    /// Keeps everything from now on, also if a CPU was stopped while it kept something. For a kernel that dies: nobody else
    /// goes on any more.
    pub fn take_over(&self) {
        self.is_busy.store(false, Ordering::Relaxed);
    }

    /// Forgets what was printed, so that the next boot shows nothing: for a kernel that resets the machine although nothing
    /// went wrong.
    pub fn forget(&self) {
        let [first, second] = &self.region.parts;
        second.set(State::empty(0));
        first.set(State::empty(0));
    }

    /// How often the kernel was booted since power was switched on, this time included. Counted by [`Self::show`].
    pub fn boots(&self) -> u32 {
        self.region.boots.load(Ordering::Relaxed) as u32
    }

    /// Writes what was printed last before the reset that led here, if that is known; then forgets it, to keep what is printed
    /// from now on. Called once, when the kernel boots.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn show(&self, out: &mut dyn Write) -> fmt::Result {
        self.count_boot();
        let [first, second] = &self.region.parts;
        let mut parts = [first, second].map(|part| (part, part.checked()));
        if let [(_, Some(first)), (_, Some(second))] = &parts
            && first.follows(*second)
        {
            parts.reverse();
        }
        let has_text = |state: &Option<State>| state.is_some_and(|state| state.length > 0);
        if parts.iter().any(|(_, state)| has_text(state)) {
            self.is_paused.store(true, Ordering::Relaxed);
            out.write_str("epitaph: what was printed last before the reset:\n")?;
            let mut lines = Lines {
                out,
                is_open: false,
                // Parts were begun before this one and are lost, perhaps with the beginning of its first line.
                is_cut: parts[0].1.is_some_and(|state| state.sequence > 0),
            };
            for (part, state) in parts {
                let length = state.map_or(0, |state| usize::from(state.length));
                for byte in part.text.iter().take(length) {
                    lines.byte(byte.load(Ordering::Relaxed))?;
                }
            }
            lines.end()?;
            self.is_paused.store(false, Ordering::Relaxed);
        }
        self.forget();
        Ok(())
    }

    fn count_boot(&self) {
        let word = self.region.boots.load(Ordering::Relaxed);
        let (before, inverse) = (word as u32, (word >> 32) as u32);
        let boots = if before == !inverse { before } else { 0 }.wrapping_add(1);
        let word = u64::from(boots) | u64::from(!boots) << 32;
        self.region.boots.store(word, Ordering::Relaxed);
    }
}

/// Writes lines with a mark before each, so that no old report is taken for a new one.
struct Lines<'a> {
    out: &'a mut dyn Write,
    is_open: bool,
    /// The beginning of the current line is lost, so its end is left out.
    is_cut: bool,
}

impl Lines<'_> {
    fn byte(&mut self, byte: u8) -> fmt::Result {
        if self.is_cut {
            self.is_cut = byte != b'\n';
            return Ok(());
        }
        if !self.is_open {
            self.out.write_str("| ")?;
            self.is_open = true;
        }
        match byte {
            b'\n' => self.end(),
            b' '..=b'~' => self.out.write_char(char::from(byte)),
            // Other scripts are rare in what a kernel prints, and a part may begin in the middle of a character.
            _ => self.out.write_char('.'),
        }
    }

    fn end(&mut self) -> fmt::Result {
        match core::mem::take(&mut self.is_open) {
            true => self.out.write_str("\n"),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region() -> &'static Region {
        Box::leak(Box::new(Region::new()))
    }

    /// What the next boot shows.
    fn shown(region: &'static Region) -> String {
        let mut out = String::new();
        let words = LastWords::new(region);
        words.show(&mut out).expect("a string takes everything");
        out
    }

    const TITLE: &str = "epitaph: what was printed last before the reset:\n";

    #[test]
    fn the_next_boot_shows_what_was_kept_and_the_one_after_it_nothing() {
        let region = region();
        assert_eq!(shown(region), "");
        let words = LastWords::new(region);
        words.keep(b"one\ntwo \xff");
        assert_eq!(words.boots(), 1);
        assert_eq!(shown(region), format!("{TITLE}| one\n| two .\n"));
        assert_eq!(words.boots(), 2);
        assert_eq!(shown(region), "");
    }

    #[test]
    fn the_last_lines_are_kept_whole_whatever_their_number() {
        for count in [1_usize, 500, 1000, 1500, 12_345] {
            let region = region();
            let words = LastWords::new(region);
            let lines: Vec<String> = (0..count).map(|line| format!("line {line}\n")).collect();
            lines.iter().for_each(|line| words.keep(line.as_bytes()));
            let shown = shown(region);
            let shown = shown.strip_prefix(TITLE).expect("the title");
            let kept: String = shown
                .lines()
                .map(|line| line.strip_prefix("| ").expect("a mark").to_owned() + "\n")
                .collect();
            let all = lines.concat();
            assert!(all.ends_with(&kept), "{count} lines:\n{kept}");
            assert!(kept.len() >= all.len().min(SIZE), "{count} lines");
        }
    }

    #[test]
    fn a_part_with_a_wrong_byte_is_not_shown() {
        let region = region();
        let words = LastWords::new(region);
        words.keep(b"nobody will read this");
        region.parts[0].text[7].fetch_xor(1, Ordering::Relaxed);
        assert_eq!(shown(region), "");
    }

    #[test]
    fn any_content_of_the_memory_can_be_shown() {
        for seed in 0..100_u64 {
            let region = region();
            for (part, number) in region.parts.iter().zip(1..) {
                let word = (seed + number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                part.state.store(word, Ordering::Relaxed);
            }
            assert_eq!(shown(region), "", "seed {seed}");
        }
    }

    #[test]
    fn the_checksum_is_right_after_every_byte() {
        let region = region();
        let words = LastWords::new(region);
        for byte in 0..3 * SIZE {
            words.keep(b"x");
            let (part, _) = region.current();
            assert!(part.checked().is_some(), "byte {byte}");
        }
    }

    #[test]
    fn one_that_was_stopped_while_it_kept_something_is_taken_over() {
        let region = region();
        let words = LastWords::new(region);
        words.is_busy.store(true, Ordering::Relaxed);
        words.keep(b"lost");
        words.take_over();
        words.keep(b"kept");
        assert_eq!(shown(region), format!("{TITLE}| kept\n"));
    }
}
