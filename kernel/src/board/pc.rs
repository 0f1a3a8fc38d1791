//! A PC, as QEMU's `pc` and `q35` machines are: a 16550 at COM1, the command line in PVH start info.

use core::sync::atomic::{AtomicBool, Ordering};

use portable::BootMemory;
use portable::command_line::CommandLine;
use portable::madt;
use uart_16550::backend::PioBackend;
use uart_16550::{BaudRate, Config, Uart16550};

pub use crate::arch::exit::reset;

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

/// Does nothing: a PC's button raises an NMI without being enabled.
pub const fn enable_button() {}

/// Does nothing: a PC's button needs no acknowledgement.
pub const fn clear_button() {}

/// The first word of PVH start info, and the offsets in it of the addresses of the command line and of ACPI's RSDP (Xen,
/// `public/arch-x86/hvm/ start_info.h`).
const START_INFO_MAGIC: u32 = 0x336e_c578;
const COMMAND_LINE_AT: u64 = 24;
const RSDP_AT: u64 = 32;

/// The command line from the start info at physical address `start_info`.
pub fn command_line(memory: &BootMemory, start_info: u64) -> Option<CommandLine> {
    let address = address_at(memory, start_info, COMMAND_LINE_AT)?;
    let bytes = (address..).map_while(|at| memory.bytes(at, 1)?.first().copied());
    Some(CommandLine::copy(bytes))
}

/// Calls `found` with the APIC ID of each CPU.
pub fn cpus(memory: &BootMemory, start_info: u64, found: impl FnMut(u64)) {
    // Without ACPI's tables only the running CPU is used.
    let rsdp = address_at(memory, start_info, RSDP_AT);
    let _ = rsdp.and_then(|rsdp| madt::cpus(memory, rsdp, found));
}

/// The address at this offset of start info, unless it is zero.
fn address_at(memory: &BootMemory, start_info: u64, offset: u64) -> Option<u64> {
    let magic = memory.bytes(start_info, 4)?.first_chunk()?;
    if u32::from_le_bytes(*magic) != START_INFO_MAGIC {
        return None;
    }
    let address = memory.bytes(start_info.checked_add(offset)?, 8)?;
    let address = u64::from_le_bytes(*address.first_chunk()?);
    (address != 0).then_some(address)
}
