//! Interrupts: the timer's, those that CPUs send each other, and devices', from whichever controller the board has.
//!
//! Ordinary interrupts are delivered as IRQ, and the kernel's NMIs as FIQ, which the kernel masks only in the first and last
//! instructions of an exception. (FEAT_NMI is simpler, but is too new for QEMU 7.2 and most cores.)

pub mod gic;

use core::sync::atomic::{AtomicBool, Ordering};

use postmortem::TrapFrame;
use spin::Once;

use crate::arch::{Kind, cpu, frame, handlers};
use crate::percpu;

pub use gic::Gic;

/// The interrupt ID of the kernel's physical timer, which every CPU has ("Server Base System Architecture", PPI assignments).
pub const TIMER: u32 = 30;
/// Whether an NMI from outside reaches all CPUs: here it reaches one.
pub const NMI_REACHES_ALL: bool = false;
/// The interrupt ID of the one that CPUs send each other as NMI.
pub const NMI: u32 = 0;
/// The interrupt ID of the one that only ends a wait.
pub const WAKE: u32 = 15;

/// An interrupt controller.
pub trait Controller: Sync {
    /// Sets up what all CPUs share: all interrupts are ordinary ones.
    fn init(&self);

    /// Sets up this CPU's part: from now on it receives NMIs from other CPUs.
    fn init_cpu(&self);

    /// Enables an interrupt, and routes it to this CPU. It stays an ordinary one.
    fn enable(&self, id: u32);

    /// Enables a device's interrupt, `id` at least 32, as an edge-triggered NMI of this CPU, if it can.
    fn enable_as_nmi(&self, id: u32);

    /// Which interrupt this CPU was interrupted by, as FIQ or not; acknowledges and ends it.
    fn take(&self, is_fiq: bool) -> Option<Taken>;

    /// Sends [`NMI`] or [`WAKE`] to the CPU with this hardware number.
    fn send(&self, id: u32, cpu: u64);
}

/// Set when the board is known.
static CONTROLLER: Once<&'static dyn Controller> = Once::new();

/// Whether there is a controller, and [`init`] has been called.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// A block of device registers, by its virtual address.
///
/// Invariant: the address is that of the board's interrupt controller, which stays mapped as device memory.
#[derive(Clone, Copy)]
pub struct Registers(pub u64);

impl Registers {
    /// Reads a register, by its offset in bytes.
    pub fn read(self, offset: u64) -> u32 {
        // SAFETY: a mapped register, by the type's invariant.
        unsafe { ((self.0 + offset) as *const u32).read_volatile() }
    }

    /// Writes a register. Safe to call, because every interrupt that a write may cause has a handler or is ignored.
    pub fn write(self, offset: u64, value: u32) {
        // SAFETY: a mapped register, by the type's invariant.
        unsafe { ((self.0 + offset) as *mut u32).write_volatile(value) }
    }

    /// Writes a byte, as `write` does a register.
    pub fn write_byte(self, offset: u64, value: u8) {
        // SAFETY: a mapped register, by the type's invariant; priorities and targets may be accessed by bytes.
        unsafe { ((self.0 + offset) as *mut u8).write_volatile(value) }
    }
}

/// What a controller has delivered.
#[derive(Clone, Copy, Debug)]
pub enum Taken {
    /// An ordinary interrupt, by its ID.
    Ordinary(u32),
    /// An NMI.
    Nmi,
}

/// Sets which controller there is.
pub fn set_controller(controller: &'static dyn Controller) {
    CONTROLLER.call_once(|| controller);
}

/// Sets up what all CPUs share: all interrupts are ordinary ones.
pub fn init() {
    if let Some(controller) = CONTROLLER.get() {
        controller.init();
        IS_READY.store(true, Ordering::Release);
    }
}

/// Sets up this CPU's part: from now on it receives NMIs from other CPUs.
pub fn init_cpu() {
    if let Some(controller) = CONTROLLER.get() {
        controller.init_cpu();
    }
}

/// Enables an interrupt, and routes it to this CPU. It stays an ordinary one, unless `enable_as_nmi` has changed that.
pub fn enable(id: u32) {
    if let Some(controller) = CONTROLLER.get() {
        controller.enable(id);
    }
}

/// Enables a device's interrupt, `id` at least 32, as an edge-triggered NMI of this CPU, where there are such interrupts.
pub fn enable_as_nmi(id: u32) {
    if let Some(controller) = CONTROLLER.get() {
        controller.enable_as_nmi(id);
    }
}

/// Called for IRQ and FIQ: acknowledges the interrupt and calls its handler. Returns whether the interrupted task's time slice
/// is over.
pub fn handle(frame: &mut TrapFrame) -> bool {
    let is_fiq = frame.kind() == Kind::Fiq;
    // Ended before the handler, which may switch to another task and come back much later.
    let taken = CONTROLLER.get().and_then(|it| it.take(is_fiq));
    match taken {
        Some(Taken::Nmi) => (handlers::get().nmi)(frame),
        Some(Taken::Ordinary(id)) => {
            frame::set_interrupt(frame, id);
            return (handlers::get().interrupt)(id as usize, frame);
        }
        None => {}
    }
    false
}

/// Ends another CPU's wait for interrupts, so that it looks for work.
pub fn wake(cpu: usize) {
    send(WAKE, cpu);
}

/// Sends the NMI to the CPU with this number.
pub fn send_nmi(cpu: usize) {
    send(NMI, cpu);
}

/// Sends an interrupt from one CPU to another.
fn send(id: u32, cpu: usize) {
    if !IS_READY.load(Ordering::Acquire) {
        return;
    }
    // The interrupted CPU must see everything that was written before.
    cpu::publish();
    if let Some(controller) = CONTROLLER.get() {
        controller.send(id, percpu::hardware_id(cpu));
    }
}
