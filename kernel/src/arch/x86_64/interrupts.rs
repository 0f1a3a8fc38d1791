//! The local APIC: interrupts of this processor, and those that processors send each other. Manual: volume 3, chapter 12
//! "Advanced Programmable Interrupt Controller (APIC)".
//!
//! Of the crates, `x2apic` does not do: it has no way to make LINT1 an NMI, and leaves LINT0 open with vector 0, where the
//! interrupts of a PC's old controller come in.

use core::sync::atomic::{AtomicBool, Ordering};

use postmortem::TrapFrame;
use x86_64::instructions::interrupts;
use x86_64::instructions::port::Port;
use x86_64::registers::model_specific::{ApicBase, ApicBaseFlags, Msr};

use super::{cpu, mmu, stacks};
use crate::arch::handlers;
use crate::percpu;

/// First vector that is no exception.
pub const FIRST: u64 = 32;
/// Vectors from [`FIRST`] on that have entries in `vectors.rs`.
pub const COUNT: usize = 32;

/// An NMI from outside comes to every processor.
pub const NMI_REACHES_ALL: bool = true;

/// The vector of the local timer.
pub const TIMER: u32 = 32;
/// The vector of an interrupt that does nothing but end a wait.
const WAKE: u8 = 62;
/// The vector of what turns out to be no interrupt. Not acknowledged. Its low four bits are set, as old processors want.
const SPURIOUS: u32 = 63;

/// Physical address of the registers, where every PC has them.
const REGISTERS: u64 = 0xfee0_0000;
/// The number of the first register's MSR in x2APIC mode.
const X2APIC: u32 = 0x800;

/// Registers, by their offset in bytes (table 12-1 "Local APIC Register Address Map").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Register {
    Id = 0x20,
    TaskPriority = 0x80,
    EndOfInterrupt = 0xb0,
    SpuriousVector = 0xf0,
    Command = 0x300,
    CommandDestination = 0x310,
    Timer = 0x320,
    Lint0 = 0x350,
    Lint1 = 0x360,
    Error = 0x370,
    TimerInitialCount = 0x380,
    TimerCurrentCount = 0x390,
    TimerDivide = 0x3e0,
}

/// In an entry of the local vector table: not delivered.
pub const MASKED: u32 = 1 << 16;
/// In an entry and in a command: delivered as an NMI, whatever the vector.
const NMI: u32 = 4 << 8;
/// In a command: INIT, and the start-up that follows it, whose vector is the page to start at.
const INIT: u32 = 5 << 8;
const START_UP: u32 = 6 << 8;
/// In a command: the level, which is always set but for a kind of INIT that is no longer used.
const ASSERT: u32 = 1 << 14;
/// In a command: not yet accepted by anybody.
const PENDING: u32 = 1 << 12;
/// In the spurious-interrupt vector register: the APIC is on.
const ENABLED: u32 = 1 << 8;

/// Polls before a command is taken to have been accepted, or never to be.
const PATIENCE: u32 = 100_000;

/// Whether the registers are MSRs. All processors are in the same mode.
static IS_X2APIC: AtomicBool = AtomicBool::new(false);

/// Reads a register of this processor's APIC.
pub fn read(register: Register) -> u32 {
    if IS_X2APIC.load(Ordering::Relaxed) {
        // SAFETY: an existing register, see `init_cpu`; reading those listed has no effect.
        unsafe { msr(register).read() as u32 }
    } else {
        // SAFETY: mapped for good, see mmu.rs.
        unsafe { address(register).read_volatile() }
    }
}

/// Writes a register of this processor's APIC.
///
/// # Safety
/// What it makes the processor do is expected: interrupts that come have handlers, and other processors that are
/// started have code.
pub unsafe fn write(register: Register, value: u32) {
    if IS_X2APIC.load(Ordering::Relaxed) {
        // SAFETY: as for the caller.
        unsafe { msr(register).write(u64::from(value)) };
    } else {
        // SAFETY: mapped for good, see mmu.rs; and as for the caller.
        unsafe { address(register).write_volatile(value) };
    }
}

fn msr(register: Register) -> Msr {
    Msr::new(X2APIC + register as u32 / 16)
}

fn address(register: Register) -> *mut u32 {
    (mmu::device(REGISTERS) + u64::from(register as u32)) as *mut u32
}

/// I/O ports of the old controllers' masks (8259A, "Operation Command Words": OCW1).
const OLD_MASKS: [u16; 2] = [0x21, 0xa1];

/// Sets up what all processors share: silences the controllers of old PCs. Before [`init_cpu`]: an interrupt that they have
/// raised already would stay.
pub fn init() {
    for port in OLD_MASKS {
        // SAFETY: on a PC there is nothing else at these ports.
        unsafe { Port::new(port).write(0xff_u8) };
    }
}

/// Makes this processor's APIC deliver NMIs from outside, and nothing else yet.
pub fn init_cpu() {
    let (frame, flags) = ApicBase::read();
    // Firmware may have turned x2APIC mode on, which cannot be turned off without a detour; QEMU's does not.
    IS_X2APIC.store(
        flags.contains(ApicBaseFlags::X2APIC_ENABLE),
        Ordering::Relaxed,
    );
    // SAFETY: turns on what is there, at the address where it is.
    unsafe { ApicBase::write(frame, flags | ApicBaseFlags::LAPIC_ENABLE) };
    // SAFETY: everything is masked but NMI and spurious interrupts, which have entries.
    unsafe {
        write(Register::SpuriousVector, ENABLED | SPURIOUS);
        write(Register::TaskPriority, 0);
        write(Register::Timer, MASKED);
        // The old controllers.
        write(Register::Lint0, MASKED);
        // The button, a watchdog, QEMU's `nmi`.
        write(Register::Lint1, NMI);
        write(Register::Error, MASKED);
    }
}

/// This processor's APIC ID.
pub fn id() -> u32 {
    let id = read(Register::Id);
    if IS_X2APIC.load(Ordering::Relaxed) {
        id
    } else {
        id >> 24
    }
}

/// Makes another processor look whether there is something to do.
pub fn wake(cpu: usize) {
    send(WAKE, percpu::hardware_id(cpu) as u32);
}

unsafe extern "C" {
    /// Calls `function` with `frame` on the empty stack that ends at the address `stack`, and gives what it gives: on_stack.s.
    ///
    /// # Safety
    /// Nobody else is on that stack.
    fn call_on_stack(
        frame: &mut TrapFrame,
        function: extern "C" fn(&mut TrapFrame) -> bool,
        stack: u64,
    ) -> bool;
}

/// Called for vectors from [`FIRST`] on: handles the interrupt on the stack for interrupts, and ends the turn of the
/// task that was interrupted, if that is over.
pub fn handle_on_stack(frame: &mut TrapFrame) {
    let stack = stacks::interrupt(cpu::index());
    if stack.holds(frame.rsp) {
        // It interrupted another one's handler.
        handle(frame);
    } else {
        // SAFETY: what was interrupted is not on that stack, and whoever is there is never left before it is done.
        let is_turn_over = unsafe { call_on_stack(frame, handle, stack.end()) };
        if is_turn_over {
            (handlers::get().preempt)();
        }
    }
}

/// Acknowledges, and calls who handles it. Whether the turn of what was interrupted is over.
extern "C" fn handle(frame: &mut TrapFrame) -> bool {
    let vector = frame.vector as u32;
    if vector == SPURIOUS {
        return false;
    }
    // Before the handler, which may switch to another task and come back much later.
    // SAFETY: the interrupt that is being handled.
    unsafe { write(Register::EndOfInterrupt, 0) };
    (handlers::get().interrupt)(vector as usize, frame)
}

/// Sends an interrupt with this vector to a processor.
pub fn send(vector: u8, apic_id: u32) {
    // SAFETY: all vectors have entries.
    unsafe { command(u32::from(vector) | ASSERT, apic_id) };
}

/// Sends an NMI to a processor.
pub fn send_nmi(apic_id: u32) {
    // SAFETY: NMIs have an entry.
    unsafe { command(NMI | ASSERT, apic_id) };
}

/// Sends INIT, after which a processor waits for [`send_start_up`].
///
/// # Safety
/// The processor with this ID does nothing that matters.
pub unsafe fn send_init(apic_id: u32) {
    // SAFETY: see above.
    unsafe { command(INIT | ASSERT, apic_id) };
}

/// Has a processor that waits for it start in real mode, at a physical address that is a multiple of 4096, below 1 MiB.
///
/// # Safety
/// There is code to run.
pub unsafe fn send_start_up(apic_id: u32, physical: u64) {
    // SAFETY: see above.
    unsafe { command(START_UP | ASSERT | (physical >> 12) as u32 & 0xff, apic_id) };
}

/// # Safety
/// As for [`write`].
unsafe fn command(command: u32, apic_id: u32) {
    if IS_X2APIC.load(Ordering::Relaxed) {
        let value = u64::from(command) | u64::from(apic_id) << 32;
        // SAFETY: as for the caller.
        unsafe { msr(Register::Command).write(value) };
        return;
    }
    // Two registers: an interrupt between them must not send something itself. An NMI may come between them all the
    // same: then one command goes astray, which whoever sent it has to expect.
    interrupts::without_interrupts(|| {
        // SAFETY: as for the caller; the second write sends.
        unsafe {
            write(Register::CommandDestination, apic_id << 24);
            write(Register::Command, command);
        }
        for _ in 0..PATIENCE {
            if read(Register::Command) & PENDING == 0 {
                break;
            }
            core::hint::spin_loop();
        }
    });
}
