//! The AArch64 boards. One image runs on all of them; it learns from the device tree which one it is on or, without a device
//! tree, from the CPU.

use core::sync::atomic::{AtomicBool, Ordering};

use aarch64_cpu::registers::{MIDR_EL1, Readable};
use portable::BootMemory;
use portable::command_line::CommandLine;
use portable::device_tree::{DeviceTree, Start, Uart};
use portable::keys::Key;
use screen::Framebuffer;
use spin::Once;

use super::button::Button;
use super::fw_cfg::FwCfg;
use super::mailbox;
use super::port::Port;
use super::ramfb;
use super::raspi;
use super::raspi3::RASPI3;
use super::raspi4::RASPI4;
use super::virt::VIRT;
use crate::arch::exit::{self, CONDUIT};
use crate::arch::interrupts::{self, Controller, Gic, Local};
use crate::arch::mmu::{HIGH, boot_address, image_offset};
use crate::arch::start::{SPIN_TABLE, SpinTable};

/// A kind of board.
#[derive(Debug)]
pub struct Board {
    /// Its name.
    pub name: &'static str,
    /// The string in the root node's `compatible` property by which the board is recognized.
    pub compatible: &'static str,
    /// The PL011: the serial port, unless the device tree names another one.
    pub pl011: Port,
    /// The mini UART, on boards that have one.
    pub mini_uart: Option<Port>,
    /// The GIC, on boards that have one.
    pub gic: Option<Gic>,
    /// The interrupt controller of a Raspberry Pi's cores.
    pub local: Option<Local>,
    /// Where the other CPUs wait, on boards where they do so in RAM.
    pub spin_table: Option<SpinTable>,
    /// The power button, on boards that have one.
    pub button: Option<Button>,
    /// The physical address of QEMU's device for firmware, on its own board.
    pub fw_cfg: Option<u64>,
    /// The physical address of the devices, on a Raspberry Pi.
    pub peripherals: Option<u64>,
}

impl Board {
    /// The interrupt controller that the kernel uses: a GIC, unless its NMIs belong to firmware, and there is another controller.
    fn controller(&self) -> Option<Controller> {
        let gic = self.gic;
        let gic = gic.filter(|gic| self.local.is_none() || !gic.has_secure_state());
        let local = self.local.map(Controller::Local);
        gic.map(Controller::Gic).or(local)
    }

    /// The serial port of this kind at this physical address, if the board has one. A device tree that names another address is
    /// damaged: to write there could destroy anything.
    fn port(&self, uart: Uart, address: u64) -> Option<Port> {
        let port = match uart {
            Uart::Pl011 => Some(self.pl011),
            Uart::Mini => self.mini_uart,
        };
        port.filter(|port| port.address == address)
    }
}

static BOARDS: [&Board; 3] = [&VIRT, &RASPI3, &RASPI4];

/// The board that the kernel runs on, and its serial port.
#[derive(Clone, Copy)]
struct Detected(&'static Board, Port);

/// Set once the device tree has been read, or is known to be missing.
static DETECTED: Once<Detected> = Once::new();

/// Whether the command line asks for a Raspberry Pi's screen.
static HAS_SCREEN: AtomicBool = AtomicBool::new(false);

/// The board and port in use; before the device tree has been read, those that the CPU suggests.
fn current() -> Detected {
    // `get` takes no lock, so a report may come here.
    DETECTED.get().copied().unwrap_or_else(|| {
        let board = by_cpu();
        Detected(board, board.pl011)
    })
}

/// Guesses the board from the load address and the CPU: an image at its link address is on `virt`, which may have any CPU.
fn by_cpu() -> &'static Board {
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

/// The screen, if there is one. A Raspberry Pi has one even where nobody can look at it, so it is used only if the command line asks for
/// that.
pub fn framebuffer() -> Option<Framebuffer> {
    let board = current().0;
    if let Some(device) = board.fw_cfg {
        return ramfb::set_up(&Mapped(device));
    }
    match HAS_SCREEN.load(Ordering::Relaxed) {
        true => mailbox::framebuffer(board.peripherals?),
        false => None,
    }
}

/// QEMU's device for firmware, at this physical address.
struct Mapped(u64);

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
        // SAFETY: as above. The device reads the request and what that names, which are statics that live for ever, and writes to the
        // request's first word, which is atomic.
        unsafe { self.register::<u64>(16).write_volatile(request.to_be()) };
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
    if let Some(button) = current().0.button {
        interrupts::enable_as_nmi(button.interrupt);
        button.enable();
    }
}

/// Clears the button's interrupt. Called at every NMI.
pub fn clear_button() {
    if let Some(button) = current().0.button {
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
    if let Some(peripherals) = current().0.peripherals {
        raspi::reset(peripherals);
    }
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
    let is_its = |board: &&&Board| {
        tree.as_ref()
            .is_some_and(|tree| tree.is_of(board.compatible))
    };
    let board = BOARDS.iter().find(is_its).copied();
    let board = board.unwrap_or_else(by_cpu);
    let console = tree.as_ref().and_then(DeviceTree::console);
    let port = console.and_then(|(uart, address)| board.port(uart, address));
    let port = port.unwrap_or(board.pl011);
    DETECTED.call_once(|| Detected(board, port));
    if let Some(controller) = board.controller() {
        interrupts::set_controller(controller);
    }
    if let Some(peripherals) = board.peripherals {
        raspi::connect(peripherals, port);
    }
    if let Some(conduit) = tree.as_ref().and_then(DeviceTree::conduit) {
        CONDUIT.call_once(|| conduit);
    }
    let command_line = CommandLine::copy(tree?.command_line()?.bytes());
    HAS_SCREEN.store(command_line.has("screen"), Ordering::Relaxed);
    Some(command_line)
}

/// Calls `found` with the MPIDR affinity of each CPU that can be started.
pub fn cpus(memory: &BootMemory, argument: u64, mut found: impl FnMut(u64)) {
    // Without a device tree only the running CPU is used.
    let Some(tree) = DeviceTree::at(memory, argument) else {
        return;
    };
    tree.cpus(|id, start| match start {
        Start::Firmware => found(id),
        // A device tree that names another address than the board's is damaged: to write there could destroy anything.
        Start::SpinTable(address) => {
            let table = current().0.spin_table;
            if let Some(table) = table.filter(|table| table.release(id) == Some(address)) {
                SPIN_TABLE.call_once(|| table);
                found(id);
            }
        }
    });
}
