//! Raspberry Pi 5, 500 and Compute Module 5: BCM2712, four Cortex-A76. Its serial port, and one CPU without interrupts: group 0 of its GIC,
//! which the kernel needs for NMIs, belongs to the firmware, and no emulator has the board to try something else on.

use portable::device_tree::{Start, Uart};
use screen::Framebuffer;

use super::arms::Board;
use super::port::Port;
use crate::arch::interrupts::{Controller, Taken};

/// The board Raspberry Pi 5.
pub struct Raspi5;

/// No interrupt controller.
struct NoController;

impl Board for Raspi5 {
    fn name(&self) -> &'static str {
        "raspi5"
    }

    fn compatible(&self) -> &'static str {
        "brcm,bcm2712"
    }

    /// The one on the connector of three pins between the HDMI sockets: `uart10` of Linux's `bcm2712.dtsi`, which has the clock, too. The
    /// ports on the long header are those of another chip, behind PCI Express.
    fn pl011(&self) -> Port {
        Port {
            uart: Uart::Pl011,
            address: 0x10_7d00_1000,
            clock: 9_216_000,
        }
    }

    fn controller(&self) -> &dyn Controller {
        &NoController
    }

    fn framebuffer(&self, _: bool) -> Option<Framebuffer> {
        None
    }

    /// None: another CPU could not be stopped, so a report would have to wait for it.
    fn can_start(&self, _: u64, _: Start) -> bool {
        false
    }
}

impl Controller for NoController {
    fn init(&self) {}

    fn init_cpu(&self) {}

    fn enable(&self, _: u32) {}

    fn enable_as_nmi(&self, _: u32) {}

    fn take(&self, _: bool) -> Option<Taken> {
        None
    }

    fn send(&self, _: u32, _: u64) {}
}
