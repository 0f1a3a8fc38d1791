//! The interrupt controller of a Raspberry Pi's cores: which interrupts each core gets, and mailboxes, by which cores interrupt each
//! other. Manuals: "BCM2836 ARM-local peripherals" (QA7), and "BCM2711 ARM Peripherals", 6.5.2 "ARM_LOCAL". Interrupts of devices
//! come through a controller behind this one, which this kernel does not use.
//!
//! Each source can be delivered as FIQ, which firmware leaves to the kernel: so there are NMIs.

use super::cpu;
use super::mmu;
use crate::arch::arms::interrupts::{Controller, NMI, Registers, TIMER, Taken, WAKE};

/// A core's number, as the registers count them: the lowest bits of its affinity.
const CORE: u64 = 3;

/// Registers of the first core, by offset in bytes. Each core has a word of the first four, and four words of mailboxes: to set bits
/// of one, to read and clear them.
const TIMER_CONTROL: u64 = 0x40;
const MAILBOX_CONTROL: u64 = 0x50;
const IRQ_SOURCE: u64 = 0x60;
const FIQ_SOURCE: u64 = 0x70;
const MAILBOX_SET: u64 = 0x80;
const MAILBOX_CLEAR: u64 = 0xc0;

/// The timer nCNTPNSIRQ, which is the EL1 physical timer where firmware has left the secure state, in the timers' control register
/// and in the sources.
const PHYSICAL_TIMER: u32 = 1 << 1;
/// The mailbox of each interrupt that cores send each other.
const NMI_BOX: u32 = 0;
const WAKE_BOX: u32 = 1;
/// What a box is set to.
const FULL: u32 = 1;

/// In the mailboxes' control register: a box interrupts as IRQ, or as FIQ.
const fn as_irq(mailbox: u32) -> u32 {
    1 << mailbox
}

const fn as_fiq(mailbox: u32) -> u32 {
    1 << (4 + mailbox)
}

/// In the sources: a box is not empty.
const fn is_full(mailbox: u32) -> u32 {
    1 << (4 + mailbox)
}

/// The controller, by its physical address.
#[derive(Clone, Copy, Debug)]
pub struct Local(pub u64);

impl Local {
    /// Its registers. The first call is before the page tables are made, so that these map them.
    pub fn registers(&self) -> Registers {
        Registers(mmu::device_address(self.0))
    }

    /// The offset of this CPU's word, of registers from this one on.
    fn own(register: u64) -> u64 {
        register + (cpu::hardware_id() & CORE) * 4
    }

    /// The offset of a core's mailbox, of registers from this one on.
    const fn mailbox(register: u64, core: u64, mailbox: u32) -> u64 {
        register + (core & CORE) * 16 + mailbox as u64 * 4
    }

    /// Empties a mailbox of this CPU.
    fn empty(&self, mailbox: u32) {
        let register = Self::mailbox(MAILBOX_CLEAR, cpu::hardware_id(), mailbox);
        self.registers().write(register, u32::MAX);
    }
}

impl Controller for Local {
    /// Does nothing: CPUs share nothing of it.
    fn init(&self) {}

    /// Lets this CPU get the interrupts of its mailboxes, which are empty from now on, and no other.
    fn init_cpu(&self) {
        let registers = self.registers();
        self.empty(NMI_BOX);
        self.empty(WAKE_BOX);
        registers.write(Self::own(TIMER_CONTROL), 0);
        let boxes = as_fiq(NMI_BOX) | as_irq(WAKE_BOX);
        registers.write(Self::own(MAILBOX_CONTROL), boxes);
    }

    /// Enables an interrupt of this CPU, as IRQ.
    fn enable(&self, id: u32) {
        // The others are enabled from the start.
        if id == TIMER {
            let control = Self::own(TIMER_CONTROL);
            self.registers().write(control, PHYSICAL_TIMER);
        }
    }

    /// Does nothing: interrupts of devices do not come from here.
    fn enable_as_nmi(&self, _: u32) {}

    /// Which interrupt this CPU was interrupted by. It is over, unless it is the timer's, which lasts until the timer is set anew.
    fn take(&self, is_fiq: bool) -> Option<Taken> {
        let source = if is_fiq { FIQ_SOURCE } else { IRQ_SOURCE };
        let pending = self.registers().read(Self::own(source));
        let has = |bit| pending & bit != 0;
        if is_fiq && has(is_full(NMI_BOX)) {
            self.empty(NMI_BOX);
            Some(Taken::Nmi)
        } else if has(PHYSICAL_TIMER) {
            Some(Taken::Ordinary(TIMER))
        } else if has(is_full(WAKE_BOX)) {
            self.empty(WAKE_BOX);
            Some(Taken::Ordinary(WAKE))
        } else {
            None
        }
    }

    /// Sends an interrupt to a CPU, by its affinity.
    fn send(&self, id: u32, cpu: u64) {
        let mailbox = if id == NMI { NMI_BOX } else { WAKE_BOX };
        let register = Self::mailbox(MAILBOX_SET, cpu, mailbox);
        self.registers().write(register, FULL);
    }
}
