//! The kernel that keeps shop, with staff: other processors.
#![no_std]
#![no_main]
#![feature(abi_x86_interrupt)]

mod cpus;
mod exceptions;
mod serial;
mod shop;
mod staff;

use core::arch::global_asm;
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

/// Ends the machine with status 101, as QEMU's `isa-debug-exit` is asked to.
fn exit() -> ! {
    serial::out(0xf4, 50);
    loop {
        core::hint::spin_loop();
    }
}
