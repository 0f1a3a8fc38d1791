//! A PC's keyboard, without interrupts. Source: "IBM PC/AT Technical Reference", keyboard controller (8042).

use pc_keyboard::layouts::Us104Key;
use pc_keyboard::{DecodedKey, HandleControl, KeyCode, PS2Keyboard, ScancodeSet1};
use portable::keys::Key;
use x86_64::instructions::port::Port;

/// I/O ports: status and data.
const STATUS: u16 = 0x64;
const DATA: u16 = 0x60;

/// Bits of the status: there is a byte, and it is the mouse's.
const IS_FULL: u8 = 1;
const IS_MOUSE: u8 = 1 << 5;
/// What a machine without a keyboard controller says.
const NOTHING: u8 = 0xff;

/// The keyboard, as the firmware has set it up.
pub struct Keyboard(PS2Keyboard<Us104Key, ScancodeSet1>);

impl Keyboard {
    /// A keyboard of which no key is held.
    pub const fn new() -> Self {
        Self(PS2Keyboard::new(
            ScancodeSet1::new(),
            Us104Key,
            HandleControl::Ignore,
        ))
    }

    /// The key that was pressed, if there is one.
    pub fn pressed(&mut self) -> Option<Key> {
        let event = self.0.add_byte(byte()?).ok()??;
        match self.0.process_keyevent(event)? {
            DecodedKey::Unicode('\n') => Some(Key::Enter),
            DecodedKey::Unicode('\t') => Some(Key::Complete),
            DecodedKey::Unicode(character) => {
                let byte = u8::try_from(character).ok()?;
                matches!(byte, b' '..=b'~').then_some(Key::Character(byte))
            }
            DecodedKey::RawKey(KeyCode::ArrowUp) => Some(Key::Up),
            DecodedKey::RawKey(KeyCode::ArrowDown) => Some(Key::Down),
            DecodedKey::RawKey(KeyCode::ArrowLeft) => Some(Key::Left),
            DecodedKey::RawKey(KeyCode::ArrowRight) => Some(Key::Right),
            DecodedKey::RawKey(_) => None,
        }
    }
}

/// The next byte of the keyboard, if there is one.
fn byte() -> Option<u8> {
    // SAFETY: reading the status changes nothing. Where it says that a byte is there, reading takes that, which nobody else does.
    let (status, byte) = unsafe {
        let status: u8 = Port::new(STATUS).read();
        if status & IS_FULL == 0 || status == NOTHING {
            return None;
        }
        (status, Port::new(DATA).read())
    };
    (status & IS_MOUSE == 0).then_some(byte)
}
