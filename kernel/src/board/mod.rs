//! What differs between machines of one architecture: the serial port, the command line, the list of CPUs, the button, the screen.

mod fw_cfg;
mod ramfb;

#[cfg(target_arch = "x86_64")]
mod keyboard;
#[cfg(target_arch = "x86_64")]
mod pc;
#[cfg(target_arch = "x86_64")]
pub use pc::*;

#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
mod arms;
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
mod button;
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
mod mini_uart;
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
mod pl011;
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
mod port;
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
mod registers;
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
mod virt;
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
pub use arms::*;

#[cfg(target_arch = "arm")]
mod arm;
#[cfg(target_arch = "arm")]
use arm as of_arch;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
mod mailbox;
#[cfg(target_arch = "aarch64")]
mod raspi;
#[cfg(target_arch = "aarch64")]
mod raspi3;
#[cfg(target_arch = "aarch64")]
mod raspi4;
#[cfg(target_arch = "aarch64")]
mod raspi5;
#[cfg(target_arch = "aarch64")]
use aarch64 as of_arch;
