//! QEMU's `virt` machine with a processor of 32 bits.

use portable::BootMemory;
use portable::command_line::CommandLine;
use portable::device_tree::{DeviceTree, Uart};
use portable::keys::Key;
use screen::Framebuffer;

use super::port::Port;
use crate::arch::exit::{self, CONDUIT};
use crate::arch::mmu::boot_address;

const PORT: Port = Port {
    uart: Uart::Pl011,
    address: 0x0900_0000,
    // QEMU ignores the clock.
    clock: 24_000_000,
};

/// The board's name.
pub const fn name() -> &'static str {
    "virt"
}

/// The screen, for which there is no driver here.
pub const fn framebuffer() -> Option<Framebuffer> {
    None
}

/// A keyboard, which the board has not.
pub struct Keyboard(());

impl Keyboard {
    /// No keyboard.
    pub const fn new() -> Self {
        Self(())
    }

    /// No key.
    pub const fn pressed(&mut self) -> Option<Key> {
        None
    }
}

/// Does nothing: the button is not used here.
pub const fn enable_button() {}

/// Does nothing: the button is not used here.
pub const fn clear_button() {}

/// Sends bytes over the serial line. Bytes that the device does not take in time are lost, because a report must not wait for
/// ever.
pub fn write(bytes: &[u8]) {
    PORT.write(bytes);
}

/// The next byte from the serial line, if there is one.
pub fn read() -> Option<u8> {
    PORT.read()
}

/// Resets the machine, by firmware. Without it, stops the CPU.
pub fn reset() -> ! {
    exit::reset()
}

/// Memory as the boot loader left it: the device tree.
///
/// # Safety
/// The boot tables map it as long as the result lives.
pub unsafe fn memory(_: u64) -> BootMemory {
    // SAFETY: as this caller says; `boot_address` says nothing else.
    unsafe { BootMemory::new(boot_address) }
}

/// Reads the device tree at the physical address `argument`: how to call the firmware. Returns the command line.
pub fn command_line(memory: &BootMemory, argument: u64) -> Option<CommandLine> {
    let tree = DeviceTree::at(memory, argument)?;
    if let Some(conduit) = tree.conduit() {
        CONDUIT.call_once(|| conduit);
    }
    Some(CommandLine::copy(tree.command_line()?.bytes()))
}

/// Names no CPU: only the running one is used.
pub fn cpus(_: &BootMemory, _: u64, _: impl FnMut(u64)) {}
