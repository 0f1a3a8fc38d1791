//! A PC, as QEMU's `pc` and `q35` machines are: a 16550 at COM1, the command line in PVH start info.

use core::sync::atomic::{AtomicBool, Ordering};

use portable::BootMemory;
use portable::command_line::CommandLine;
use portable::madt;
use portable::start_info::StartInfo;
use screen::Framebuffer;
use uart_16550::backend::PioBackend;
use uart_16550::{BaudRate, Config, Uart16550};
use x86_64::instructions::port::Port;

use super::fw_cfg::FwCfg;
pub use super::keyboard::Keyboard;
use super::ramfb;
pub use crate::arch::exit::reset;
use crate::arch::mmu;

/// The board's name.
pub const fn name() -> &'static str {
    "pc"
}

/// I/O port of the first serial port.
const COM1: u16 = 0x3f8;

/// Polls before a byte is given up: at least 0.1 s, while a byte takes 0.1 ms.
const MAX_POLLS: u32 = 100_000;

/// Whether the serial port is set up; the first use does that.
static IS_SET_UP: AtomicBool = AtomicBool::new(false);

/// Sends bytes over the serial line. Bytes that the device does not take in time are lost, because a report must not wait for
/// ever.
pub fn write(bytes: &[u8]) {
    let Some(mut uart) = uart() else {
        return;
    };
    for byte in bytes {
        for _ in 0..MAX_POLLS {
            if uart.try_send_byte(*byte).is_ok() {
                break;
            }
            core::hint::spin_loop();
        }
    }
}

/// The next byte from the serial line, if there is one.
pub fn read() -> Option<u8> {
    uart()?.try_receive_byte().ok()
}

fn uart() -> Option<Uart16550<PioBackend>> {
    // SAFETY: on a PC nothing else is at these ports. Concurrent users, a report and the code that it interrupted, only mix up
    // their text.
    let mut uart = unsafe { Uart16550::new_port(COM1) }.ok()?;
    if !IS_SET_UP.swap(true, Ordering::Relaxed) {
        let config = Config {
            baud_rate: BaudRate::Baud115200,
            ..Config::DEFAULT
        };
        // Without a device there is no way to report the error.
        let _ = uart.init(config);
    }
    Some(uart)
}

/// The screen, if QEMU has one whose memory is the kernel's.
pub fn framebuffer(_: bool) -> Option<Framebuffer> {
    ramfb::set_up(&Ports)
}

/// QEMU's device for firmware. Other PCs have nothing at these ports.
struct Ports;

impl FwCfg for Ports {
    fn select(&self, item: u16) {
        // SAFETY: it chooses what the next reads give, or does nothing where there is no such device.
        unsafe { Port::new(0x510).write(item) };
    }

    fn next(&self) -> u8 {
        // SAFETY: the same.
        unsafe { Port::new(0x511).read() }
    }

    fn transfer(&self, request: u64) {
        for (port, half) in [(0x514, (request >> 32) as u32), (0x518, request as u32)] {
            // SAFETY: the device is there, as its signature was read. It reads the request and what that names, which are statics that
            // live for ever, and writes to the request's first word, which is atomic.
            unsafe { Port::new(port).write(half.to_be()) };
        }
    }
}

/// Does nothing: a PC's button raises an NMI without being enabled.
pub const fn enable_button() {}

/// Does nothing: a PC's button needs no acknowledgement.
pub const fn clear_button() {}

/// Memory as the boot loader left it: what of the first gigabyte its map in the start info at this physical address says is there.
///
/// # Safety
/// The boot tables map that gigabyte as long as the result lives. The address is the one that the boot loader has passed: start info
/// and its map are in RAM, as the boot protocol says; the map is right, and what it has as reserved right behind RAM, below 640 KB or
/// above 16 MB, was taken from RAM by firmware.
pub unsafe fn memory(start_info: u64) -> BootMemory {
    // SAFETY: limited to the map, right below, which has RAM and firmware's memory only, as the caller says. Before that nothing but start info and the
    // map is read, which are in RAM, as the caller says.
    let mut memory = unsafe { BootMemory::new(mmu::boot_address) };
    // A boot loader without start info has no map either.
    let map = StartInfo::at(&memory, start_info).map(|info| info.map(&memory));
    memory.limit(map.unwrap_or_default());
    memory
}

/// The command line from the start info at physical address `start_info`.
pub fn command_line(memory: &BootMemory, start_info: u64) -> Option<CommandLine> {
    let address = StartInfo::at(memory, start_info)?.command_line(memory)?;
    let bytes = (address..).map_while(|at| memory.bytes(at, 1)?.first().copied());
    Some(CommandLine::copy(bytes))
}

/// Calls `found` with the APIC ID of each CPU.
pub fn cpus(memory: &BootMemory, start_info: u64, found: impl FnMut(u64)) {
    // Without ACPI's tables only the running CPU is used.
    let rsdp = StartInfo::at(memory, start_info).and_then(|info| info.rsdp(memory));
    let _ = rsdp.and_then(|rsdp| madt::cpus(memory, rsdp, found));
}
