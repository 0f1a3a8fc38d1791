//! The way from the boot loader to the first Rust function.

/// Defines the kernel's entry point, boot.s. The first CPU comes to `main`, with what the boot loader passed; every other one
/// comes to `start_main`, with its number. A macro, because the assembly needs the symbols of functions that modules above this
/// one define.
macro_rules! entry {
    (main = $main:path, start_main = $start_main:path) => {
        core::arch::global_asm!(
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/arch/x86_64/boot.s")),
            stack = sym $crate::stack::BOOT,
            stack_end = const $crate::stack::Boot::END,
            cpus = sym $crate::percpu::CPUS,
            main = sym $main,
            stack_size = const size_of::<$crate::stack::Boot>(),
            cpu_size = const size_of::<$crate::percpu::Cpu>(),
            cpu_id = const core::mem::offset_of!($crate::percpu::Cpu, id),
            started = sym $crate::percpu::STARTED,
            start_main = sym $start_main,
        );
    };
}
pub(crate) use entry;
