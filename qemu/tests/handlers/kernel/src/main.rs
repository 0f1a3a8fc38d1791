//! A kernel that handles its exceptions, and says each time who was interrupted.
#![no_std]
#![no_main]
#![feature(abi_x86_interrupt)]

mod backtrace;
mod interrupts;
mod serial;

use core::arch::{asm, global_asm};
use core::hint::black_box;
use core::panic::PanicInfo;

global_asm!(include_str!("boot.s"));

#[unsafe(no_mangle)]
extern "C" fn main() {
    interrupts::install();
    stop(5);
    println!("went on, with {:#x}", read(0x70_0000_0000));
    fail_twice();
}

/// A breakpoint, below a frame that has something in it.
#[inline(never)]
fn stop(count: u64) {
    let kept = black_box([count; 9]);
    // SAFETY: its handler returns.
    unsafe { asm!("int3") };
    println!("went on, with {}", black_box(kept).iter().sum::<u64>());
}

/// Reads where nothing is mapped. The handler leaves the instruction out.
#[inline(never)]
fn read(address: u64) -> u64 {
    let mut word = address;
    // SAFETY: as above; an instruction of three bytes.
    unsafe { asm!("mov rax, [rax]", inout("rax") word) };
    black_box(word)
}

/// No instruction, an exception that has no handler.
#[inline(never)]
fn fail_twice() {
    // SAFETY: nobody returns from there.
    unsafe { asm!("ud2") };
    black_box(());
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{info}");
    backtrace::print(backtrace::here());
    exit()
}

/// Ends the machine with status 101, as QEMU's `isa-debug-exit` is asked to.
fn exit() -> ! {
    serial::out(0xf4, 50);
    loop {
        core::hint::spin_loop();
    }
}
