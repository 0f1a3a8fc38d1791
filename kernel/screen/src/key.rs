//! What a key does.

/// What a key asks for. Which key that is, and of which keyboard, the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The next page.
    Next,
    /// The page before.
    Previous,
    /// The next frame, or the next lines of a page without frames.
    Down,
    /// The frame or the lines before.
    Up,
    /// The code around the frame; or back from there.
    Enter,
    /// The end.
    Leave,
}

impl Key {
    /// The key that a terminal or a keyboard sends as this character: space and tab, `n` and `p`, `j` and `k`, Enter, `q`.
    #[must_use]
    pub const fn of_character(character: u8) -> Option<Self> {
        Some(match character {
            b' ' | b'\t' | b'n' => Self::Next,
            b'p' => Self::Previous,
            b'j' => Self::Down,
            b'k' => Self::Up,
            b'\r' | b'\n' => Self::Enter,
            b'q' => Self::Leave,
            _ => return None,
        })
    }
}
