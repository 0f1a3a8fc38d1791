//! Interrupts: the timer's, those that CPUs send each other, and devices', from whichever controller the board has.
//!
//! Ordinary interrupts are delivered as IRQ, and the kernel's NMIs as FIQ, which the kernel masks only in the first and last
//! instructions of an exception. (FEAT_NMI is simpler, but is too new for QEMU 7.2 and most cores.)

mod gic;
mod local;

use core::sync::atomic::{AtomicBool, Ordering};

use aarch64_cpu::asm::barrier;
use postmortem::TrapFrame;
use postmortem::aarch64::Kind;
use spin::Once;

use crate::arch::handlers;
use crate::percpu;

pub use gic::Gic;
pub use local::Local;

/// The interrupt ID of the EL1 physical timer, which every CPU has ("Server Base System Architecture", PPI assignments).
pub const TIMER: u32 = 30;
/// Whether an NMI from outside reaches all CPUs: here it reaches one.
pub const NMI_REACHES_ALL: bool = false;
/// The interrupt ID of the one that CPUs send each other as NMI.
const NMI: u32 = 0;
/// The interrupt ID of the one that only ends a wait.
pub const WAKE: u32 = 15;

/// An interrupt controller.
#[derive(Clone, Copy, Debug)]
pub enum Controller {
    /// A GIC.
    Gic(Gic),
    /// That of a Raspberry Pi.
    Local(Local),
}

/// Set when the board is known.
static CONTROLLER: Once<Controller> = Once::new();

/// Whether there is a controller, and [`init`] has been called.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// A block of device registers, by its virtual address.
///
/// Invariant: the address is that of the board's interrupt controller, which stays mapped as device memory.
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

/// What a controller has delivered.
enum Taken {
    /// An ordinary interrupt, by its ID.
    Ordinary(u32),
    /// An NMI.
    Nmi,
}

/// Sets which controller there is. Called before the page tables are made, which are to map it.
pub fn set_controller(controller: Controller) {
    CONTROLLER.call_once(|| controller);
    if let Controller::Local(local) = controller {
        local.registers();
    }
}

/// Sets up what all CPUs share: all interrupts are ordinary ones.
pub fn init() {
    let Some(controller) = CONTROLLER.get() else {
        return;
    };
    match controller {
        Controller::Gic(gic) => gic.init(),
        Controller::Local(_) => {}
    }
    IS_READY.store(true, Ordering::Release);
}

/// Sets up this CPU's part: from now on it receives NMIs from other CPUs.
pub fn init_cpu() {
    match CONTROLLER.get() {
        Some(Controller::Gic(gic)) => gic.init_cpu(),
        Some(Controller::Local(local)) => local.init_cpu(),
        None => {}
    }
}

/// Enables an interrupt, and routes it to this CPU. It stays an ordinary one, unless `enable_as_nmi` has changed that.
pub fn enable(id: u32) {
    match CONTROLLER.get() {
        Some(Controller::Gic(gic)) => gic.enable(id),
        Some(Controller::Local(local)) => local.enable(id),
        None => {}
    }
}

/// Enables a device's interrupt, `id` at least 32, as an edge-triggered NMI of this CPU, where there are such interrupts.
pub fn enable_as_nmi(id: u32) {
    if let Some(Controller::Gic(gic)) = CONTROLLER.get() {
        gic.enable_as_nmi(id);
    }
}

/// Called for IRQ and FIQ: acknowledges the interrupt and calls its handler. Returns whether the interrupted task's time slice
/// is over.
pub fn handle(frame: &mut TrapFrame) -> bool {
    let is_fiq = frame.kind() == Kind::Fiq;
    // Ended before the handler, which may switch to another task and come back much later.
    let taken = match CONTROLLER.get() {
        Some(Controller::Gic(gic)) => gic.take(is_fiq),
        Some(Controller::Local(local)) => local.take(is_fiq),
        None => None,
    };
    match taken {
        Some(Taken::Nmi) => (handlers::get().nmi)(frame),
        Some(Taken::Ordinary(id)) => {
            frame.interrupt = u64::from(id);
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
    barrier::dsb(barrier::ISHST);
    let cpu = percpu::hardware_id(cpu);
    match CONTROLLER.get() {
        Some(Controller::Gic(gic)) => gic.send(id, cpu),
        Some(Controller::Local(local)) => local.send(id, cpu),
        None => {}
    }
}
