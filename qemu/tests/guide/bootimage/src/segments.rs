//! Segments, and the stack on which double faults are handled.

use spin::Lazy;
use x86_64::VirtAddr;
use x86_64::instructions::segmentation::{CS, SS, Segment};
use x86_64::instructions::tables::load_tss;
use x86_64::structures::gdt::{Descriptor, GlobalDescriptorTable, SegmentSelector};
use x86_64::structures::tss::TaskStateSegment;

pub const DOUBLE_FAULT: u16 = 0;

static TASK: Lazy<TaskStateSegment> = Lazy::new(|| {
    const SIZE: usize = 8 * 4096;
    static mut STACK: [u8; SIZE] = [0; SIZE];
    let mut task = TaskStateSegment::new();
    let end = VirtAddr::from_ptr(&raw const STACK) + SIZE as u64;
    task.interrupt_stack_table[usize::from(DOUBLE_FAULT)] = end;
    task
});

static TABLE: Lazy<(GlobalDescriptorTable, [SegmentSelector; 2])> = Lazy::new(|| {
    let mut table = GlobalDescriptorTable::new();
    let code = table.append(Descriptor::kernel_code_segment());
    let task = table.append(Descriptor::tss_segment(&TASK));
    (table, [code, task])
});

pub fn init() {
    let (table, [code, task]) = &*TABLE;
    table.load();
    // SAFETY: segments of the table above.
    unsafe {
        CS::set_reg(*code);
        SS::set_reg(SegmentSelector(0));
        load_tss(*task);
    }
}
