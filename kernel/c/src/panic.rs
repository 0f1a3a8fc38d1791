//! The result of a panic in this library, although no panic is known: a line in the current report, and then an exception for the kernel's
//! own handler. If that handler reports too, or returns, nothing more is written, so that no loop results.

use core::arch::asm;
use core::panic::PanicInfo;

use crate::out::Out;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    postmortem::print(&mut Out::last(), info);
    postmortem::print_no_more();
    loop {
        // SAFETY: `ud2` and `udf` change no register and no memory; they only raise an exception.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            asm!("ud2", options(nomem, nostack));
            #[cfg(target_arch = "aarch64")]
            asm!("udf #0", options(nomem, nostack));
        }
    }
}
