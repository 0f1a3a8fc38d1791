//! A power button, connected to a PL061 GPIO controller. Manual: "PrimeCell General Purpose Input/Output (PL061)", 3.3.

use super::registers::Registers;

/// Registers by offset in bytes.
const EVENT: u64 = 0x40c;
const ENABLE: u64 = 0x410;
const CLEAR: u64 = 0x41c;
/// The button's bit in each of these registers.
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
    /// Makes it raise an interrupt when it is pressed.
    pub fn enable(self) {
        let gpio = self.registers();
        gpio.write(EVENT, BUTTON);
        gpio.write(CLEAR, BUTTON);
        gpio.write(ENABLE, BUTTON);
    }

    /// Clears its interrupt.
    pub fn clear(self) {
        self.registers().write(CLEAR, BUTTON);
    }

    fn registers(self) -> Registers {
        // SAFETY: the board has a PL061 at this address, which nothing else uses and which does no DMA.
        unsafe { Registers::new(self.gpio) }
    }
}
