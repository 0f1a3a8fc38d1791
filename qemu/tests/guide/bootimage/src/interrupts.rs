//! Exceptions.

use spin::Lazy;
use x86_64::registers::control::Cr2;
use x86_64::structures::idt::{InterruptDescriptorTable, InterruptStackFrame, PageFaultErrorCode};

use crate::{exit, println, segments};

static TABLE: Lazy<InterruptDescriptorTable> = Lazy::new(|| {
    let mut table = InterruptDescriptorTable::new();
    table.breakpoint.set_handler_fn(breakpoint);
    table.page_fault.set_handler_fn(page_fault);
    let double_fault = table.double_fault.set_handler_fn(double_fault);
    // SAFETY: nothing else uses this stack.
    unsafe { double_fault.set_stack_index(segments::DOUBLE_FAULT) };
    table
});

pub fn init() {
    TABLE.load();
}

extern "x86-interrupt" fn breakpoint(frame: InterruptStackFrame) {
    println!("breakpoint\n{frame:#?}");
}

extern "x86-interrupt" fn page_fault(frame: InterruptStackFrame, code: PageFaultErrorCode) {
    println!("page fault at {:?}: {code:?}\n{frame:#?}", Cr2::read());
    exit()
}

extern "x86-interrupt" fn double_fault(frame: InterruptStackFrame, _: u64) -> ! {
    panic!("double fault\n{frame:#?}");
}
