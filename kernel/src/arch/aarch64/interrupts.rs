//! The interrupt controller: a GIC. Manual: "ARM Generic Interrupt Controller, Architecture version 2.0".
//!
//! Interrupts of group 1 come as IRQ, which code masks all the time, those of group 0 as FIQ, which nothing here masks
//! but the first and last instructions of an exception: that is this architecture's NMI. It needs a GIC that this kernel
//! has for itself, which is so where no secure firmware runs below, as on QEMU's `virt`; elsewhere group 0 belongs to the
//! firmware. (FEAT_NMI does the same with less, but is too new for QEMU 7.2 and most cores.)
//!
//! Of the crates, `arm-gic` does not do: for version 2 it has neither targets nor FIQ, setting a priority clears those of
//! the three neighbours, and it may panic on the way of a report.

use core::sync::atomic::{AtomicBool, Ordering};

use postmortem::TrapFrame;
use spin::Once;

use super::cpu;
use super::mmu::HIGH;
use crate::arch::handlers;
use crate::percpu;

/// The interrupt ID of the timer that EL1 uses, its own on each processor ("Server Base System Architecture", PPI
/// assignments).
pub const TIMER: u32 = 30;
/// An NMI from outside comes to one processor.
pub const NMI_REACHES_ALL: bool = false;
/// The software-generated interrupt that is the NMI between processors.
const NMI: u32 = 0;
/// The one that does nothing but end a wait.
const WAKE: u32 = 15;

/// Interrupt IDs from here on say that there is none.
const SPECIAL: u32 = 1020;

/// Priorities: smaller is more urgent.
const URGENT: u8 = 0;
const ORDINARY: u8 = 0xa0;

/// Physical addresses of a GIC's registers.
#[derive(Clone, Copy, Debug)]
pub struct Gic {
    /// Those of the distributor.
    pub distributor: u64,
    /// Those of the CPU interface.
    pub interface: u64,
}

/// Set when the board is known, if that has one.
pub static GIC: Once<Gic> = Once::new();

/// Whether there is a GIC, and [`init`] has been called.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// Registers of the distributor, by offset in bytes (4.3 "Distributor register descriptions").
mod distributor {
    pub const CONTROL: u64 = 0;
    pub const GROUP: u64 = 0x80;
    pub const SET_ENABLE: u64 = 0x100;
    /// A byte each.
    pub const PRIORITY: u64 = 0x400;
    pub const TARGETS: u64 = 0x800;
    /// Two bits each.
    pub const CONFIGURATION: u64 = 0xc00;
    pub const SOFTWARE: u64 = 0xf00;
}

/// Registers of the interface to the processor that reads them (4.4 "CPU interface register descriptions").
mod interface {
    pub const CONTROL: u64 = 0;
    pub const PRIORITY_MASK: u64 = 4;
    pub const ACKNOWLEDGE: u64 = 0xc;
    pub const END: u64 = 0x10;
}

/// GICC_CTLR: both groups on and acknowledged by the same register, since QEMU 7.2 lacks the one for group 1; group 0 as
/// FIQ.
const BOTH_GROUPS: u32 = 3;
const ACKNOWLEDGE_BOTH: u32 = 1 << 2;
const GROUP_0_IS_FIQ: u32 = 1 << 3;

/// A block of registers.
///
/// The fence around them: made only from the board's addresses, which are mapped for good as device memory.
#[derive(Clone, Copy)]
struct Registers(u64);

impl Registers {
    fn read(self, offset: u64) -> u32 {
        // SAFETY: see the type.
        unsafe { ((self.0 + offset) as *const u32).read_volatile() }
    }

    /// What it makes the processor do is expected: interrupts that come are handled or forgotten.
    fn write(self, offset: u64, value: u32) {
        // SAFETY: see the type.
        unsafe { ((self.0 + offset) as *mut u32).write_volatile(value) }
    }

    fn write_byte(self, offset: u64, value: u8) {
        // SAFETY: see the type; priorities and targets may be accessed by bytes.
        unsafe { ((self.0 + offset) as *mut u8).write_volatile(value) }
    }
}

/// Distributor, and this processor's interface.
fn registers() -> Option<(Registers, Registers)> {
    let gic = GIC.get()?;
    Some((
        Registers(gic.distributor + HIGH),
        Registers(gic.interface + HIGH),
    ))
}

/// Sets the distributor up: all interrupts are ordinary ones.
pub fn init() {
    let Some((distributor, _)) = registers() else {
        return;
    };
    // The first word belongs to each processor, see `init_cpu`.
    for word in 1..32 {
        distributor.write(distributor::GROUP + word * 4, u32::MAX);
    }
    distributor.write(distributor::CONTROL, BOTH_GROUPS);
    IS_READY.store(true, Ordering::Release);
}

/// Sets this processor's part up: the NMI between processors can come from now on.
pub fn init_cpu() {
    let Some((distributor, interface)) = registers() else {
        return;
    };
    distributor.write(distributor::GROUP, !(1 << NMI));
    for id in 0..32 {
        set_priority(id, if id == NMI { URGENT } else { ORDINARY });
    }
    distributor.write(distributor::SET_ENABLE, 1 << NMI | 1 << WAKE);
    interface.write(interface::PRIORITY_MASK, 0xff);
    interface.write(
        interface::CONTROL,
        BOTH_GROUPS | ACKNOWLEDGE_BOTH | GROUP_0_IS_FIQ,
    );
}

/// Lets an interrupt come to this processor: as an ordinary one, if its number is below 32, or as one that was so far.
pub fn enable(id: u32) {
    let Some((distributor, _)) = registers() else {
        return;
    };
    if id >= 32 {
        set_priority(id, ORDINARY);
        route(id, cpu::index());
    }
    distributor.write(
        distributor::SET_ENABLE + u64::from(id / 32 * 4),
        1 << (id % 32),
    );
}

/// Lets a device's interrupt come to this processor as an NMI, at its rising edge: `id` is at least 32.
pub fn enable_as_nmi(id: u32) {
    let Some((distributor, _)) = registers() else {
        return;
    };
    let word = u64::from(id / 32 * 4);
    let group = distributor.read(distributor::GROUP + word);
    distributor.write(distributor::GROUP + word, group & !(1 << (id % 32)));
    let configuration = distributor::CONFIGURATION + u64::from(id / 16 * 4);
    let edge = 2 << (id % 16 * 2);
    distributor.write(configuration, distributor.read(configuration) | edge);
    set_priority(id, URGENT);
    route(id, cpu::index());
    distributor.write(distributor::SET_ENABLE + word, 1 << (id % 32));
}

fn set_priority(id: u32, priority: u8) {
    if let Some((distributor, _)) = registers() {
        distributor.write_byte(distributor::PRIORITY + u64::from(id), priority);
    }
}

/// Sends a device's interrupt to this processor of ours from now on.
fn route(id: u32, cpu: usize) {
    if let Some((distributor, _)) = registers() {
        let target = 1 << (percpu::hardware_id(cpu) & 7);
        distributor.write_byte(distributor::TARGETS + u64::from(id), target);
    }
}

/// Makes another processor look whether there is something to do.
pub fn wake(cpu: usize) {
    send(WAKE, percpu::hardware_id(cpu) as u32);
}

/// Called for IRQ and FIQ: acknowledges, and calls who handles it. Whether the turn of what was interrupted is over.
pub fn handle(frame: &mut TrapFrame) -> bool {
    let Some((distributor, interface)) = registers() else {
        return false;
    };
    let acknowledged = interface.read(interface::ACKNOWLEDGE);
    let id = acknowledged & 0x3ff;
    if id >= SPECIAL {
        return false;
    }
    // Before the handler, which may switch to another task and come back much later.
    interface.write(interface::END, acknowledged);
    // An NMI that comes right after an IRQ was taken is acknowledged in its place; the IRQ comes again.
    let group = distributor.read(distributor::GROUP + u64::from(id / 32 * 4));
    if group & (1 << (id % 32)) == 0 {
        if id >= 32 {
            // A device's: another processor is asked first next time.
            let this = cpu::index();
            let next = percpu::online().find(|cpu| *cpu > this).unwrap_or(0);
            route(id, next);
        }
        (handlers::get().nmi)(frame);
        false
    } else {
        frame.interrupt = u64::from(id);
        (handlers::get().interrupt)(id as usize, frame)
    }
}

/// Sends a software-generated interrupt, 1 to 15, to the processor with this number in the GIC, 0 to 7.
pub fn send(id: u32, cpu: u32) {
    // Bit 15, NSATT, counts only where there are two security states.
    command(id, cpu);
}

/// Sends the NMI to the processor with this number in the GIC.
pub fn send_nmi(cpu: u32) {
    command(NMI, cpu);
}

fn command(id: u32, cpu: u32) {
    if !IS_READY.load(Ordering::Acquire) {
        return;
    }
    if let Some((distributor, _)) = registers() {
        // What was written before is seen by who is interrupted.
        aarch64_cpu::asm::barrier::dsb(aarch64_cpu::asm::barrier::ISHST);
        distributor.write(distributor::SOFTWARE, 1 << (16 + (cpu & 7)) | id & 0xf);
    }
}
