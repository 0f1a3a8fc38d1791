//! The boards with a processor of Arm's. One image of an architecture runs on all that have it; it learns from the device tree which one it is
//! on or, without a device tree, from the CPU.

use portable::BootMemory;
use portable::command_line::CommandLine;
use portable::device_tree::{DeviceTree, Start, Uart};
use portable::keys::Key;
use screen::Framebuffer;
use spin::Once;

use super::button::Button;
use super::fw_cfg::FwCfg;
use super::of_arch::{BOARDS, by_cpu};
use super::port::Port;
use crate::arch::exit::{self, CONDUIT};
use crate::arch::interrupts::{self, Controller};
use crate::arch::mmu::{HIGH, boot_address};

/// A kind of board.
pub trait Board: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The string in the root node's `compatible` property by which it is recognized.
    fn compatible(&self) -> &'static str;

    /// The PL011: the serial port, unless the device tree names another one.
    fn pl011(&self) -> Port;

    /// The mini UART, on boards that have one.
    fn mini_uart(&self) -> Option<Port> {
        None
    }

    /// The interrupt controller that the kernel uses. Called before the page tables are made, which are to map it.
    fn controller(&self) -> &dyn Controller;

    /// The power button, on boards that have one.
    fn button(&self) -> Option<Button> {
        None
    }

    /// Connects the serial port with the outside, where that is not so from the start.
    fn connect(&self, _: Port) {}

    /// The screen, if there is one; `is_wanted`: the command line asks for it.
    fn framebuffer(&self, is_wanted: bool) -> Option<Framebuffer>;

    /// Resets the machine by a device, where there is one; otherwise returns.
    fn reset(&self) {}

    /// Whether the CPU with this hardware number can be started so. A device tree that says what the board has not is damaged.
    fn can_start(&self, _: u64, start: Start) -> bool {
        start == Start::Firmware
    }
}

/// The serial port of this kind at this physical address, if the board has one. A device tree that names another address is
/// damaged: to write there could destroy anything.
fn port_of(board: &dyn Board, uart: Uart, address: u64) -> Option<Port> {
    let port = match uart {
        Uart::Pl011 => Some(board.pl011()),
        Uart::Mini => board.mini_uart(),
    };
    port.filter(|port| port.address == address)
}

/// The board that the kernel runs on, and its serial port.
#[derive(Clone, Copy)]
struct Detected(&'static dyn Board, Port);

/// Set once the device tree has been read, or is known to be missing.
static DETECTED: Once<Detected> = Once::new();

/// The board and port in use; before the device tree has been read, those that the CPU suggests.
fn current() -> Detected {
    // `get` takes no lock, so a report may come here.
    DETECTED.get().copied().unwrap_or_else(|| {
        let board = by_cpu();
        Detected(board, board.pl011())
    })
}

/// The board's name.
pub fn name() -> &'static str {
    current().0.name()
}

/// Returns the screen, if there is one. `is_wanted`: the command line asks for it.
pub fn framebuffer(is_wanted: bool) -> Option<Framebuffer> {
    current().0.framebuffer(is_wanted)
}

/// QEMU's device for firmware, at this physical address.
pub struct Mapped(pub u64);

impl Mapped {
    /// A register, by its offset in bytes.
    const fn register<T>(&self, offset: u64) -> *mut T {
        (self.0 + HIGH + offset) as *mut T
    }
}

impl FwCfg for Mapped {
    fn select(&self, item: u16) {
        // SAFETY: the board has the device at this address, which is mapped as device memory; this chooses what the next reads give.
        unsafe { self.register::<u16>(8).write_volatile(item.to_be()) };
    }

    fn next(&self) -> u8 {
        // SAFETY: as above.
        unsafe { self.register::<u8>(0).read_volatile() }
    }

    fn transfer(&self, request: u64) {
        let [high, low] = [(request >> 32) as u32, request as u32];
        // SAFETY: as above. The device reads the request and what that names, which are statics that live for ever, and writes to the
        // request's first word, which is atomic. The second write starts it.
        unsafe {
            self.register::<u32>(16).write_volatile(high.to_be());
            self.register::<u32>(20).write_volatile(low.to_be());
        }
    }
}

/// A keyboard, which none of these boards has.
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

/// Makes the button, if there is one, raise an NMI. Called after the interrupt controller is set up.
pub fn enable_button() {
    if let Some(button) = current().0.button() {
        interrupts::enable_as_nmi(button.interrupt);
        button.enable();
    }
}

/// Clears the button's interrupt. Called at every NMI.
pub fn clear_button() {
    if let Some(button) = current().0.button() {
        button.clear();
    }
}

/// Sends bytes over the serial line. Bytes that the device does not take in time are lost, because a report must not wait for
/// ever.
pub fn write(bytes: &[u8]) {
    current().1.write(bytes);
}

/// The next byte from the serial line, if there is one.
pub fn read() -> Option<u8> {
    current().1.read()
}

/// Resets the machine, by a device of the board or by firmware. Without either, stops the CPU.
pub fn reset() -> ! {
    current().0.reset();
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

/// Reads the device tree at the physical address `argument`: the board, its serial port and interrupt controller, and how to
/// call the firmware. Returns the command line.
pub fn command_line(memory: &BootMemory, argument: u64) -> Option<CommandLine> {
    let tree = DeviceTree::at(memory, argument);
    let is_its = |board: &&&dyn Board| {
        tree.as_ref()
            .is_some_and(|tree| tree.is_of(board.compatible()))
    };
    let board = BOARDS.iter().find(is_its).copied();
    let board = board.unwrap_or_else(by_cpu);
    let console = tree.as_ref().and_then(DeviceTree::console);
    let port = console.and_then(|(uart, address)| port_of(board, uart, address));
    let port = port.unwrap_or_else(|| board.pl011());
    DETECTED.call_once(|| Detected(board, port));
    interrupts::set_controller(board.controller());
    board.connect(port);
    if let Some(conduit) = tree.as_ref().and_then(DeviceTree::conduit) {
        CONDUIT.call_once(|| conduit);
    }
    Some(CommandLine::copy(tree?.command_line()?.bytes()))
}

/// Calls `found` with the MPIDR affinity of each CPU that can be started.
pub fn cpus(memory: &BootMemory, argument: u64, mut found: impl FnMut(u64)) {
    // Without a device tree only the running CPU is used.
    let Some(tree) = DeviceTree::at(memory, argument) else {
        return;
    };
    tree.cpus(|id, start| {
        if current().0.can_start(id, start) {
            found(id);
        }
    });
}
