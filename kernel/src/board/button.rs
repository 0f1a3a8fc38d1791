//! A power button at a PL061. Manual: "PrimeCell General Purpose Input/Output (PL061)", 3.3.

use super::registers::Registers;

/// Registers by offset in bytes.
const EVENT: u64 = 0x40c;
const ENABLE: u64 = 0x410;
const CLEAR: u64 = 0x41c;
/// The button's bit in each of them.
const BUTTON: u32 = 1 << 3;

/// The button.
#[derive(Clone, Copy, Debug)]
pub struct Button {
    /// The interrupt ID of its controller.
    pub interrupt: u32,
    /// The physical address of its controller.
    pub gpio: u64,
}

impl Button {
    /// Has it interrupt when it is pressed.
    pub fn enable(self) {
        let gpio = self.registers();
        gpio.write(EVENT, BUTTON);
        gpio.write(CLEAR, BUTTON);
        gpio.write(ENABLE, BUTTON);
    }

    /// Its interrupt was seen.
    pub fn clear(self) {
        self.registers().write(CLEAR, BUTTON);
    }

    fn registers(self) -> Registers {
        // SAFETY: the board's; nothing else uses it.
        unsafe { Registers::new(self.gpio) }
    }
}
