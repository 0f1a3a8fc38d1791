//! The screen, on machines that have one: the report of the kernel's death, and keys to page through it.

use core::fmt::{self, Write};
use core::sync::atomic::AtomicU8;

use portable::keys::{self, Keys};
use portable::on_screen::ON_SCREEN;
use postmortem::Walk;
use screen::{Code, Key, Screen, Text};

use crate::board;
use crate::board::Keyboard;

/// What a screen shows.
pub static SCREEN: Screen = {
    static REPORT: [AtomicU8; 64 << 10] = [const { AtomicU8::new(0) }; 64 << 10];
    static COMPACT: [AtomicU8; 4 << 10] = [const { AtomicU8::new(0) }; 4 << 10];
    Screen::new(Text::new(&REPORT), Text::new(&COMPACT))
};

/// Characters of a line of the QR code's text: what a phone shows without folding, held sideways.
const WIDTH: usize = 60;

/// Finds the screen. `is_wanted`: the command line asks for it.
pub fn init(is_wanted: bool) {
    if let Some(framebuffer) = board::framebuffer(is_wanted) {
        SCREEN.set(framebuffer);
    }
}

/// Keeps the callers for the QR code; and as text for the screen, if the serial line `gets_frames` instead. It is called when the serial
/// line has them: what fails here takes nothing from that.
pub fn keep(walk: &Walk, gets_frames: bool) -> fmt::Result {
    SCREEN.compact(|out| walk.write_compact(out, WIDTH))?;
    match gets_frames && SCREEN.is_set() {
        true => walk.write(&mut OnScreen, false),
        false => Ok(()),
    }
}

/// Lets somebody page through the report, if there is a screen: by the keyboard, or on the serial line. `code` writes the code around an
/// address, and `tell` a line on the serial line.
pub fn show(code: Code<'_>, tell: &dyn Fn(&str)) {
    if !SCREEN.is_set() {
        return;
    }
    let mut line = Keys::new();
    let mut keyboard = Keyboard::new();
    let mut is_told = false;
    SCREEN.show(code, &mut || {
        if !is_told {
            is_told = true;
            tell(ON_SCREEN);
            tell(": press space for the next page, q to quit\n");
        }
        let typed = board::read().and_then(|byte| line.take(byte));
        meaning(typed.or_else(|| keyboard.pressed())?)
    });
}

/// What a key of a terminal asks for.
const fn meaning(key: keys::Key) -> Option<Key> {
    Some(match key {
        keys::Key::Character(character) => return Key::of_character(character),
        keys::Key::Complete | keys::Key::Right => Key::Next,
        keys::Key::Left => Key::Previous,
        keys::Key::Up => Key::Up,
        keys::Key::Down => Key::Down,
        keys::Key::Enter => Key::Enter,
        keys::Key::Cancel | keys::Key::DeleteOrEnd => Key::Leave,
        _ => return None,
    })
}

struct OnScreen;

impl Write for OnScreen {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        SCREEN.write(text.as_bytes());
        Ok(())
    }
}
