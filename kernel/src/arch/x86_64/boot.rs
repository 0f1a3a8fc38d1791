//! From what QEMU leaves to the first Rust function.

use core::arch::global_asm;

global_asm!(
    include_str!("boot.s"),
    stack = sym crate::stack::BOOT,
    stack_end = const crate::stack::Boot::END,
    cpus = sym crate::cpus::CPUS,
    main = sym crate::kernel_main,
    start_stack = sym super::start::STACK,
    start_index = sym super::start::INDEX,
    start_main = sym crate::cpus::main,
);
