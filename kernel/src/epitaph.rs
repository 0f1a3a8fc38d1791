//! What was printed last, kept where a reset does not reach, and shown at the next boot: the words on a kernel's grave for
//! whoever was not there when it died.
//!
//! It lies in memory that belongs to no segment of the image (`.epitaph` in `arch/*/link.ld`), so that nobody loads or
//! clears it. Text is appended to one of two parts; when that is full, the other one is begun anew. Each part has a
//! checksum that is right after every byte: text first, then length and checksum in one store. A checksum over all that
//! is computed at the end was rejected: a kernel that hangs, or is reset by a watchdog, has no end.
//!
//! Traces that are sent as frames (`frames.rs`) are not kept: they are no text.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crc::{CRC_32_MPEG_2, Crc};

use crate::console::Console;

/// Bytes of text in a part.
const SIZE: usize = 4096;

/// Neither reflected nor inverted at its end, so that the checksum of a text is where that of a longer one begins.
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_MPEG_2);

/// What is kept across a reset.
#[repr(C, align(4096))]
struct Kept {
    /// How often the kernel was booted since power was switched on, and the inverse of it.
    boots: AtomicU64,
    parts: [Part; 2],
}

#[repr(C)]
struct Part {
    /// See [`State`].
    state: AtomicU64,
    text: [AtomicU8; SIZE],
}

#[unsafe(link_section = ".epitaph")]
static KEPT: Kept = Kept {
    boots: AtomicU64::new(0),
    parts: [const {
        Part {
            state: AtomicU64::new(0),
            text: [const { AtomicU8::new(0) }; SIZE],
        }
    }; 2],
};

/// Somebody keeps text at the moment; perhaps a processor that was stopped in the middle of it, for a report. What that
/// report says is not kept then, since who was stopped goes on where it was.
static IS_BUSY: AtomicBool = AtomicBool::new(false);

/// The old text is being shown, which is not to be kept again.
static IS_PAUSED: AtomicBool = AtomicBool::new(false);

/// What is known of a part: a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// Bytes of text.
    length: u16,
    /// Parts begun before this one, modulo 2^16.
    sequence: u16,
    /// Of the sequence and the text.
    checksum: u32,
}

impl State {
    /// An empty part.
    fn empty(sequence: u16) -> Self {
        Self {
            length: 0,
            sequence,
            checksum: CHECKSUM.checksum(&sequence.to_le_bytes()),
        }
    }

    /// From its word. Memory that was never written is an empty part.
    fn read(word: u64) -> Self {
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
}

impl Part {
    /// What is known of it, if the checksum is right.
    fn state(&self) -> Option<State> {
        let state = State::read(self.state.load(Ordering::Acquire));
        let text = self.text.get(..usize::from(state.length))?;
        let whole = text
            .iter()
            .fold(State::empty(state.sequence), |so_far, byte| {
                so_far.with(byte.load(Ordering::Relaxed))
            });
        (whole == state).then_some(state)
    }

    fn set(&self, state: State) {
        self.state.store(state.word(), Ordering::Release);
    }
}

/// The part that is written to, and what is known of it, as if nothing could be wrong.
fn current() -> (&'static Part, State) {
    let [first, second] = &KEPT.parts;
    let state = |part: &Part| State::read(part.state.load(Ordering::Relaxed));
    let (of_first, of_second) = (state(first), state(second));
    if of_second.sequence == of_first.sequence.wrapping_add(1) {
        (second, of_second)
    } else {
        (first, of_first)
    }
}

/// Keeps what is printed.
pub fn keep(text: &[u8]) {
    if IS_PAUSED.load(Ordering::Relaxed) || IS_BUSY.swap(true, Ordering::Acquire) {
        return;
    }
    for byte in text {
        let (mut part, mut state) = current();
        if usize::from(state.length) >= SIZE {
            let [first, second] = &KEPT.parts;
            part = if core::ptr::eq(part, first) {
                second
            } else {
                first
            };
            state = State::empty(state.sequence.wrapping_add(1));
        }
        if let Some(slot) = part.text.get(usize::from(state.length)) {
            slot.store(*byte, Ordering::Relaxed);
            part.set(state.with(*byte));
        }
    }
    IS_BUSY.store(false, Ordering::Release);
}

/// Has everything kept from now on, whoever was stopped while it kept something: nobody goes on any more.
pub fn take_over() {
    IS_BUSY.store(false, Ordering::Relaxed);
}

/// Forgets what was printed: the next boot shows nothing, since nothing went wrong.
pub fn forget() {
    let [first, second] = &KEPT.parts;
    second.set(State::empty(0));
    first.set(State::empty(0));
}

/// How often the kernel was booted since power was switched on, this time included.
pub fn boots() -> u32 {
    KEPT.boots.load(Ordering::Relaxed) as u32
}

/// Shows what was printed last before the reset that led here, if that is known, and begins to keep what is printed from
/// now on. Called once.
pub fn show(console: &mut Console) -> fmt::Result {
    let word = KEPT.boots.load(Ordering::Relaxed);
    let (before, inverse) = (word as u32, (word >> 32) as u32);
    let boots = if before == !inverse { before } else { 0 }.wrapping_add(1);
    let word = u64::from(boots) | u64::from(!boots) << 32;
    KEPT.boots.store(word, Ordering::Relaxed);

    let [first, second] = &KEPT.parts;
    let mut parts = [first, second].map(|part| (part, part.state()));
    if let [(_, Some(one)), (_, Some(other))] = &parts
        && one.sequence == other.sequence.wrapping_add(1)
    {
        parts.reverse();
    }
    let is_kept = |state: &Option<State>| state.is_some_and(|state| state.length > 0);
    if parts.iter().any(|(_, state)| is_kept(state)) {
        IS_PAUSED.store(true, Ordering::Relaxed);
        console.write_str("epitaph: what was printed last before the reset:\n")?;
        let mut lines = Lines {
            console,
            is_open: false,
            // Something was before it, perhaps of the same line.
            is_cut: parts[0].1.is_some_and(|state| state.sequence > 0),
        };
        for (part, state) in parts {
            let length = state.map_or(0, |state| usize::from(state.length));
            for byte in part.text.iter().take(length) {
                lines.byte(byte.load(Ordering::Relaxed))?;
            }
        }
        lines.end()?;
        IS_PAUSED.store(false, Ordering::Relaxed);
    }
    forget();
    Ok(())
}

/// Writes lines with a mark before each, so that no old report is taken for a new one.
struct Lines<'a> {
    console: &'a mut Console,
    is_open: bool,
    /// The line's beginning is not there, and so its end is left out.
    is_cut: bool,
}

impl Lines<'_> {
    fn byte(&mut self, byte: u8) -> fmt::Result {
        if self.is_cut {
            self.is_cut = byte != b'\n';
            return Ok(());
        }
        if !self.is_open {
            self.console.write_str("| ")?;
            self.is_open = true;
        }
        match byte {
            b'\n' => self.end(),
            // A path or a message in another script is rare, and may begin in the middle of a character.
            b' '..=b'~' => self.console.write_char(char::from(byte)),
            _ => self.console.write_char('.'),
        }
    }

    fn end(&mut self) -> fmt::Result {
        match core::mem::take(&mut self.is_open) {
            true => self.console.write_str("\n"),
            false => Ok(()),
        }
    }
}

/// Changes a byte of what is kept, so that its checksum is wrong.
pub fn damage() {
    let (part, _) = current();
    part.text[0].fetch_xor(1, Ordering::Relaxed);
}
