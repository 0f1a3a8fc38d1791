//! What the device tree says that firmware passes.

use fdt_raw::Fdt;

use super::arm::Board;
use super::port::Port;
use crate::arch::exit::Conduit;
use crate::boot_memory::BootMemory;

/// A device tree, read where firmware left it.
#[derive(Debug)]
pub struct DeviceTree<'a>(Fdt<'a>);

impl<'a> DeviceTree<'a> {
    /// The tree at this physical address, if there is one.
    pub fn at(memory: &'a BootMemory, address: u64) -> Option<Self> {
        // The header: magic number, size of the whole, both big-endian (Devicetree Specification, 5.2 "Header").
        const MAGIC: u32 = 0xd00d_feed;
        let word = |at| {
            let bytes = memory.bytes(at, 4)?.first_chunk()?;
            Some(u32::from_be_bytes(*bytes))
        };
        if word(address)? != MAGIC {
            return None;
        }
        let size = word(address.checked_add(4)?)?;
        let tree = Fdt::from_bytes(memory.bytes(address, u64::from(size))?).ok()?;
        Some(Self(tree))
    }

    /// Whether it is that of the board.
    pub fn is_of(&self, board: &Board) -> bool {
        let root = self.0.find_by_path("/");
        root.is_some_and(|root| root.compatibles().any(|name| name == board.compatible))
    }

    /// The port that it says is the console, if the board has it.
    pub fn console(&self, board: &Board) -> Option<Port> {
        // Options follow a colon: "serial0:115200n8".
        let path = self.0.chosen()?.stdout_path()?.split(':').next()?;
        let node = self.0.find_by_path(path)?;
        let is = |wanted: &str| node.compatibles().any(|name| name == wanted);
        let port = if is("arm,pl011") {
            board.pl011
        } else if is("brcm,bcm2835-aux-uart") {
            board.mini_uart?
        } else {
            return None;
        };
        let address = node.reg()?.next()?.address;
        let address = self.0.translate_address(path, address);
        Some(Port { address, ..port })
    }

    /// How the firmware is called, if it can be.
    pub fn conduit(&self) -> Option<Conduit> {
        let psci = self.0.find_by_path("/psci")?;
        match psci.find_property_str("method") {
            Some("hvc") => Some(Conduit::Hypervisor),
            Some("smc") => Some(Conduit::SecureMonitor),
            _ => None,
        }
    }

    /// The command line.
    pub fn command_line(&self) -> Option<&'a str> {
        self.0.chosen()?.bootargs()
    }

    /// Calls `found` with the affinity fields of each processor that the firmware can start.
    pub fn cpus(&self, found: impl FnMut(u64)) {
        let nodes = self.0.find_children_by_path("/cpus");
        nodes
            .filter(|node| node.find_property_str("device_type") == Some("cpu"))
            .filter(|node| node.find_property_str("enable-method") != Some("spin-table"))
            .filter_map(|node| Some(node.reg()?.next()?.address))
            .for_each(found);
    }
}
