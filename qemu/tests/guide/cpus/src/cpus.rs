//! The other processors, and the local APIC by which they are started.

use crate::{exceptions, staff};

const APIC: usize = 0xfee0_0000;
/// The page where a processor starts, in real mode.
const PAGE: usize = 0x8000;
/// To all processors but this one: INIT, and then the page where to start.
const INIT: u32 = 0x000c_4500;
const START_UP: u32 = 0x000c_4600;

/// How many others there are.
#[allow(dead_code, reason = "so far nobody has to know")]
pub const OTHERS: usize = 3;

unsafe extern "C" {
    static page: [u8; 0x1000];
}

/// Starts all others, and waits until they work.
pub fn start() {
    // SAFETY: memory that nothing uses.
    unsafe { (PAGE as *mut [u8; 0x1000]).write(page) };
    command(INIT);
    command(START_UP | (PAGE >> 12) as u32);
    while !staff::all_work() {
        core::hint::spin_loop();
    }
}

/// Interrupts all others, masked or not.
#[allow(dead_code, reason = "so far nobody has to")]
pub fn send_nmi_to_others() {
    command(0x000c_4400);
}

fn command(value: u32) {
    let register = (APIC + 0x300) as *mut u32;
    // SAFETY: a register of the APIC; the processors have handlers.
    unsafe {
        register.write_volatile(value);
        while register.read_volatile() & 1 << 12 != 0 {}
    }
}

/// This processor's number.
pub fn number() -> u32 {
    // SAFETY: a register of the APIC.
    unsafe { ((APIC + 0x20) as *const u32).read_volatile() >> 24 }
}

/// What another processor calls when it has a stack.
#[unsafe(no_mangle)]
extern "C" fn come() -> ! {
    exceptions::load();
    staff::work(number())
}
