//! The boards with AArch64. One image is for all of them: which one it is on, the device tree says, or where there is none,
//! the processor.

use aarch64_cpu::registers::{MIDR_EL1, Readable};
use portable::BootMemory;
use portable::command_line::CommandLine;
use portable::device_tree::{DeviceTree, Uart};
use spin::Once;

use super::button::Button;
use super::port::Port;
use super::raspi;
use super::raspi3::RASPI3;
use super::raspi4::RASPI4;
use super::virt::VIRT;
use crate::arch::exit::{self, CONDUIT};
use crate::arch::interrupts::{self, GIC, Gic};
use crate::arch::mmu::image_offset;

/// A kind of board.
#[derive(Debug)]
pub struct Board {
    /// Its name.
    pub name: &'static str,
    /// The word in the device tree's root that only such boards have.
    pub compatible: &'static str,
    /// The PL011 that is the serial port unless the device tree has another one.
    pub pl011: Port,
    /// The mini UART, on boards that have one.
    pub mini_uart: Option<Port>,
    /// The interrupt controller, on boards that have one which this kernel can use.
    pub gic: Option<Gic>,
    /// The button that interrupts, on boards that have one.
    pub button: Option<Button>,
    /// The physical address of a Raspberry Pi's devices.
    pub peripherals: Option<u64>,
}

impl Board {
    /// The port that is this device, at this physical address, if the board has one.
    fn port(&self, uart: Uart, address: u64) -> Option<Port> {
        let port = match uart {
            Uart::Pl011 => self.pl011,
            Uart::Mini => self.mini_uart?,
        };
        Some(Port { address, ..port })
    }
}

static BOARDS: [&Board; 3] = [&VIRT, &RASPI3, &RASPI4];

/// The board, and its serial port.
#[derive(Clone, Copy)]
struct Found(&'static Board, Port);

/// Set when the device tree has been read, or there is none.
static FOUND: Once<Found> = Once::new();

/// What is used: before the device tree has been read, the fixed fallback.
fn current() -> Found {
    // Reading it takes no lock once it is set, and sets nothing.
    FOUND.get().copied().unwrap_or_else(|| {
        let board = by_processor();
        Found(board, board.pl011)
    })
}

/// The board as the processor tells: an image that lies where the linker script has it is on `virt`, which may have any.
fn by_processor() -> &'static Board {
    /// MIDR_EL1, PartNum of a Cortex-A53.
    const CORTEX_A53: u64 = 0xd03;
    match image_offset() {
        0 => &VIRT,
        _ if MIDR_EL1.read(MIDR_EL1::PartNum) == CORTEX_A53 => &RASPI3,
        _ => &RASPI4,
    }
}

/// The board's name.
pub fn name() -> &'static str {
    current().0.name
}

/// Has the button, if there is one, interrupt as an NMI. After the interrupt controller was set up.
pub fn enable_button() {
    if let Some(button) = current().0.button {
        interrupts::enable_as_nmi(button.interrupt);
        button.enable();
    }
}

/// Called at every NMI: lets the button interrupt again.
pub fn clear_button() {
    if let Some(button) = current().0.button {
        button.clear();
    }
}

/// Sends bytes over the serial line. What the device does not take in time is lost: a report must come to its end.
pub fn write(bytes: &[u8]) {
    current().1.write(bytes);
}

/// The next byte from the serial line, if there is one.
pub fn read() -> Option<u8> {
    current().1.read()
}

/// Resets the machine, by a device of the board or by firmware. Where there is neither, stops the processor.
pub fn reset() -> ! {
    if let Some(peripherals) = current().0.peripherals {
        raspi::reset(peripherals);
    }
    exit::reset()
}

/// Reads the device tree at the physical address `argument`: which board it is, with its serial port and interrupt controller,
/// and how the firmware is called. Gives the command line.
pub fn command_line(memory: &BootMemory, argument: u64) -> Option<CommandLine> {
    let tree = DeviceTree::at(memory, argument);
    let is_its = |board: &&&Board| {
        tree.as_ref()
            .is_some_and(|tree| tree.is_of(board.compatible))
    };
    let board = BOARDS.iter().find(is_its).copied();
    let board = board.unwrap_or_else(by_processor);
    let console = tree.as_ref().and_then(DeviceTree::console);
    let port = console.and_then(|(uart, address)| board.port(uart, address));
    let port = port.unwrap_or(board.pl011);
    FOUND.call_once(|| Found(board, port));
    if let Some(gic) = board.gic {
        GIC.call_once(|| gic);
    }
    if let Some(peripherals) = board.peripherals {
        raspi::connect(peripherals, port);
    }
    if let Some(conduit) = tree.as_ref().and_then(DeviceTree::conduit) {
        CONDUIT.call_once(|| conduit);
    }
    Some(CommandLine::copy(tree?.command_line()?.bytes()))
}

/// Calls `found` with the affinity fields of each processor that firmware starts when it is asked to.
pub fn cpus(memory: &BootMemory, argument: u64, found: impl FnMut(u64)) {
    // Without a tree there is one processor, which needs no finding.
    if let Some(tree) = DeviceTree::at(memory, argument) {
        tree.cpus(found);
    }
}
