//! QEMU's `virt` machine.

use portable::device_tree::Uart;
use screen::Framebuffer;

use super::arms::{Board, Mapped};
use super::button::Button;
use super::port::Port;
use super::ramfb;
use crate::arch::interrupts::{Controller, Gic};

/// QEMU's `virt`, which is the same machine with processors of 32 and of 64 bits.
pub struct Virt;

/// The physical address of QEMU's device for firmware.
const FW_CFG: u64 = 0x0902_0000;

static GIC: Gic = Gic {
    distributor: 0x0800_0000,
    interface: 0x0801_0000,
    redistributors: 0x080a_0000,
};

impl Board for Virt {
    fn name(&self) -> &'static str {
        "virt"
    }

    fn compatible(&self) -> &'static str {
        "linux,dummy-virt"
    }

    fn pl011(&self) -> Port {
        Port {
            uart: Uart::Pl011,
            address: 0x0900_0000,
            // QEMU ignores the clock.
            clock: 24_000_000,
        }
    }

    fn controller(&self) -> &dyn Controller {
        &GIC
    }

    fn button(&self) -> Option<Button> {
        // SPI 7 is that of the GPIO controller, whose only use is the button.
        Some(Button {
            interrupt: 39,
            gpio: 0x0903_0000,
        })
    }

    fn framebuffer(&self, _: bool) -> Option<Framebuffer> {
        ramfb::set_up(&Mapped(FW_CFG))
    }
}
