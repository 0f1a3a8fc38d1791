//! The kernel that keeps shop, started by UEFI firmware and the crate `bootloader`, which moves it to where there is room.
#![no_std]
#![no_main]
#![feature(abi_x86_interrupt)]

mod interrupts;
mod segments;
mod serial;
mod shop;

use core::panic::PanicInfo;

use bootloader_api::config::Mapping;
use bootloader_api::{BootInfo, BootloaderConfig, entry_point};
use x86_64::instructions::port::Port;

static CONFIG: BootloaderConfig = {
    let mut config = BootloaderConfig::new_default();
    config.mappings.physical_memory = Some(Mapping::Dynamic);
    config
};

entry_point!(kernel_main, config = &CONFIG);

fn kernel_main(boot_info: &'static mut BootInfo) -> ! {
    segments::init();
    interrupts::init();
    let memory = boot_info.memory_regions.iter();
    println!("open for business, with {} regions of memory", memory.count());
    shop::serve(3);
    exit()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{info}");
    exit()
}

/// Ends the machine with status 101, as QEMU's `isa-debug-exit` is asked to.
fn exit() -> ! {
    // SAFETY: this device does nothing to memory.
    unsafe { Port::new(0xf4).write(50_u8) };
    loop {
        x86_64::instructions::hlt();
    }
}
