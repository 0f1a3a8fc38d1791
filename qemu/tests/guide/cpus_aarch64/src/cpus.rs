//! The other processors, which firmware starts, and the interrupt controller, a GICv2.

use core::arch::asm;

use crate::{exceptions, staff};

/// Registers of the interrupt controller: of all, and of each processor.
const DISTRIBUTOR: usize = 0x800_0000;
const INTERFACE: usize = 0x801_0000;

/// How many others there are.
pub const OTHERS: usize = 3;

/// Starts all others, and waits until they work.
pub fn start() {
    unsafe extern "C" {
        fn other();
    }
    write(DISTRIBUTOR, 1);
    for number in 1..=OTHERS {
        // SAFETY: the firmware's CPU_ON: affinity, address, and what is passed.
        unsafe {
            asm!("hvc #0", inout("x0") 0xc400_0003_u64 => _, inout("x1") number => _,
                inout("x2") other as *const () => _, inout("x3") number => _, clobber_abi("C"));
        }
    }
    while !staff::all_work() {
        core::hint::spin_loop();
    }
}

/// What another processor calls when it has a stack.
#[unsafe(no_mangle)]
extern "C" fn come(number: usize) -> ! {
    exceptions::install();
    // Interrupts of any priority, as FIQs, which are never masked.
    write(INTERFACE + 4, 0xff);
    write(INTERFACE, 1 | 1 << 3);
    // SAFETY: there are vectors.
    unsafe { asm!("msr daifclr, #1") };
    staff::work(number)
}

/// Interrupts all others.
#[allow(dead_code, reason = "so far nobody has to")]
pub fn send_fiq_to_others() {
    write(DISTRIBUTOR + 0xf00, 1 << 24);
}

/// Ends what interrupts.
pub fn acknowledge() {
    // SAFETY: a register of the interrupt controller.
    let interrupt = unsafe { ((INTERFACE + 0xc) as *const u32).read_volatile() };
    write(INTERFACE + 0x10, interrupt);
}

fn write(register: usize, value: u32) {
    // SAFETY: a register of the interrupt controller.
    unsafe { (register as *mut u32).write_volatile(value) };
}
