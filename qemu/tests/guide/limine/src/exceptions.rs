//! Exceptions.

use core::arch::asm;

use crate::{exit, println};

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

extern "x86-interrupt" fn breakpoint(frame: Frame) {
    println!("breakpoint at {:#x}", frame.rip);
}

extern "x86-interrupt" fn page_fault(frame: Frame, code: u64) {
    println!("page fault at {:#x}, code {code}", frame.rip);
    exit()
}

extern "x86-interrupt" fn double_fault(frame: Frame, _: u64) -> ! {
    panic!("double fault\n{frame:#x?}");
}

static mut TABLE: [[u64; 2]; 15] = [[0; 2]; 15];
/// No descriptor, a code segment, and a task state segment.
static mut SEGMENTS: [u64; 4] = [0, 0x00af_9b00_0000_ffff, 0, 0];
/// That segment in halves of words: only the stack of double faults is used of it.
static mut TASK: [u32; 26] = [0; 26];
static mut STACK: [u128; 4096] = [0; 4096];

/// Tells the processor where the handlers are.
pub fn install() {
    let handlers = [
        (3, breakpoint as *const () as u64, 0),
        (8, double_fault as *const () as u64, 1),
        (14, page_fault as *const () as u64, 0),
    ];
    for (vector, address, stack) in handlers {
        let low = address & 0xffff | 8 << 16 | stack << 32 | 0x8e << 40 | (address >> 16 & 0xffff) << 48;
        // SAFETY: one processor, and no exception yet.
        unsafe { (&raw mut TABLE[vector]).write([low, address >> 32]) };
    }
    let task = (&raw const TASK) as u64;
    let descriptor = 103 | (task & 0xff_ffff) << 16 | 0x89 << 40 | (task >> 24 & 0xff) << 56;
    let table = pointer((&raw const TABLE) as u64, size_of::<[[u64; 2]; 15]>());
    let segments = pointer((&raw const SEGMENTS) as u64, size_of::<[u64; 4]>());
    // SAFETY: as above; tables that are never moved.
    unsafe {
        let stack = (&raw const STACK).add(1) as u64;
        (&raw mut TASK[9]).write(stack as u32);
        (&raw mut TASK[10]).write((stack >> 32) as u32);
        (&raw mut SEGMENTS[2]).write(descriptor);
        (&raw mut SEGMENTS[3]).write(task >> 32);
        asm!("lgdt [{}]", "lidt [{}]", in(reg) &segments, in(reg) &table, options(nostack));
        // The boot loader's code segment has another number.
        asm!("push 8", "lea {at}, [rip + 2f]", "push {at}", "retfq", "2:", at = out(reg) _);
        asm!("mov ss, {at:x}", at = in(reg) 0_u16, options(nostack));
        asm!("ltr {:x}", in(reg) 16_u16, options(nostack));
    }
}

/// What the processor reads of a table: its last byte, and its address.
fn pointer(base: u64, size: usize) -> [u16; 5] {
    [size as u16 - 1, base as u16, (base >> 16) as u16, (base >> 32) as u16, (base >> 48) as u16]
}
