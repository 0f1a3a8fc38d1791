//! The kernel that keeps shop, on 32-bit ARM, with vectors of its own.
#![no_std]
#![no_main]

mod exceptions;
mod serial;
mod shop;

use core::arch::{asm, global_asm};
use core::panic::PanicInfo;

global_asm!(include_str!("boot.s"));

#[unsafe(no_mangle)]
extern "C" fn main() {
    exceptions::install();
    println!("open for business");
    shop::serve(3);
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{info}");
    exit()
}

/// Ends the machine with status 101, as a debugger is asked to by semihosting.
#[instruction_set(arm::a32)]
fn exit() -> ! {
    let block = [0x20026_u32, 101];
    // SAFETY: the debugger reads the block. The instruction is `hlt #0xf000`, which assemblers do not know for ARMv7.
    unsafe { asm!(".inst 0xe10f0070", in("r0") 0x20, in("r1") &block, options(noreturn)) }
}
