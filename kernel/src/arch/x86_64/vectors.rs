//! Where the processor finds what to do when an exception comes: segments, task state, descriptors of the entries.

use core::arch::global_asm;

use spin::Once;
use x86_64::VirtAddr;
use x86_64::instructions::segmentation::{CS, Segment};
use x86_64::instructions::tables::load_tss;
use x86_64::structures::gdt::{Descriptor, GlobalDescriptorTable};
use x86_64::structures::idt::InterruptDescriptorTable;
use x86_64::structures::tss::TaskStateSegment;

use crate::stack;

global_asm!(include_str!("vectors.s"), handler = sym super::trap::exception);

unsafe extern "C" {
    /// The addresses of the entries in vectors.s, by vector.
    static exception_entries: [u64; 32];
}

/// Index in the task state's list of stacks: a double fault comes when the stack at hand is unusable.
const DOUBLE_FAULT_STACK: u16 = 0;

static TASK_STATE: Once<TaskStateSegment> = Once::new();
static SEGMENTS: Once<GlobalDescriptorTable> = Once::new();
static DESCRIPTORS: Once<InterruptDescriptorTable> = Once::new();

/// Loads the tables.
pub fn init() {
    let task_state = TASK_STATE.call_once(|| {
        let mut task_state = TaskStateSegment::new();
        task_state.interrupt_stack_table[usize::from(DOUBLE_FAULT_STACK)] =
            VirtAddr::new(stack::TRAP.range().end);
        task_state
    });
    let mut segments = GlobalDescriptorTable::new();
    let code = segments.append(Descriptor::kernel_code_segment());
    let task = segments.append(Descriptor::tss_segment(task_state));
    SEGMENTS.call_once(|| segments).load();
    // SAFETY: both selectors are of the table just loaded, of the right kind.
    unsafe {
        CS::set_reg(code);
        load_tss(task);
    }
    DESCRIPTORS.call_once(descriptors).load();
}

fn descriptors() -> InterruptDescriptorTable {
    // SAFETY: vectors.s defines the table, with 32 entries.
    let entries = unsafe { exception_entries };
    let mut table = InterruptDescriptorTable::new();
    macro_rules! set {
        ($($vector:literal => $field:ident,)*) => {
            $(
                let entry = VirtAddr::new(entries[$vector]);
                // SAFETY: the entry for this vector, which takes an error code where the processor gives one.
                unsafe { table.$field.set_handler_addr(entry) };
            )*
        };
    }
    set! {
        0 => divide_error,
        1 => debug,
        2 => non_maskable_interrupt,
        3 => breakpoint,
        4 => overflow,
        5 => bound_range_exceeded,
        6 => invalid_opcode,
        7 => device_not_available,
        10 => invalid_tss,
        11 => segment_not_present,
        12 => stack_segment_fault,
        13 => general_protection_fault,
        14 => page_fault,
        16 => x87_floating_point,
        17 => alignment_check,
        18 => machine_check,
        19 => simd_floating_point,
        20 => virtualization,
        21 => cp_protection_exception,
        28 => hv_injection_exception,
        29 => vmm_communication_exception,
        30 => security_exception,
    }
    let double_fault = VirtAddr::new(entries[8]);
    // SAFETY: as above, and the stack is there: see `init`.
    unsafe {
        let options = table.double_fault.set_handler_addr(double_fault);
        options.set_stack_index(DOUBLE_FAULT_STACK);
    }
    table
}
