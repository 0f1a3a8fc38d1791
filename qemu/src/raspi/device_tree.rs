//! Writes the device tree that a Raspberry Pi's firmware would pass, with the nodes that a kernel with a serial line needs.
//! QEMU adds the command line and the memory.

use anyhow::{Context, Result, bail};
use vm_fdt::FdtWriter;

use crate::hardware::Board;

/// The serial port that is on the header's pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Console {
    /// The PL011, as with `dtoverlay=disable-bt`.
    Pl011,
    /// The mini UART, as without that overlay.
    MiniUart,
}

/// The differences between the boards' trees.
struct Model {
    compatible: [&'static str; 2],
    cpu: &'static str,
    /// The device tree's address of the peripherals, where they are for the processor in 32-bit words, and how many bytes.
    ranges: &'static [u32],
    /// Words of an address in the root.
    address_cells: u32,
}

const RASPI3B: Model = Model {
    compatible: ["raspberrypi,3-model-b", "brcm,bcm2837"],
    cpu: "arm,cortex-a53",
    ranges: &[
        0x7e00_0000,
        0x3f00_0000,
        0x0100_0000, //
        0x4000_0000,
        0x4000_0000,
        0x0000_1000,
    ],
    address_cells: 1,
};

const RASPI4B: Model = Model {
    compatible: ["raspberrypi,4-model-b", "brcm,bcm2711"],
    cpu: "arm,cortex-a72",
    ranges: &[
        0x7e00_0000,
        0,
        0xfe00_0000,
        0x0180_0000, //
        0x4000_0000,
        0,
        0xff80_0000,
        0x0080_0000,
    ],
    address_cells: 2,
};

/// Writes the tree.
///
/// # Errors
/// When the board is no Raspberry Pi.
pub fn device_tree(board: Board, console: Console) -> Result<Vec<u8>> {
    let model = match board {
        Board::Raspi3b => RASPI3B,
        Board::Raspi4b => RASPI4B,
        Board::Pc | Board::Virt | Board::Virt32 => {
            bail!("{board} is not a Raspberry Pi: no device tree is available for it")
        }
    };
    write(&model, console).context("cannot write a device tree")
}

fn write(model: &Model, console: Console) -> vm_fdt::FdtWriterResult<Vec<u8>> {
    let mut tree = FdtWriter::new()?;
    let root = tree.begin_node("")?;
    tree.property_string_list("compatible", model.compatible.map(str::to_owned).to_vec())?;
    tree.property_u32("#address-cells", model.address_cells)?;
    tree.property_u32("#size-cells", 1)?;

    let aliases = tree.begin_node("aliases")?;
    let (pl011, mini_uart) = ("/soc/serial@7e201000", "/soc/serial@7e215040");
    tree.property_string("uart0", pl011)?;
    tree.property_string("uart1", mini_uart)?;
    let (first, second) = match console {
        Console::Pl011 => (pl011, mini_uart),
        Console::MiniUart => (mini_uart, pl011),
    };
    tree.property_string("serial0", first)?;
    tree.property_string("serial1", second)?;
    tree.end_node(aliases)?;

    let chosen = tree.begin_node("chosen")?;
    tree.property_string("stdout-path", "serial0:115200n8")?;
    tree.end_node(chosen)?;

    let cpus = tree.begin_node("cpus")?;
    tree.property_u32("#address-cells", 1)?;
    tree.property_u32("#size-cells", 0)?;
    for index in 0..4 {
        let cpu = tree.begin_node(&format!("cpu@{index}"))?;
        tree.property_string("device_type", "cpu")?;
        tree.property_string("compatible", model.cpu)?;
        tree.property_u32("reg", index)?;
        tree.property_string("enable-method", "spin-table")?;
        tree.property_u64("cpu-release-addr", 0xd8 + u64::from(index) * 8)?;
        tree.end_node(cpu)?;
    }
    tree.end_node(cpus)?;

    let soc = tree.begin_node("soc")?;
    tree.property_string("compatible", "simple-bus")?;
    tree.property_u32("#address-cells", 1)?;
    tree.property_u32("#size-cells", 1)?;
    tree.property_array_u32("ranges", model.ranges)?;
    let serial = tree.begin_node("serial@7e201000")?;
    let compatible = ["arm,pl011", "arm,primecell"].map(str::to_owned);
    tree.property_string_list("compatible", compatible.to_vec())?;
    tree.property_array_u32("reg", &[0x7e20_1000, 0x200])?;
    tree.end_node(serial)?;
    let serial = tree.begin_node("serial@7e215040")?;
    tree.property_string("compatible", "brcm,bcm2835-aux-uart")?;
    tree.property_array_u32("reg", &[0x7e21_5040, 0x40])?;
    tree.end_node(serial)?;
    tree.end_node(soc)?;

    tree.end_node(root)?;
    tree.finish()
}
