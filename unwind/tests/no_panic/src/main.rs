//! Every public function of `unwind`, linked against a panic that is nowhere defined.
//!
//! The panic handler calls `a_panic_is_reachable`, which no object has. The handler itself is only linked when something
//! can reach it, so this image links if, and only if, the optimiser proved that nothing in it panics. It has the address of
//! each function, so that nothing is known of the arguments: see `build.rs`.
#![no_std]
#![no_main]

mod by_hand;

/// Made by `build.rs`.
mod roots {
    include!(concat!(env!("OUT_DIR"), "/roots.rs"));
}

unsafe extern "C" {
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: never linked, so never called.
    unsafe { a_panic_is_reachable() }
}

/// The image's entry: a linker root that has the address of everything.
#[unsafe(no_mangle)]
pub extern "C" fn everything() {
    #[cfg(feature = "panics")]
    core::hint::black_box(by_hand::panics as *const ());
    roots::all();
}
