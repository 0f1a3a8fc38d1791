//! The interrupt controller: a GIC. Manual: "ARM Generic Interrupt Controller, Architecture version 2.0".
//!
//! Interrupts of group 1 are delivered as IRQ, those of group 0 as FIQ. The kernel masks FIQ only in the first and last
//! instructions of an exception, so that group 0 is its NMI. That works only without secure firmware, as on QEMU's `virt`;
//! elsewhere group 0 belongs to the firmware. (FEAT_NMI is simpler, but is too new for QEMU 7.2 and most cores.)
//!
//! The crate `arm-gic` was rejected: for version 2 it has neither targets nor FIQ, setting a priority clears the priorities of
//! three other interrupts, and it may panic while a report is written.

use core::sync::atomic::{AtomicBool, Ordering};

use postmortem::TrapFrame;
use spin::Once;

use super::cpu;
use super::mmu::HIGH;
use crate::arch::handlers;
use crate::percpu;

/// The interrupt ID of the EL1 physical timer, which every CPU has ("Server Base System Architecture", PPI assignments).
pub const TIMER: u32 = 30;
/// Whether an NMI from outside reaches all CPUs: here it reaches one.
pub const NMI_REACHES_ALL: bool = false;
/// The software-generated interrupt that CPUs send each other as NMI.
const NMI: u32 = 0;
/// The software-generated interrupt that only ends a wait.
const WAKE: u32 = 15;

/// Interrupt IDs from here on mean that no interrupt is pending.
const SPECIAL: u32 = 1020;

/// Priorities; a smaller number is more urgent.
const URGENT: u8 = 0;
const ORDINARY: u8 = 0xa0;

/// The physical addresses of a GIC's two register blocks.
#[derive(Clone, Copy, Debug)]
pub struct Gic {
    /// The distributor.
    pub distributor: u64,
    /// The CPU interface.
    pub interface: u64,
}

/// Set when the board is known, if the board has a GIC that this kernel can use.
pub static GIC: Once<Gic> = Once::new();

/// Whether there is a GIC, and [`init`] has been called.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// Registers of the distributor, by offset in bytes (4.3 "Distributor register descriptions").
mod distributor {
    pub const CONTROL: u64 = 0;
    pub const GROUP: u64 = 0x80;
    pub const SET_ENABLE: u64 = 0x100;
    /// From here on, one byte for each interrupt.
    pub const PRIORITY: u64 = 0x400;
    pub const TARGETS: u64 = 0x800;
    /// Two bits for each interrupt.
    pub const CONFIGURATION: u64 = 0xc00;
    pub const SOFTWARE: u64 = 0xf00;
}

/// Registers of the CPU interface, by offset in bytes; each CPU sees its own (4.4 "CPU interface register descriptions").
mod interface {
    pub const CONTROL: u64 = 0;
    pub const PRIORITY_MASK: u64 = 4;
    pub const ACKNOWLEDGE: u64 = 0xc;
    pub const END: u64 = 0x10;
}

/// Bits of GICC_CTLR: both groups are enabled and acknowledged by the same register, because QEMU 7.2 lacks the one for group
/// 1; group 0 is delivered as FIQ.
const BOTH_GROUPS: u32 = 3;
const ACKNOWLEDGE_BOTH: u32 = 1 << 2;
const GROUP_0_IS_FIQ: u32 = 1 << 3;

/// A block of device registers, by its virtual address.
///
/// Invariant: the address is that of the board's GIC, which stays mapped as device memory.
#[derive(Clone, Copy)]
struct Registers(u64);

impl Registers {
    fn read(self, offset: u64) -> u32 {
        // SAFETY: a mapped register, by the type's invariant.
        unsafe { ((self.0 + offset) as *const u32).read_volatile() }
    }

    /// Safe to call, because every interrupt that a write may cause has a handler or is ignored.
    fn write(self, offset: u64, value: u32) {
        // SAFETY: a mapped register, by the type's invariant.
        unsafe { ((self.0 + offset) as *mut u32).write_volatile(value) }
    }

    fn write_byte(self, offset: u64, value: u8) {
        // SAFETY: a mapped register, by the type's invariant; priorities and targets may be accessed by bytes.
        unsafe { ((self.0 + offset) as *mut u8).write_volatile(value) }
    }
}

/// The distributor, and this CPU's interface.
fn registers() -> Option<(Registers, Registers)> {
    let gic = GIC.get()?;
    Some((
        Registers(gic.distributor + HIGH),
        Registers(gic.interface + HIGH),
    ))
}

/// Sets up the distributor: all interrupts are ordinary ones, of group 1.
pub fn init() {
    let Some((distributor, _)) = registers() else {
        return;
    };
    // The first word is banked: each CPU has its own, which `init_cpu` writes.
    for word in 1..32 {
        distributor.write(distributor::GROUP + word * 4, u32::MAX);
    }
    distributor.write(distributor::CONTROL, BOTH_GROUPS);
    IS_READY.store(true, Ordering::Release);
}

/// Sets up this CPU's interface: from now on it receives NMIs from other CPUs.
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

/// Enables an interrupt, and routes it to this CPU. It stays in its group: an ordinary one, unless `enable_as_nmi` has changed
/// that.
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

/// Enables a device's interrupt, `id` at least 32, as an edge-triggered NMI of this CPU.
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

/// Routes a device's interrupt to the CPU with this number.
fn route(id: u32, cpu: usize) {
    if let Some((distributor, _)) = registers() {
        let target = 1 << (percpu::hardware_id(cpu) & 7);
        distributor.write_byte(distributor::TARGETS + u64::from(id), target);
    }
}

/// Ends another CPU's wait for interrupts, so that it looks for work.
pub fn wake(cpu: usize) {
    send(WAKE, percpu::hardware_id(cpu) as u32);
}

/// Called for IRQ and FIQ: acknowledges the interrupt and calls its handler. Returns whether the interrupted task's time slice
/// is over.
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
    // An NMI that becomes pending right after an IRQ was taken is acknowledged instead of it; then the IRQ is taken again.
    let group = distributor.read(distributor::GROUP + u64::from(id / 32 * 4));
    if group & (1 << (id % 32)) == 0 {
        if id >= 32 {
            // From a device: the next one goes to the next CPU, in case this one no longer answers.
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

/// Sends a software-generated interrupt, 1 to 15, to the CPU with this number in the GIC, 0 to 7.
pub fn send(id: u32, cpu: u32) {
    // Bit 15, NSATT, counts only where there are two security states.
    command(id, cpu);
}

/// Sends the NMI to the CPU with this number in the GIC.
pub fn send_nmi(cpu: u32) {
    command(NMI, cpu);
}

fn command(id: u32, cpu: u32) {
    if !IS_READY.load(Ordering::Acquire) {
        return;
    }
    if let Some((distributor, _)) = registers() {
        // The interrupted CPU must see everything that was written before.
        aarch64_cpu::asm::barrier::dsb(aarch64_cpu::asm::barrier::ISHST);
        distributor.write(distributor::SOFTWARE, 1 << (16 + (cpu & 7)) | id & 0xf);
    }
}
