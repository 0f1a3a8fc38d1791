//! A GIC. Manuals: "ARM Generic Interrupt Controller, Architecture version 2.0" and "Arm Generic Interrupt Controller, Architecture
//! version 3 and version 4"; what only one of them has is in a file of its own, that of version 3 in the folder of the
//! architecture, as its interface is made of registers of the CPU.
//!
//! Interrupts of group 1 are delivered as IRQ, those of group 0 as FIQ, so that group 0 is the kernel's NMI. That works only without
//! secure firmware, as on QEMU's `virt`; elsewhere group 0 belongs to the firmware.
//!
//! The crate `arm-gic` was rejected: for version 2 it has neither targets nor FIQ, setting a priority clears the priorities of
//! three other interrupts, and it may panic while a report is written.

mod version2;

use super::{Controller, NMI, Registers, Taken, WAKE};
use crate::arch::gic_version3::Version3;
use crate::arch::mmu::HIGH;
use crate::{arch::cpu, percpu};

/// Each CPU has interrupts of its own below this ID.
const OWN: u32 = 32;
/// Interrupt IDs from here on mean that no interrupt is pending.
pub const SPECIAL: u32 = 1020;

/// Priorities; a smaller number is more urgent.
const URGENT: u8 = 0;
const ORDINARY: u8 = 0xa0;

/// The physical addresses of a GIC's register blocks, of whichever version it is.
#[derive(Clone, Copy, Debug)]
pub struct Gic {
    /// The distributor.
    pub distributor: u64,
    /// The CPU interface of version 2.
    pub interface: u64,
    /// The redistributors of version 3, one behind the other.
    pub redistributors: u64,
}

/// Registers of the distributor, by offset in bytes; version 3 has those of a CPU's own interrupts in its redistributor, at the same
/// offsets (version 2: 4.3 "Distributor register descriptions").
pub mod distributor {
    pub const CONTROL: u64 = 0;
    pub const GROUP: u64 = 0x80;
    pub const SET_ENABLE: u64 = 0x100;
    /// From here on, one byte for each interrupt.
    pub const PRIORITY: u64 = 0x400;
    /// Two bits for each interrupt.
    pub const CONFIGURATION: u64 = 0xc00;
}

/// In the distributor's and in a CPU's control register: both groups are enabled.
const BOTH_GROUPS: u32 = 3;
impl Gic {
    /// The distributor's registers.
    pub fn distributor(&self) -> Registers {
        Registers(self.distributor + HIGH)
    }

    /// The block with the registers of an interrupt, of this CPU's if each has its own.
    fn of(&self, id: u32) -> Option<Registers> {
        match Version3::found().filter(|_| id < OWN) {
            Some(version3) => version3.own(),
            None => Some(self.distributor()),
        }
    }

    fn set_priority(&self, id: u32, priority: u8) {
        if let Some(registers) = self.of(id) {
            registers.write_byte(distributor::PRIORITY + u64::from(id), priority);
        }
    }

    /// Routes a device's interrupt to the CPU with this number.
    fn route(&self, id: u32, cpu: usize) {
        let cpu = percpu::hardware_id(cpu);
        match Version3::found() {
            Some(version3) => version3.route(self, id, cpu),
            None => version2::route(self, id, cpu),
        }
    }
}

impl Controller for Gic {
    fn init(&self) {
        let distributor = self.distributor();
        if let Some(version3) = Version3::found() {
            version3.init(distributor);
        }
        // All interrupts are of group 1. The first word is that of each CPU's own, which `init_cpu` writes.
        for word in 1..32 {
            distributor.write(distributor::GROUP + word * 4, u32::MAX);
        }
        let control = distributor.read(distributor::CONTROL);
        distributor.write(distributor::CONTROL, control | BOTH_GROUPS);
    }

    fn init_cpu(&self) {
        if let Some(version3) = Version3::found() {
            version3.find_own(Registers(self.redistributors + HIGH));
        }
        let Some(own) = self.of(NMI) else {
            return;
        };
        own.write(distributor::GROUP, !(1 << NMI));
        for id in 0..OWN {
            self.set_priority(id, if id == NMI { URGENT } else { ORDINARY });
        }
        own.write(distributor::SET_ENABLE, 1 << NMI | 1 << WAKE);
        match Version3::found() {
            Some(version3) => version3.init_interface(),
            None => version2::init_interface(self),
        }
    }

    fn enable(&self, id: u32) {
        let Some(registers) = self.of(id) else {
            return;
        };
        if id >= OWN {
            self.set_priority(id, ORDINARY);
            self.route(id, cpu::index());
        }
        let word = u64::from(id / 32 * 4);
        registers.write(distributor::SET_ENABLE + word, 1 << (id % 32));
    }

    fn enable_as_nmi(&self, id: u32) {
        let Some(registers) = self.of(id) else {
            return;
        };
        let word = u64::from(id / 32 * 4);
        let group = registers.read(distributor::GROUP + word);
        registers.write(distributor::GROUP + word, group & !(1 << (id % 32)));
        let configuration = distributor::CONFIGURATION + u64::from(id / 16 * 4);
        let edge = 2 << (id % 16 * 2);
        registers.write(configuration, registers.read(configuration) | edge);
        self.set_priority(id, URGENT);
        self.route(id, cpu::index());
        registers.write(distributor::SET_ENABLE + word, 1 << (id % 32));
    }

    fn take(&self, is_fiq: bool) -> Option<Taken> {
        let id = match Version3::found() {
            Some(version3) => version3.take(is_fiq),
            None => version2::take(self),
        };
        let registers = self.of(id).filter(|_| id < SPECIAL)?;
        // In version 2, an NMI that becomes pending right after an IRQ was taken is acknowledged instead of it; then the IRQ is taken
        // again.
        let group = registers.read(distributor::GROUP + u64::from(id / 32 * 4));
        if group & (1 << (id % 32)) != 0 {
            return Some(Taken::Ordinary(id));
        }
        if id >= OWN {
            // From a device: the next one goes to the next CPU, in case this one no longer answers.
            let this = cpu::index();
            let next = percpu::online().find(|cpu| *cpu > this).unwrap_or(0);
            self.route(id, next);
        }
        Some(Taken::Nmi)
    }

    fn send(&self, id: u32, cpu: u64) {
        match Version3::found() {
            Some(version3) => version3.send(id, cpu),
            None => version2::send(self, id, cpu),
        }
    }
}
