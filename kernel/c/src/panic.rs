//! What a panic in this library comes to, although none is known: a line in the report that it is in, and then the kernel's own
//! handler of exceptions. If that reports too, or returns, nothing more is written, so there is no circle.

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
