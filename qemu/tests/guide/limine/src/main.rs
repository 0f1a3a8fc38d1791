//! The kernel that keeps shop, started by a loader of Limine's protocol.
#![no_std]
#![no_main]
#![feature(abi_x86_interrupt)]

mod exceptions;
mod serial;
mod shop;

use core::panic::PanicInfo;

use limine::BaseRevision;
use limine::request::{HhdmRequest, RequestsEndMarker, RequestsStartMarker};

#[used]
#[unsafe(link_section = ".requests_start")]
static START: RequestsStartMarker = RequestsStartMarker::new();
#[used]
#[unsafe(link_section = ".requests")]
static REVISION: BaseRevision = BaseRevision::new();
#[used]
#[unsafe(link_section = ".requests")]
static HHDM: HhdmRequest = HhdmRequest::new();
#[used]
#[unsafe(link_section = ".requests_end")]
static END: RequestsEndMarker = RequestsEndMarker::new();

#[unsafe(no_mangle)]
extern "C" fn kmain() -> ! {
    assert!(REVISION.is_supported(), "the boot loader is too old");
    let hhdm = HHDM.get_response().expect("the boot loader maps physical memory");
    exceptions::install();
    println!("open for business, physical memory is at {:#x}", hhdm.offset());
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
    serial::out(0xf4, 50);
    loop {
        core::hint::spin_loop();
    }
}
