//! The tables by which the CPU finds the handler of an exception: GDT, TSS, IDT.

use core::arch::global_asm;

use spin::Once;
use x86_64::instructions::segmentation::{CS, Segment};
use x86_64::instructions::tables::load_tss;
use x86_64::structures::gdt::{Descriptor, GlobalDescriptorTable};
use x86_64::structures::idt::{Entry, HandlerFunc, InterruptDescriptorTable};
use x86_64::structures::tss::TaskStateSegment;
use x86_64::{PrivilegeLevel, VirtAddr};

use super::{interrupts, stacks, user};
use crate::percpu::MAX_CPUS;

postmortem::exception_entries!(super::trap::exception, 65);
global_asm!(include_str!("on_stack.s"));

/// How many entries there are.
const ENTRIES: usize = 65;
const _: () = assert!(user::SYSTEM_CALL as usize == interrupts::FIRST as usize + interrupts::COUNT);
const _: () = assert!(ENTRIES == user::SYSTEM_CALL as usize + 1);

unsafe extern "C" {
    /// The addresses of the entries, by vector.
    static exception_entries: [u64; ENTRIES];
}

/// One for each CPU, because a CPU sets the busy bit of its TSS descriptor.
static TSS: [Once<TaskStateSegment>; MAX_CPUS] = [const { Once::new() }; MAX_CPUS];
static GDT: [Once<GlobalDescriptorTable>; MAX_CPUS] = [const { Once::new() }; MAX_CPUS];
static IDT: Once<InterruptDescriptorTable> = Once::new();

/// Fills in and loads the tables of a CPU.
pub fn init(cpu: usize) {
    let task_state = TSS[cpu].call_once(|| stacks::task_state(cpu));
    let mut segments = GlobalDescriptorTable::new();
    let code = segments.append(Descriptor::kernel_code_segment());
    let task = segments.append(Descriptor::tss_segment(task_state));
    let user_segments = [
        Descriptor::user_data_segment(),
        Descriptor::user_code_segment(),
    ];
    let user_segments = user_segments.map(|segment| segments.append(segment).0);
    assert_eq!(user_segments, user::SELECTORS);
    GDT[cpu].call_once(|| segments).load();
    // SAFETY: the selectors are those of a code segment and a TSS in the GDT just loaded.
    unsafe {
        CS::set_reg(code);
        load_tss(task);
    }
    IDT.call_once(idt).load();
}

fn idt() -> InterruptDescriptorTable {
    // SAFETY: `exception_entries!` defines it as a constant array of so many words.
    let entries = unsafe { exception_entries };
    let mut table = InterruptDescriptorTable::new();
    macro_rules! set {
        ($($vector:literal => $field:ident,)*) => {
            $(
                let entry = VirtAddr::new(entries[$vector]);
                // SAFETY: the entry of this vector, which expects an error code exactly if the CPU pushes one.
                unsafe { table.$field.set_handler_addr(entry) };
            )*
        };
    }
    set! {
        0 => divide_error,
        1 => debug,
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
        19 => simd_floating_point,
        20 => virtualization,
        21 => cp_protection_exception,
        28 => hv_injection_exception,
        29 => vmm_communication_exception,
        30 => security_exception,
    }
    // Reserved vectors, which only an `int` instruction can raise.
    for vector in [9, 15, 22, 23, 24, 25, 26, 27, 31] {
        let all = (&raw mut table).cast::<Entry<HandlerFunc>>();
        // SAFETY: the table consists of 256 entries of the same size, more than the vector; the address is that of its entry.
        unsafe {
            (*all.add(vector)).set_handler_addr(VirtAddr::new(entries[vector]));
        }
    }
    // SAFETY: each address is the entry of its vector, and the IST has a stack at each of these indices.
    unsafe {
        let nmi = table
            .non_maskable_interrupt
            .set_handler_addr(VirtAddr::new(entries[2]));
        nmi.set_stack_index(stacks::NMI_INDEX);
        let double_fault = table
            .double_fault
            .set_handler_addr(VirtAddr::new(entries[8]));
        double_fault.set_stack_index(stacks::DOUBLE_FAULT_INDEX);
        let machine_check = table
            .machine_check
            .set_handler_addr(VirtAddr::new(entries[18]));
        machine_check.set_stack_index(stacks::MACHINE_CHECK_INDEX);
        for vector in interrupts::FIRST as usize..entries.len() {
            table[vector as u8].set_handler_addr(VirtAddr::new(entries[vector]));
        }
        let system_call = &mut table[user::SYSTEM_CALL as u8];
        let options = system_call.set_handler_addr(VirtAddr::new(entries[ENTRIES - 1]));
        options.set_privilege_level(PrivilegeLevel::Ring3);
    }
    table
}
