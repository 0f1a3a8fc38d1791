//! From what QEMU leaves to the first Rust function.

use core::arch::global_asm;

global_asm!(
    include_str!("boot.s"),
    mair = const super::mmu::MAIR,
    tcr = const super::mmu::BOOT_TCR,
    stack = sym crate::stack::BOOT,
    stack_end = const crate::stack::Boot::END,
    trap_stack = sym super::stacks::EXCEPTION,
    trap_stack_end = const crate::stack::Exception::END,
    stack_size = const size_of::<crate::stack::Boot>(),
    trap_stack_size = const size_of::<crate::stack::Exception>(),
    start_main = sym crate::cpus::main,
    cpus = sym crate::cpus::CPUS,
    main = sym crate::kernel_main,
);
