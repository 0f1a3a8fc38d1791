//! The local APIC: this CPU's interrupts, and those that CPUs send each other. Manual: volume 3, chapter 12 "Advanced
//! Programmable Interrupt Controller (APIC)".
//!
//! The crate `x2apic` was rejected: it cannot make LINT1 an NMI, and leaves LINT0, where the interrupts of a PC's 8259A
//! controllers (PIC) come in, unmasked with vector 0.

use core::sync::atomic::{AtomicBool, Ordering};

use postmortem::TrapFrame;
use x86_64::instructions::interrupts;
use x86_64::instructions::port::Port;
use x86_64::registers::model_specific::{ApicBase, ApicBaseFlags, Msr};

use super::{cpu, mmu, stacks};
use crate::arch::handlers;
use crate::percpu;

/// The first vector that is not an exception.
pub const FIRST: u64 = 32;
/// Vectors from [`FIRST`] on that have entries in `vectors.rs`.
pub const COUNT: usize = 32;

/// Whether an NMI from outside reaches all CPUs: here it does.
pub const NMI_REACHES_ALL: bool = true;

/// The vector of the local timer.
pub const TIMER: u32 = 32;
/// The vector of an interrupt that only ends a wait.
pub const WAKE: u32 = 62;
/// The vector of spurious interrupts, which are not acknowledged. Its low four bits are set, as old CPUs require.
const SPURIOUS: u32 = 63;

/// The physical address of the registers, the same on every PC.
const REGISTERS: u64 = 0xfee0_0000;
/// The number of the first MSR in x2APIC mode.
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

/// In an entry of the local vector table: masked.
pub const MASKED: u32 = 1 << 16;
/// In an entry and in a command: delivered as an NMI, whatever the vector.
const NMI: u32 = 4 << 8;
/// In a command: INIT, and the start-up IPI (SIPI) that follows it, whose vector is the page to start at.
const INIT: u32 = 5 << 8;
const START_UP: u32 = 6 << 8;
/// In a command: the level, always set except for INIT level de-assert, which is obsolete.
const ASSERT: u32 = 1 << 14;
/// In a command: not yet accepted by its target.
const PENDING: u32 = 1 << 12;
/// In the spurious-interrupt vector register: the APIC is on.
const ENABLED: u32 = 1 << 8;

/// Polls before the wait for a command's acceptance is given up.
const MAX_POLLS: u32 = 100_000;

/// Whether the registers are MSRs. All CPUs are in the same mode.
static IS_X2APIC: AtomicBool = AtomicBool::new(false);

/// Reads a register of this CPU's APIC.
pub fn read(register: Register) -> u32 {
    if IS_X2APIC.load(Ordering::Relaxed) {
        // SAFETY: in x2APIC mode all listed registers exist as MSRs, and reading them has no effect.
        unsafe { msr(register).read() as u32 }
    } else {
        // SAFETY: `mmu::protect` maps the registers and nothing unmaps them; reading those listed has no effect.
        unsafe { address(register).read_volatile() }
    }
}

/// Writes a register of this CPU's APIC.
///
/// # Safety
/// The effect of the write is expected: interrupts that it causes have handlers, and CPUs that it starts have code.
pub unsafe fn write(register: Register, value: u32) {
    if IS_X2APIC.load(Ordering::Relaxed) {
        // SAFETY: an existing MSR; the caller expects the effect of the write.
        unsafe { msr(register).write(u64::from(value)) };
    } else {
        // SAFETY: `mmu::protect` maps the registers and nothing unmaps them; the caller expects the effect.
        unsafe { address(register).write_volatile(value) };
    }
}

fn msr(register: Register) -> Msr {
    Msr::new(X2APIC + register as u32 / 16)
}

fn address(register: Register) -> *mut u32 {
    (mmu::device(REGISTERS) + u64::from(register as u32)) as *mut u32
}

/// I/O ports of the interrupt masks of a PC's two 8259A controllers (PIC, "Operation Command Words": OCW1).
const PIC_MASKS: [u16; 2] = [0x21, 0xa1];

/// Sets up what all CPUs share: masks the PICs. Called before [`init_cpu`], because an interrupt that they have raised already
/// would stay pending.
pub fn init() {
    for port in PIC_MASKS {
        // SAFETY: a PC has nothing else at these ports.
        unsafe { Port::new(port).write(0xff_u8) };
    }
}

/// Sets up this CPU's APIC: it delivers NMIs from outside, and nothing else yet.
pub fn init_cpu() {
    let (frame, flags) = ApicBase::read();
    // Firmware may have turned x2APIC mode on, which cannot be turned off without a detour; QEMU's does not.
    IS_X2APIC.store(
        flags.contains(ApicBaseFlags::X2APIC_ENABLE),
        Ordering::Relaxed,
    );
    // SAFETY: turns the APIC on, and leaves its address as it is.
    unsafe { ApicBase::write(frame, flags | ApicBaseFlags::LAPIC_ENABLE) };
    // SAFETY: everything is masked but NMI and spurious interrupts, which have entries.
    unsafe {
        write(Register::SpuriousVector, ENABLED | SPURIOUS);
        write(Register::TaskPriority, 0);
        write(Register::Timer, MASKED);
        // Interrupts of the PICs.
        write(Register::Lint0, MASKED);
        // NMIs: a button, a watchdog, QEMU's `nmi`.
        write(Register::Lint1, NMI);
        write(Register::Error, MASKED);
    }
}

/// This CPU's APIC ID.
pub fn id() -> u32 {
    let id = read(Register::Id);
    if IS_X2APIC.load(Ordering::Relaxed) {
        id
    } else {
        id >> 24
    }
}

/// Ends another CPU's wait for interrupts, so that it looks for work.
pub fn wake(cpu: usize) {
    send(WAKE as u8, percpu::hardware_id(cpu) as u32);
}

unsafe extern "C" {
    /// Calls `function` with `frame` on the empty stack that ends at the address `stack`, and returns its result. Defined in
    /// on_stack.s.
    ///
    /// # Safety
    /// The stack is not in use.
    fn call_on_stack(
        frame: &mut TrapFrame,
        function: extern "C" fn(&mut TrapFrame) -> bool,
        stack: u64,
    ) -> bool;
}

/// Called for vectors from [`FIRST`] on: handles the interrupt on the interrupt stack, and then runs another task if the
/// interrupted one's time slice is over.
pub fn handle_on_stack(frame: &mut TrapFrame) {
    let stack = stacks::interrupt(cpu::index());
    if stack.holds(frame.rsp) {
        // A handler of another interrupt was interrupted, which is on that stack already.
        handle(frame);
    } else {
        // SAFETY: the interrupted code is not on that stack, and handlers on it run to their end before anything else runs on
        // this CPU.
        let is_turn_over = unsafe { call_on_stack(frame, handle, stack.end()) };
        if is_turn_over {
            (handlers::get().preempt)();
        }
    }
}

/// Acknowledges the interrupt and calls its handler. Returns whether the interrupted task's time slice is over.
extern "C" fn handle(frame: &mut TrapFrame) -> bool {
    let vector = frame.vector as u32;
    if vector == SPURIOUS {
        return false;
    }
    // Before the handler, which may switch to another task and come back much later.
    // SAFETY: acknowledges the interrupt that is being handled.
    unsafe { write(Register::EndOfInterrupt, 0) };
    (handlers::get().interrupt)(vector as usize, frame)
}

/// Sends an interrupt with this vector to the CPU with this APIC ID.
pub fn send(vector: u8, apic_id: u32) {
    // SAFETY: every vector has an entry in the IDT.
    unsafe { command(u32::from(vector) | ASSERT, apic_id) };
}

/// Sends an NMI to the CPU with this number.
pub fn send_nmi(cpu: usize) {
    // SAFETY: the NMI has an entry in the IDT and a stack of its own.
    unsafe { command(NMI | ASSERT, percpu::hardware_id(cpu) as u32) };
}

/// Sends INIT, after which the CPU waits for [`send_start_up`].
///
/// # Safety
/// The CPU with this ID runs nothing that is needed.
pub unsafe fn send_init(apic_id: u32) {
    // SAFETY: the caller says that the CPU may be reset.
    unsafe { command(INIT | ASSERT, apic_id) };
}

/// Starts a CPU that was sent INIT: in real mode, at a physical address that is a multiple of 4096 below 1 MiB.
///
/// # Safety
/// There is code to run at this address.
pub unsafe fn send_start_up(apic_id: u32, physical: u64) {
    // SAFETY: the caller says that there is code at this address.
    unsafe { command(START_UP | ASSERT | (physical >> 12) as u32 & 0xff, apic_id) };
}

/// # Safety
/// As for [`write`].
unsafe fn command(command: u32, apic_id: u32) {
    if IS_X2APIC.load(Ordering::Relaxed) {
        let value = u64::from(command) | u64::from(apic_id) << 32;
        // SAFETY: an existing MSR; the caller expects the effect of the write.
        unsafe { msr(Register::Command).write(value) };
        return;
    }
    // There are two registers, so no interrupt handler may send a command between the two writes. An NMI handler still may:
    // then one command goes to the wrong CPU, which senders must expect.
    interrupts::without_interrupts(|| {
        // SAFETY: the caller expects the effect; only the second write sends.
        unsafe {
            write(Register::CommandDestination, apic_id << 24);
            write(Register::Command, command);
        }
        for _ in 0..MAX_POLLS {
            if read(Register::Command) & PENDING == 0 {
                break;
            }
            core::hint::spin_loop();
        }
    });
}
