//! QEMU's `virt` machine: a PL011, and a device tree with the command line and the way to call the firmware.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};

use arm_pl011_uart::{
    DataBits, LineConfig, PL011Registers, Parity, StopBits, Uart, UniqueMmioPointer,
};
use fdt_raw::Fdt;

use crate::arch::exit::{CONDUIT, Conduit};
use crate::arch::mmu::{BOOT_RAM, HIGH};
use crate::boot_memory::BootMemory;
use crate::command_line::CommandLine;

/// The board's name.
pub const NAME: &str = "virt";

/// Physical addresses of the GIC: distributor, CPU interface.
pub const GIC: Option<(u64, u64)> = Some((0x0800_0000, 0x0801_0000));

/// Interrupt ID of the power button: SPI 7, that of the GPIO controller, which has nothing else.
pub const BUTTON: Option<u32> = Some(39);
/// Physical address of that controller, a PL061, and its registers' offsets in bytes ("PrimeCell General Purpose
/// Input/Output (PL061)", 3.3).
const GPIO: u64 = 0x0903_0000;
const GPIO_EVENT: u64 = 0x40c;
const GPIO_ENABLE: u64 = 0x410;
const GPIO_CLEAR: u64 = 0x41c;
/// The button's bit in each of them.
const GPIO_BUTTON: u32 = 1 << 3;

/// Physical address of the first PL011.
const UART: u64 = 0x0900_0000;
/// Its clock, in Hz; QEMU does not care.
const UART_CLOCK: u32 = 24_000_000;

/// Polls before a byte is given up: far longer than it takes to send one.
const PATIENCE: u32 = 1_000_000;

/// Whether somebody has set up the serial port: whoever writes first does.
static IS_SET_UP: AtomicBool = AtomicBool::new(false);

/// Sends bytes over the serial line. What the device does not take in time is lost: a report must come to its end.
pub fn write(bytes: &[u8]) {
    let Some(mut uart) = uart() else {
        return;
    };
    for byte in bytes {
        for _ in 0..PATIENCE {
            if !uart.is_tx_fifo_full() {
                uart.write_word(*byte);
                break;
            }
            core::hint::spin_loop();
        }
    }
}

/// The next byte from the serial line, if there is one. What came in wrong is left out.
pub fn read() -> Option<u8> {
    uart()?.read_word().ok()?
}

fn uart() -> Option<Uart<'static>> {
    let registers = NonNull::new((UART + HIGH) as *mut PL011Registers)?;
    // SAFETY: mapped as device memory, by the boot tables and by those that replace them. Two users at once, a
    // report and whoever it interrupted, mix up their text and do no other harm.
    let mut uart = Uart::new(unsafe { UniqueMmioPointer::new(registers) });
    if !IS_SET_UP.swap(true, Ordering::Relaxed) {
        let line = LineConfig {
            data_bits: DataBits::Bits8,
            parity: Parity::None,
            stop_bits: StopBits::One,
        };
        // Fails only for baud rates that the clock cannot be divided to.
        let _ = uart.enable(line, 115_200, UART_CLOCK);
    }
    Some(uart)
}

/// Has the power button interrupt when it is pressed.
pub fn enable_button() {
    write_gpio(GPIO_EVENT, GPIO_BUTTON);
    write_gpio(GPIO_CLEAR, GPIO_BUTTON);
    write_gpio(GPIO_ENABLE, GPIO_BUTTON);
}

/// The interrupt of the power button was seen.
pub fn clear_button() {
    write_gpio(GPIO_CLEAR, GPIO_BUTTON);
}

fn write_gpio(offset: u64, value: u32) {
    // SAFETY: a register of the board, mapped as device memory; nothing else uses it.
    unsafe { ((GPIO + HIGH + offset) as *mut u32).write_volatile(value) };
}

/// The command line from the device tree, which lies at `argument` when the kernel was started as Linux is, and at the
/// start of RAM when QEMU loaded an ELF file. Notes also how the firmware is called.
pub fn command_line(memory: &BootMemory, argument: u64) -> Option<CommandLine> {
    let tree = [argument, BOOT_RAM.start]
        .into_iter()
        .find_map(|address| device_tree(memory, address))?;
    let psci = tree.find_by_path("/psci");
    let conduit = match psci.and_then(|node| node.find_property_str("method")) {
        Some("hvc") => Some(Conduit::Hypervisor),
        Some("smc") => Some(Conduit::SecureMonitor),
        _ => None,
    };
    if let Some(conduit) = conduit {
        CONDUIT.call_once(|| conduit);
    }
    let arguments = tree.chosen()?.bootargs()?;
    Some(CommandLine::copy(arguments.bytes()))
}

/// Calls `found` with the affinity fields of each processor.
pub fn cpus(memory: &BootMemory, argument: u64, found: impl FnMut(u64)) {
    let tree = [argument, BOOT_RAM.start]
        .into_iter()
        .find_map(|address| device_tree(memory, address));
    // Without a tree there is one processor, which needs no finding.
    let nodes = tree
        .iter()
        .flat_map(|tree| tree.find_children_by_path("/cpus"));
    nodes
        .filter(|node| node.find_property_str("device_type") == Some("cpu"))
        .filter_map(|node| Some(node.reg()?.next()?.address))
        .for_each(found);
}

fn device_tree(memory: &BootMemory, address: u64) -> Option<Fdt<'_>> {
    // The header: magic number, size of the whole, both big-endian (Devicetree Specification, 5.2 "Header").
    let size = memory.bytes(address, 8)?.last_chunk()?;
    let size = u32::from_be_bytes(*size);
    Fdt::from_bytes(memory.bytes(address, u64::from(size))?).ok()
}
