//! The interrupt controller: a GIC. Manual: "ARM Generic Interrupt Controller, Architecture version 2.0".
//!
//! Interrupts of group 1 are delivered as IRQ, those of group 0 as FIQ. The kernel masks FIQ only in the first and last instructions of an
//! exception, so that group 0 is its NMI.

use postmortem::TrapFrame;

use crate::arch::handlers;
use crate::percpu;

/// The interrupt ID of the physical timer, which every CPU has.
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

/// Register blocks of the GIC of QEMU's `virt`.
const DISTRIBUTOR: Registers = Registers(0x0800_0000);
const INTERFACE: Registers = Registers(0x0801_0000);

/// Registers of the distributor, by offset in bytes (4.3 "Distributor register descriptions").
const CONTROL: usize = 0;
const GROUP: usize = 0x80;
const SET_ENABLE: usize = 0x100;
const PRIORITY: usize = 0x400;
const SOFTWARE: usize = 0xf00;

/// Registers of the CPU interface (4.4 "CPU interface register descriptions").
const PRIORITY_MASK: usize = 4;
const ACKNOWLEDGE: usize = 0xc;
const END: usize = 0x10;

/// In both control registers: both groups are enabled. In the interface's: both are acknowledged by the same register, because QEMU 7.2
/// lacks the one for group 1; group 0 is delivered as FIQ.
const BOTH_GROUPS: u32 = 3;
const ACKNOWLEDGE_BOTH: u32 = 1 << 2;
const GROUP_0_IS_FIQ: u32 = 1 << 3;

/// A block of device registers.
///
/// Invariant: the address is that of the board's GIC, which stays mapped as device memory.
#[derive(Clone, Copy)]
struct Registers(usize);

impl Registers {
    fn read(self, offset: usize) -> u32 {
        // SAFETY: a mapped register, by the type's invariant.
        unsafe { ((self.0 + offset) as *const u32).read_volatile() }
    }

    /// Safe to call, because every interrupt that a write may cause has a handler or is ignored.
    fn write(self, offset: usize, value: u32) {
        // SAFETY: a mapped register, by the type's invariant.
        unsafe { ((self.0 + offset) as *mut u32).write_volatile(value) }
    }

    fn write_byte(self, offset: usize, value: u8) {
        // SAFETY: a mapped register, by the type's invariant; priorities may be accessed by bytes.
        unsafe { ((self.0 + offset) as *mut u8).write_volatile(value) }
    }
}

/// Sets up the distributor: all interrupts of devices are ordinary ones, of group 1.
pub fn init() {
    // The first word is that of each CPU's own, which `init_cpu` writes.
    for word in 1..32 {
        DISTRIBUTOR.write(GROUP + word * 4, u32::MAX);
    }
    DISTRIBUTOR.write(CONTROL, BOTH_GROUPS);
}

/// Sets up this CPU's interface: from now on it receives NMIs from other CPUs.
pub fn init_cpu() {
    DISTRIBUTOR.write(GROUP, !(1 << NMI));
    for id in 0..OWN {
        let priority = if id == NMI { URGENT } else { ORDINARY };
        DISTRIBUTOR.write_byte(PRIORITY + id as usize, priority);
    }
    DISTRIBUTOR.write(SET_ENABLE, 1 << NMI | 1 << WAKE);
    INTERFACE.write(PRIORITY_MASK, 0xff);
    INTERFACE.write(CONTROL, BOTH_GROUPS | ACKNOWLEDGE_BOTH | GROUP_0_IS_FIQ);
}

/// Enables an interrupt of this CPU's own: `id` is less than 32.
pub fn enable(id: u32) {
    DISTRIBUTOR.write(SET_ENABLE, 1 << id);
}

/// Called for IRQ and FIQ: acknowledges the interrupt and calls its handler. Returns whether the interrupted task's time slice
/// is over.
pub fn handle(frame: &mut TrapFrame) -> bool {
    let acknowledged = INTERFACE.read(ACKNOWLEDGE);
    let id = acknowledged & 0x3ff;
    if id >= SPECIAL {
        return false;
    }
    // Ended before the handler, which may switch to another task and come back much later.
    INTERFACE.write(END, acknowledged);
    let group = DISTRIBUTOR.read(GROUP + (id / 32 * 4) as usize);
    if group & (1 << (id % 32)) == 0 {
        (handlers::get().nmi)(frame);
        false
    } else {
        frame.interrupt = id;
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
    // The interrupted CPU must see everything that was written before.
    aarch32_cpu::asm::dsb();
    let target = 1 << (16 + (percpu::hardware_id(cpu) & 7));
    DISTRIBUTOR.write(SOFTWARE, target | id & 0xf);
}
