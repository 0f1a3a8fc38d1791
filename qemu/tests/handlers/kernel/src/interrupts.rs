//! Exceptions.

use core::arch::asm;

use crate::{backtrace, println};

/// What the processor pushes.
#[repr(C)]
struct Interrupted {
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
}

extern "x86-interrupt" fn breakpoint(frame: Interrupted) {
    println!("breakpoint on cpu 0 at {:#x}", frame.rip);
    backtrace::print(backtrace::here());
}

/// With an error code, and a breakpoint in the handler.
extern "x86-interrupt" fn page_fault(mut frame: Interrupted, code: u64) {
    look_closer();
    println!("fault on cpu 0 at {:#x}, code {code}", frame.rip);
    backtrace::print(backtrace::here());
    // SAFETY: the processor takes it from there, wherever the compiler has its variables.
    unsafe { (&raw mut frame.rip).write_volatile(frame.rip + 3) };
}

#[inline(never)]
fn look_closer() {
    // SAFETY: its handler returns.
    unsafe { asm!("int3") };
}

/// On a stack of its own, and it does not return.
extern "x86-interrupt" fn double_fault(frame: Interrupted, code: u64) -> ! {
    panic!("double fault at {:#x}, code {code}", frame.rip);
}

static mut TABLE: [[u64; 2]; 15] = [[0; 2]; 15];

/// A task state segment, in halves of words: `ist1` is all that is used of it.
static mut TASK: [u32; 26] = [0; 26];

/// Tells the processor where the handlers are.
pub fn install() {
    unsafe extern "C" {
        static mut gdt: [u64; 4];
        static spare_end: u8;
    }
    let handlers = [
        (3, breakpoint as *const () as u64, 0),
        (8, double_fault as *const () as u64, 1),
        (14, page_fault as *const () as u64, 0),
    ];
    for (vector, address, stack) in handlers {
        let low = address & 0xffff | 8 << 16 | stack << 32 | 0x8e << 40;
        let low = low | (address >> 16 & 0xffff) << 48;
        // SAFETY: one processor, and no exception yet.
        unsafe { (&raw mut TABLE[vector]).write([low, address >> 32]) };
    }
    let spare = (&raw const spare_end) as u64;
    let task = (&raw const TASK) as u64;
    let descriptor = 103 | (task & 0xff_ffff) << 16 | 0x89 << 40 | (task >> 24 & 0xff) << 56;
    let pointer: [u16; 5] = {
        let base = (&raw const TABLE) as u64;
        let limit = size_of::<[[u64; 2]; 15]>() as u16 - 1;
        [
            limit,
            base as u16,
            (base >> 16) as u16,
            (base >> 32) as u16,
            0,
        ]
    };
    // SAFETY: as above; a table of gates and a task state segment, which are never moved.
    unsafe {
        (&raw mut TASK[9]).write(spare as u32);
        (&raw mut gdt[2]).write(descriptor);
        (&raw mut gdt[3]).write(task >> 32);
        asm!("lidt [{}]", "ltr {:x}", in(reg) &pointer, in(reg) 16_u16, options(nostack));
    }
}
