//! The interrupt controller: a GIC. Manuals: "ARM Generic Interrupt Controller, Architecture version 2.0" and "Arm Generic Interrupt
//! Controller, Architecture version 3 and version 4"; what only one of them has is in a file of its own.
//!
//! Interrupts of group 1 are delivered as IRQ, those of group 0 as FIQ. The kernel masks FIQ only in the first and last
//! instructions of an exception, so that group 0 is its NMI. That works only without secure firmware, as on QEMU's `virt`;
//! elsewhere group 0 belongs to the firmware. (FEAT_NMI is simpler, but is too new for QEMU 7.2 and most cores.)
//!
//! The crate `arm-gic` was rejected: for version 2 it has neither targets nor FIQ, setting a priority clears the priorities of
//! three other interrupts, and it may panic while a report is written.

mod version2;
mod version3;

use core::sync::atomic::{AtomicBool, Ordering};

use aarch64_cpu::asm::barrier;
use postmortem::TrapFrame;
use postmortem::aarch64::Kind;
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
pub const WAKE: u32 = 15;

/// Each CPU has interrupts of its own below this ID.
const OWN: u32 = 32;
/// Interrupt IDs from here on mean that no interrupt is pending.
const SPECIAL: u32 = 1020;

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

/// Set when the board is known, if the board has a GIC that this kernel can use.
pub static GIC: Once<Gic> = Once::new();

/// Whether there is a GIC, and [`init`] has been called.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// Registers of the distributor, by offset in bytes; version 3 has those of a CPU's own interrupts in its redistributor, at the same
/// offsets (version 2: 4.3 "Distributor register descriptions").
mod distributor {
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

impl Gic {
    fn distributor(self) -> Registers {
        Registers(self.distributor + HIGH)
    }

    /// The block with the registers of an interrupt, of this CPU's if each has its own.
    fn of(self, id: u32) -> Option<Registers> {
        match id < OWN && version3::is_there() {
            true => version3::own(),
            false => Some(self.distributor()),
        }
    }
}

/// Sets up the distributor: all interrupts are ordinary ones, of group 1.
pub fn init() {
    let Some(gic) = GIC.get() else {
        return;
    };
    let distributor = gic.distributor();
    if version3::is_there() {
        version3::init(distributor);
    }
    // The first word is that of each CPU's own, which `init_cpu` writes.
    for word in 1..32 {
        distributor.write(distributor::GROUP + word * 4, u32::MAX);
    }
    let control = distributor.read(distributor::CONTROL);
    distributor.write(distributor::CONTROL, control | BOTH_GROUPS);
    IS_READY.store(true, Ordering::Release);
}

/// Sets up this CPU's interface: from now on it receives NMIs from other CPUs.
pub fn init_cpu() {
    let Some(gic) = GIC.get() else {
        return;
    };
    if version3::is_there() {
        version3::find_own(*gic);
    }
    let Some(own) = gic.of(NMI) else {
        return;
    };
    own.write(distributor::GROUP, !(1 << NMI));
    for id in 0..OWN {
        set_priority(id, if id == NMI { URGENT } else { ORDINARY });
    }
    own.write(distributor::SET_ENABLE, 1 << NMI | 1 << WAKE);
    match version3::is_there() {
        true => version3::init_interface(),
        false => version2::init_interface(*gic),
    }
}

/// Enables an interrupt, and routes it to this CPU. It stays in its group: an ordinary one, unless `enable_as_nmi` has changed
/// that.
pub fn enable(id: u32) {
    let Some(registers) = GIC.get().and_then(|gic| gic.of(id)) else {
        return;
    };
    if id >= OWN {
        set_priority(id, ORDINARY);
        route(id, cpu::index());
    }
    let word = u64::from(id / 32 * 4);
    registers.write(distributor::SET_ENABLE + word, 1 << (id % 32));
}

/// Enables a device's interrupt, `id` at least 32, as an edge-triggered NMI of this CPU.
pub fn enable_as_nmi(id: u32) {
    let Some(registers) = GIC.get().and_then(|gic| gic.of(id)) else {
        return;
    };
    let word = u64::from(id / 32 * 4);
    let group = registers.read(distributor::GROUP + word);
    registers.write(distributor::GROUP + word, group & !(1 << (id % 32)));
    let configuration = distributor::CONFIGURATION + u64::from(id / 16 * 4);
    let edge = 2 << (id % 16 * 2);
    registers.write(configuration, registers.read(configuration) | edge);
    set_priority(id, URGENT);
    route(id, cpu::index());
    registers.write(distributor::SET_ENABLE + word, 1 << (id % 32));
}

fn set_priority(id: u32, priority: u8) {
    if let Some(registers) = GIC.get().and_then(|gic| gic.of(id)) {
        registers.write_byte(distributor::PRIORITY + u64::from(id), priority);
    }
}

/// Routes a device's interrupt to the CPU with this number.
fn route(id: u32, cpu: usize) {
    if let Some(gic) = GIC.get() {
        let cpu = percpu::hardware_id(cpu);
        match version3::is_there() {
            true => version3::route(*gic, id, cpu),
            false => version2::route(*gic, id, cpu),
        }
    }
}

/// Called for IRQ and FIQ: acknowledges the interrupt and calls its handler. Returns whether the interrupted task's time slice
/// is over.
pub fn handle(frame: &mut TrapFrame) -> bool {
    let Some(gic) = GIC.get() else {
        return false;
    };
    // Ended before the handler, which may switch to another task and come back much later.
    let id = match version3::is_there() {
        true => version3::take(frame.kind() == Kind::Fiq),
        false => version2::take(*gic),
    };
    let registers = gic.of(id).filter(|_| id < SPECIAL);
    let Some(registers) = registers else {
        return false;
    };
    // In version 2, an NMI that becomes pending right after an IRQ was taken is acknowledged instead of it; then the IRQ is taken
    // again.
    let group = registers.read(distributor::GROUP + u64::from(id / 32 * 4));
    if group & (1 << (id % 32)) == 0 {
        if id >= OWN {
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

/// Ends another CPU's wait for interrupts, so that it looks for work.
pub fn wake(cpu: usize) {
    send(WAKE, cpu);
}

/// Sends the NMI to the CPU with this number.
pub fn send_nmi(cpu: usize) {
    send(NMI, cpu);
}

/// Sends a software-generated interrupt.
fn send(id: u32, cpu: usize) {
    if !IS_READY.load(Ordering::Acquire) {
        return;
    }
    if let Some(gic) = GIC.get() {
        // The interrupted CPU must see everything that was written before.
        barrier::dsb(barrier::ISHST);
        let cpu = percpu::hardware_id(cpu);
        match version3::is_there() {
            true => version3::send(id, cpu),
            false => version2::send(*gic, id, cpu),
        }
    }
}
