//! What differs between machines of one architecture: the serial port, the command line, the list of CPUs, the button, the screen.

#[cfg(not(target_arch = "arm"))]
mod fw_cfg;
#[cfg(not(target_arch = "arm"))]
mod ramfb;

#[cfg(target_arch = "x86_64")]
mod keyboard;
#[cfg(target_arch = "x86_64")]
mod pc;
#[cfg(target_arch = "x86_64")]
pub use pc::*;

#[cfg(target_arch = "arm")]
mod mini_uart;
#[cfg(target_arch = "arm")]
mod pl011;
#[cfg(target_arch = "arm")]
mod port;
#[cfg(target_arch = "arm")]
mod registers;
#[cfg(target_arch = "arm")]
mod virt32;
#[cfg(target_arch = "arm")]
pub use virt32::*;

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "aarch64")]
mod button;
#[cfg(target_arch = "aarch64")]
mod mailbox;
#[cfg(target_arch = "aarch64")]
mod mini_uart;
#[cfg(target_arch = "aarch64")]
mod pl011;
#[cfg(target_arch = "aarch64")]
mod port;
#[cfg(target_arch = "aarch64")]
mod raspi;
#[cfg(target_arch = "aarch64")]
mod raspi3;
#[cfg(target_arch = "aarch64")]
mod raspi4;
#[cfg(target_arch = "aarch64")]
mod registers;
#[cfg(target_arch = "aarch64")]
mod virt;
#[cfg(target_arch = "aarch64")]
pub use arm::*;
