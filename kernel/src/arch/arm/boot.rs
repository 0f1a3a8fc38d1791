//! The way from the boot loader to the first Rust function.

/// Defines the kernel's entry point, boot.s. The first CPU comes to `main`, with what the boot loader passed; every other one
/// comes to `start_main`, with its number.
macro_rules! entry {
    (main = $main:path, start_main = $start_main:path) => {
        core::arch::global_asm!(
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/arch/arm/boot.s")),
            mair = const $crate::arch::mmu::MAIR,
            ttbcr = const $crate::arch::mmu::BOOT_TTBCR,
            stack = sym $crate::stack::BOOT,
            stack_end = const $crate::stack::Boot::END,
            trap_stack = sym $crate::arch::stacks::EXCEPTION,
            trap_stack_end = const $crate::stack::Exception::END,
            stack_size = const size_of::<$crate::stack::Boot>(),
            trap_stack_size = const size_of::<$crate::stack::Exception>(),
            start_main = sym $start_main,
            cpus = sym $crate::percpu::CPUS,
            main = sym $main,
        );
    };
}
pub(crate) use entry;
