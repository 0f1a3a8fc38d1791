//! What only version 3 of the GIC has: a redistributor for each CPU, a CPU interface of system registers, and CPUs by their
//! affinity.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use aarch64_cpu::asm::barrier;
use aarch64_cpu::registers::{ID_AA64PFR0_EL1, Readable};

use super::cpu;
use crate::arch::arms::interrupts::gic::{Gic, SPECIAL, distributor};
use crate::arch::arms::interrupts::{NMI, Registers};
use crate::percpu::MAX_CPUS;

/// In the distributor's control register: interrupts are routed by affinity; and a write has not taken effect yet (12.9.4
/// "GICD_CTLR").
const BY_AFFINITY: u32 = 1 << 4;
const IS_PENDING: u32 = 1 << 31;
/// Registers of the distributor from here on, by offset in bytes: two words for each interrupt, the affinity of its CPU.
const ROUTER: u64 = 0x6000;

/// Registers of a redistributor, by offset in bytes (12.10 "The GIC Redistributor register map").
const TYPE: u64 = 8;
const AFFINITY: u64 = 12;
const WAKER: u64 = 0x14;
/// In its type: it is the last one; it has two frames more, for virtual interrupts.
const IS_LAST: u32 = 1 << 4;
const HAS_VIRTUAL: u32 = 1 << 1;
/// In its waker: its CPU sleeps; it has not woken yet.
const SLEEPS: u32 = 1 << 1;
const WAKES: u32 = 1 << 2;
/// Bytes of a frame. The second frame has the registers of the CPU's own interrupts.
const FRAME: u64 = 0x1_0000;

/// Polls before a wait is given up.
const MAX_POLLS: u32 = 1_000_000;

/// Where each CPU's own interrupts have their registers; 0 before that is known.
static OWN: [AtomicU64; MAX_CPUS] = [const { AtomicU64::new(0) }; MAX_CPUS];

/// Reads a system register of the CPU interface (12.2 "AArch64 System register descriptions"). Used only where [`Version3::found`] says
/// that there is one.
macro_rules! read_interface {
    ($register:literal) => {{
        let value: u64;
        // SAFETY: the CPU has the interface, as the macro's users have asked. Acknowledging changes only that.
        unsafe { asm!(concat!("mrs {}, ", $register), out(reg) value, options(nostack, preserves_flags)) };
        value
    }};
}

/// Writes a system register of the CPU interface, as [`read_interface`] reads one. Every interrupt that a write may cause has a handler
/// or is ignored.
macro_rules! write_interface {
    ($register:literal, $value:expr) => {{
        let value: u64 = $value;
        // SAFETY: the CPU has the interface, as the macro's users have asked, and every interrupt has a handler or is ignored.
        unsafe { asm!(concat!("msr ", $register, ", {}"), in(reg) value, options(nostack, preserves_flags)) };
    }};
}

/// That the GIC is of this version.
#[derive(Clone, Copy)]
pub struct Version3(());

impl Version3 {
    /// Whether this is the version, as the CPU says: it has the interface ("ID_AA64PFR0_EL1", GIC).
    pub fn found() -> Option<Self> {
        let is_there = ID_AA64PFR0_EL1.get() >> 24 & 0xf != 0;
        is_there.then_some(Self(()))
    }

    /// The registers of this CPU's own interrupts.
    pub fn own(self) -> Option<Registers> {
        let address = OWN[cpu::index()].load(Ordering::Relaxed);
        (address != 0).then_some(Registers(address))
    }

    /// Turns on routing by affinity, which the groups' being enabled must find on.
    pub fn init(self, distributor: Registers) {
        distributor.write(distributor::CONTROL, BY_AFFINITY);
        poll(|| distributor.read(distributor::CONTROL) & IS_PENDING == 0);
    }

    /// Finds this CPU's redistributor, from the `first` one on, and wakes it.
    pub fn find_own(self, first: Registers) {
        let mut found = first;
        // The affinity, as the redistributor has it: the highest byte next to the others.
        let id = cpu::hardware_id();
        let affinity = (id >> 32 << 24 | id & 0xff_ffff) as u32;
        while found.read(AFFINITY) != affinity {
            let kind = found.read(TYPE);
            if kind & IS_LAST != 0 {
                return;
            }
            let frames = if kind & HAS_VIRTUAL == 0 { 2 } else { 4 };
            found = Registers(found.0 + frames * FRAME);
        }
        found.write(WAKER, found.read(WAKER) & !SLEEPS);
        poll(|| found.read(WAKER) & WAKES == 0);
        OWN[cpu::index()].store(found.0 + FRAME, Ordering::Relaxed);
    }

    /// Lets interrupts of every priority through, and of both groups: group 0 is delivered as FIQ.
    pub fn init_interface(self) {
        // ICC_SRE_EL1: system registers. boot.s has allowed that where the kernel began at EL2.
        write_interface!("S3_0_C12_C12_5", read_interface!("S3_0_C12_C12_5") | 1);
        barrier::isb(barrier::SY);
        // ICC_PMR_EL1, ICC_CTLR_EL1, ICC_IGRPEN0_EL1, ICC_IGRPEN1_EL1.
        write_interface!("S3_0_C4_C6_0", 0xff);
        write_interface!("S3_0_C12_C12_4", 0);
        write_interface!("S3_0_C12_C12_6", 1);
        write_interface!("S3_0_C12_C12_7", 1);
        barrier::isb(barrier::SY);
    }

    /// Acknowledges and ends an interrupt of the group that is delivered as FIQ, or of the other one, and returns its ID.
    pub fn take(self, is_fiq: bool) -> u32 {
        // ICC_IAR0_EL1 and ICC_EOIR0_EL1, ICC_IAR1_EL1 and ICC_EOIR1_EL1.
        let id = match is_fiq {
            true => read_interface!("S3_0_C12_C8_0"),
            false => read_interface!("S3_0_C12_C12_0"),
        };
        // The device must see that it was acknowledged before anything that its handler does.
        barrier::dsb(barrier::SY);
        if id < u64::from(SPECIAL) {
            match is_fiq {
                true => write_interface!("S3_0_C12_C8_1", id),
                false => write_interface!("S3_0_C12_C12_1", id),
            }
            barrier::isb(barrier::SY);
        }
        id as u32
    }

    /// Routes a device's interrupt to the CPU with this affinity.
    pub fn route(self, gic: &Gic, id: u32, cpu: u64) {
        let router = ROUTER + u64::from(id) * 8;
        gic.distributor().write(router, cpu as u32);
        gic.distributor().write(router + 4, (cpu >> 32) as u32);
    }

    /// Sends a software-generated interrupt to the CPU with this affinity.
    pub fn send(self, id: u32, cpu: u64) {
        let byte = |number: u32| cpu >> (number * 8) & 0xff;
        // The lowest byte: the upper half as a number, the lower one as a bit.
        let target = byte(4) << 48 | byte(2) << 32 | byte(1) << 16 | (byte(0) >> 4) << 44;
        let value = target | u64::from(id) << 24 | 1 << (byte(0) & 0xf);
        // ICC_SGI0R_EL1, ICC_SGI1R_EL1: the group must be that of the interrupt.
        match id == NMI {
            true => write_interface!("S3_0_C12_C11_7", value),
            false => write_interface!("S3_0_C12_C11_5", value),
        }
        barrier::isb(barrier::SY);
    }
}

fn poll(is_done: impl Fn() -> bool) {
    for _ in 0..MAX_POLLS {
        if is_done() {
            return;
        }
        core::hint::spin_loop();
    }
}
