//! The kernel that keeps shop, with staff: other processors.
#![no_std]
#![no_main]

mod cpus;
mod exceptions;
mod serial;
mod shop;
mod staff;

use core::arch::{asm, global_asm};
use core::panic::PanicInfo;

global_asm!(include_str!("boot.s"));

#[unsafe(no_mangle)]
extern "C" fn main() {
    exceptions::install();
    println!("open for business");
    cpus::start();
    shop::serve(3);
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{info}");
    exit()
}

/// Ends the machine with status 101, as a debugger is asked to by semihosting.
fn exit() -> ! {
    let block = [0x20026_u64, 101];
    // SAFETY: the debugger reads the block.
    unsafe { asm!("hlt #0xf000", in("x0") 0x18, in("x1") &block, options(noreturn)) }
}
