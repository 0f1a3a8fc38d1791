//! What only version 2 of the GIC has: a CPU interface in memory, and CPUs by a bit each.

use super::{BOTH_GROUPS, Gic, HIGH, Registers};

/// Registers of the distributor, by offset in bytes: a byte for each interrupt, with the CPUs that get it; and that which sends.
const TARGETS: u64 = 0x800;
const SOFTWARE: u64 = 0xf00;

/// Registers of the CPU interface, by offset in bytes; each CPU sees its own (4.4 "CPU interface register descriptions").
const CONTROL: u64 = 0;
const PRIORITY_MASK: u64 = 4;
const ACKNOWLEDGE: u64 = 0xc;
const END: u64 = 0x10;

/// Bits of the control register: both groups are acknowledged by the same register, because QEMU 7.2 lacks the one for group 1;
/// group 0 is delivered as FIQ.
const ACKNOWLEDGE_BOTH: u32 = 1 << 2;
const GROUP_0_IS_FIQ: u32 = 1 << 3;

const fn interface(gic: &Gic) -> Registers {
    Registers(gic.interface + HIGH)
}

/// Lets interrupts of every priority through.
pub(super) fn init_interface(gic: &Gic) {
    interface(gic).write(PRIORITY_MASK, 0xff);
    interface(gic).write(CONTROL, BOTH_GROUPS | ACKNOWLEDGE_BOTH | GROUP_0_IS_FIQ);
}

/// Acknowledges and ends an interrupt, and returns its ID.
pub(super) fn take(gic: &Gic) -> u32 {
    let acknowledged = interface(gic).read(ACKNOWLEDGE);
    let id = acknowledged & 0x3ff;
    if id < super::SPECIAL {
        interface(gic).write(END, acknowledged);
    }
    id
}

/// Routes a device's interrupt to a CPU, by its hardware number, 0 to 7.
pub(super) fn route(gic: &Gic, id: u32, cpu: u64) {
    let target = 1 << (cpu & 7);
    gic.distributor()
        .write_byte(TARGETS + u64::from(id), target);
}

/// Sends a software-generated interrupt to a CPU, by its hardware number, 0 to 7.
pub(super) fn send(gic: &Gic, id: u32, cpu: u64) {
    // Bit 15, NSATT, counts only where there are two security states.
    let target = 1 << (16 + (cpu & 7));
    gic.distributor().write(SOFTWARE, target | id & 0xf);
}
