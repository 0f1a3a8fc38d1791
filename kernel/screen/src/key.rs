//! The actions of keys.

/// An action that a key requests. The kernel maps the keys of a serial line or keyboard to actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Shows the next page.
    Next,
    /// Shows the previous page.
    Previous,
    /// Chooses the next frame, or shows the next lines of a page without frames.
    Down,
    /// Chooses the previous frame, or shows the previous lines of a page without frames.
    Up,
    /// Shows the code around the chosen frame, or returns from the code to the page.
    Enter,
    /// Ends [`Screen::show`](crate::Screen::show).
    Leave,
}

impl Key {
    /// Returns the action of a character that a terminal or a keyboard sends: space, tab or `n`, and `p`, for pages; `j` and `k` for
    /// frames; Enter for code; `q` for the end.
    ///
    /// ```
    /// use screen::Key;
    ///
    /// assert_eq!(Key::of_character(b'j'), Some(Key::Down));
    /// assert_eq!(Key::of_character(b'x'), None);
    /// ```
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
