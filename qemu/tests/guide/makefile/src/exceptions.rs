//! Exceptions: entries that are naked functions, as stable Rust has them, and what they call.

use core::arch::{asm, naked_asm};

use crate::println;

/// What the processor pushes.
#[derive(Debug)]
#[repr(C)]
struct Frame {
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
}

/// An entry that saves what a function may overwrite, and calls one with the processor's frame. Where there is an error code, it lies
/// below that, and the stack is aligned by another word.
macro_rules! entry {
    ($entry:ident, $handler:ident, $aligned:literal, $frame:literal, $code:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $entry() {
            naked_asm!(
                "push rax", "push rcx", "push rdx", "push rsi", "push rdi",
                "push r8", "push r9", "push r10", "push r11",
                concat!("lea rdi, [rsp + ", $frame, "]"),
                concat!("sub rsp, ", $aligned),
                "cld",
                "call {}",
                concat!("add rsp, ", $aligned),
                "pop r11", "pop r10", "pop r9", "pop r8",
                "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop rax",
                concat!("add rsp, ", $code),
                "iretq",
                sym $handler,
            )
        }
    };
}

entry!(breakpoint_entry, breakpoint, 0, 72, 0);
entry!(page_fault_entry, page_fault, 8, 80, 8);

extern "C" fn breakpoint(frame: &Frame) {
    println!("breakpoint at {:#x}", frame.rip);
}

extern "C" fn page_fault(frame: &Frame) {
    panic!("page fault at {:#x}", frame.rip);
}

static mut TABLE: [[u64; 2]; 15] = [[0; 2]; 15];

/// Tells the processor where the entries are.
pub fn install() {
    let entries = [
        (3, breakpoint_entry as *const () as u64),
        (14, page_fault_entry as *const () as u64),
    ];
    for (vector, address) in entries {
        let low = address & 0xffff | 8 << 16 | 0x8e << 40 | (address >> 16 & 0xffff) << 48;
        // SAFETY: one processor, and no exception yet.
        unsafe { (&raw mut TABLE[vector]).write([low, address >> 32]) };
    }
    let base = (&raw const TABLE) as u64;
    let size = size_of::<[[u64; 2]; 15]>() as u16;
    let pointer = [size - 1, base as u16, (base >> 16) as u16, (base >> 32) as u16, 0];
    // SAFETY: a table of gates, which is never moved.
    unsafe { asm!("lidt [{}]", in(reg) &pointer, options(readonly, nostack)) };
}
