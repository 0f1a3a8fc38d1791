//! The device tree that firmware passes: board, serial port, CPUs, command line.

mod shape;

use fdt_raw::{Fdt, Node};

use crate::BootMemory;

/// The instruction with which a kernel calls the firmware ("Power State Coordination Interface", section 5 "PSCI functions").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conduit {
    /// The instruction `hvc`.
    Hypervisor,
    /// The instruction `smc`.
    SecureMonitor,
}

/// The way to start a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A call of the firmware.
    Firmware,
    /// A write of the address of the CPU's first instruction to the 64-bit word at this physical address (Devicetree Specification, 3.8.1
    /// "General Properties of /cpus/cpu* nodes": `cpu-release-addr`).
    SpinTable(u64),
}

/// The devices that can be a serial port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uart {
    /// Arm's PL011.
    Pl011,
    /// The mini UART of a Raspberry Pi, which is on the pins while Bluetooth uses the PL011.
    Mini,
}

/// The most windows of a node that are looked at.
const MAX_WINDOWS: usize = 64;

/// A device tree, read in place. A damaged tree may contain anything; reading it does not panic.
#[derive(Debug)]
pub struct DeviceTree<'a>(Fdt<'a>);

impl<'a> DeviceTree<'a> {
    /// Returns the tree at this physical address, if there is a tree.
    #[must_use]
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
        Self::new(memory.bytes(address, u64::from(size))?)
    }

    /// Returns the tree in these bytes, if they are a sound tree.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        // `fdt-raw` panics at offsets outside the tree, and at nodes that lie too deep.
        shape::check(bytes)?;
        Some(Self(Fdt::from_bytes(bytes).ok()?))
    }

    /// Returns whether the root node is compatible with this machine.
    #[must_use]
    pub fn is_of(&self, machine: &str) -> bool {
        let root = self.0.find_by_path("/");
        root.is_some_and(|root| root.compatibles().any(|name| name == machine))
    }

    /// Returns the console's serial port, and the physical address of its registers.
    #[must_use]
    pub fn console(&self) -> Option<(Uart, u64)> {
        // Options follow a colon: "serial0:115200n8".
        let path = self.0.chosen()?.stdout_path()?.split(':').next()?;
        let node = self.0.find_by_path(path)?;
        let is = |wanted: &str| node.compatibles().any(|name| name == wanted);
        let uart = if is("arm,pl011") {
            Uart::Pl011
        } else if is("brcm,bcm2835-aux-uart") {
            Uart::Mini
        } else {
            return None;
        };
        let address = node.reg()?.next()?.address;
        Some((uart, self.translate(&node.path(), address)?))
    }

    /// The physical address of an address in the node with this path: each node around it may have a window to the one around
    /// that. `fdt-raw` has this too, but adds without a check.
    fn translate(&self, path: &str, address: u64) -> Option<u64> {
        let parents = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
        let mut address = address;
        for parent in parents.take_while(|parent| !parent.is_empty()) {
            let Some(windows) = self.0.find_by_path(parent)?.ranges() else {
                break;
            };
            // Windows of no bytes would never end.
            let translated = windows.iter().take(MAX_WINDOWS).find_map(|window| {
                let offset = address.checked_sub(window.child_address)?;
                (offset < window.length).then(|| window.parent_address.checked_add(offset))?
            });
            address = translated.unwrap_or(address);
        }
        Some(address)
    }

    /// Returns the instruction with which the kernel calls the firmware, if the tree names it.
    #[must_use]
    pub fn conduit(&self) -> Option<Conduit> {
        let psci = self.0.find_by_path("/psci")?;
        match psci.find_property_str("method") {
            Some("hvc") => Some(Conduit::Hypervisor),
            Some("smc") => Some(Conduit::SecureMonitor),
            _ => None,
        }
    }

    /// Returns the command line.
    #[must_use]
    pub fn command_line(&self) -> Option<&'a str> {
        self.0.chosen()?.bootargs()
    }

    /// Calls `found` with the MPIDR affinity of each CPU, and the way to start it.
    pub fn cpus(&self, mut found: impl FnMut(u64, Start)) {
        let nodes = self.0.find_children_by_path("/cpus");
        let nodes = nodes.filter(|node| node.find_property_str("device_type") == Some("cpu"));
        for node in nodes {
            let Some(affinity) = node.reg().and_then(|mut reg| reg.next()) else {
                continue;
            };
            let start = match node.find_property_str("enable-method") {
                Some("spin-table") => release_address(&node).map(Start::SpinTable),
                _ => Some(Start::Firmware),
            };
            if let Some(start) = start {
                found(affinity.address, start);
            }
        }
    }
}

/// The address of the word that a CPU waits for.
fn release_address(cpu: &Node<'_>) -> Option<u64> {
    let bytes = cpu.find_property("cpu-release-addr")?.data();
    let bytes = bytes.as_slice().try_into().ok()?;
    Some(u64::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use vm_fdt::FdtWriter;

    use super::*;

    /// The tree of QEMU's `virt` with four CPUs, and where it is in memory: tests/data/make.
    const BASE: u64 = 0x4000_0000;
    const VIRT: &[u8] = include_bytes!("../tests/data/virt-4.dtb");

    fn translate(start: u64, length: u64) -> Option<u64> {
        let at = usize::try_from(start.checked_sub(BASE)?).ok()?;
        let end = at.checked_add(usize::try_from(length).ok()?)?;
        Some(VIRT.get(at..end)?.as_ptr() as u64)
    }

    fn cpus(tree: &DeviceTree<'_>) -> Vec<(u64, Start)> {
        let mut found = Vec::new();
        tree.cpus(|id, start| found.push((id, start)));
        found
    }

    #[test]
    fn a_tree_of_virt_says_it_all() {
        // SAFETY: a constant.
        let memory = unsafe { BootMemory::new(translate) };
        let tree = DeviceTree::at(&memory, BASE).expect("there is one");
        assert!(tree.is_of("linux,dummy-virt"));
        assert!(!tree.is_of("linux,dummy") && !tree.is_of("brcm,bcm2837"));
        assert_eq!(tree.console(), Some((Uart::Pl011, 0x0900_0000)));
        assert_eq!(tree.conduit(), Some(Conduit::Hypervisor));
        assert_eq!(tree.command_line(), Some("panic registers"));
        assert_eq!(cpus(&tree), [0, 1, 2, 3].map(|id| (id, Start::Firmware)));
    }

    #[test]
    fn where_no_tree_is_none_is_found() {
        // SAFETY: a constant.
        let memory = unsafe { BootMemory::new(translate) };
        for address in [0, BASE - 4, BASE + 4, BASE + VIRT.len() as u64, u64::MAX] {
            assert!(DeviceTree::at(&memory, address).is_none(), "{address:#x}");
        }
    }

    /// Its header says that it is longer than memory is.
    #[test]
    fn a_tree_that_goes_on_where_no_memory_is_is_none() {
        fn cut(start: u64, length: u64) -> Option<u64> {
            let is_in = start + length <= BASE + 4096;
            is_in.then(|| translate(start, length)).flatten()
        }
        // SAFETY: a constant.
        let memory = unsafe { BootMemory::new(cut) };
        assert!(DeviceTree::at(&memory, BASE).is_none());
    }

    /// As a Raspberry Pi's firmware passes it: an alias for the console, devices at addresses of their bus, CPUs that wait in
    /// a loop for an address.
    fn raspi() -> Result<Vec<u8>, vm_fdt::Error> {
        let mut tree = FdtWriter::new()?;
        let root = tree.begin_node("")?;
        tree.property_string_list(
            "compatible",
            vec!["raspberrypi,3-model-b".into(), "brcm,bcm2837".into()],
        )?;
        tree.property_u32("#address-cells", 1)?;
        tree.property_u32("#size-cells", 1)?;
        let aliases = tree.begin_node("aliases")?;
        tree.property_string("serial1", "/soc/serial@7e215040")?;
        tree.end_node(aliases)?;
        let chosen = tree.begin_node("chosen")?;
        tree.property_string("stdout-path", "serial1:115200n8")?;
        tree.end_node(chosen)?;
        let cpus = tree.begin_node("cpus")?;
        tree.property_u32("#address-cells", 1)?;
        tree.property_u32("#size-cells", 0)?;
        for (id, method) in [(0, "spin-table"), (1, "psci"), (2, "spin-table")] {
            let cpu = tree.begin_node(&format!("cpu@{id}"))?;
            tree.property_string("device_type", "cpu")?;
            tree.property_string("enable-method", method)?;
            tree.property_u32("reg", id)?;
            if id == 0 {
                tree.property_u64("cpu-release-addr", 0xd8)?;
            }
            tree.end_node(cpu)?;
        }
        // No CPU: it has no `device_type`.
        let map = tree.begin_node("cpu-map")?;
        tree.end_node(map)?;
        tree.end_node(cpus)?;
        let psci = tree.begin_node("psci")?;
        tree.property_string("method", "smc")?;
        tree.end_node(psci)?;
        let soc = tree.begin_node("soc")?;
        tree.property_u32("#address-cells", 1)?;
        tree.property_u32("#size-cells", 1)?;
        tree.property_array_u32("ranges", &[0x7e00_0000, 0x3f00_0000, 0x0100_0000])?;
        let serial = tree.begin_node("serial@7e215040")?;
        tree.property_string("compatible", "brcm,bcm2835-aux-uart")?;
        tree.property_array_u32("reg", &[0x7e21_5040, 0x40])?;
        tree.end_node(serial)?;
        tree.end_node(soc)?;
        tree.end_node(root)?;
        tree.finish()
    }

    #[test]
    fn addresses_of_a_bus_are_translated() {
        let bytes = raspi().expect("the tree can be written");
        let tree = DeviceTree::new(&bytes).expect("it is one");
        assert!(tree.is_of("brcm,bcm2837"));
        assert_eq!(tree.console(), Some((Uart::Mini, 0x3f21_5040)));
        assert_eq!(tree.conduit(), Some(Conduit::SecureMonitor));
        assert_eq!(tree.command_line(), None);
        // Nothing tells how to start the third one.
        let startable = [(0, Start::SpinTable(0xd8)), (1, Start::Firmware)];
        assert_eq!(cpus(&tree), startable);
    }

    #[test]
    fn every_bit_of_a_tree_may_be_wrong() {
        let mut bytes = raspi().expect("the tree can be written");
        let mut kinds = [0; 2];
        for at in 0..bytes.len() * 8 {
            bytes[at / 8] ^= 1 << (at % 8);
            let tree = DeviceTree::new(&bytes);
            kinds[usize::from(tree.is_some())] += 1;
            if let Some(tree) = tree {
                let _ = (tree.is_of("brcm,bcm2837"), tree.console());
                let _ = (tree.conduit(), tree.command_line(), cpus(&tree));
            }
            bytes[at / 8] ^= 1 << (at % 8);
        }
        assert!(kinds.iter().all(|count| *count > 100), "{kinds:?}");
    }
}
