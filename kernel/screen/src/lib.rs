//! The report of a dying kernel on a framebuffer, for a machine without a serial line.
//!
//! While the report is written each line of it is drawn as soon as it is there: a report that fails half way is on the screen as far as it
//! came. Afterwards it can be paged through by keys, one frame after the other, with the code around each; and a QR code
//! takes its first lines, and the callers in a compact form, to a phone.
//!
//! A kernel has one [`Screen`], in a static. It tells it at boot where the framebuffer is ([`Screen::set`]), when a report begins
//! ([`Screen::begin`]), passes on what is written ([`Screen::write`]), and at last has it [shown](Screen::show).
//!
//! Nothing here allocates, takes a lock or waits, except [`Screen::show`] for keys. What the report says is not changed: the lines on the
//! screen are those of the serial line, folded where they are too long.
#![no_std]

mod framebuffer;
mod key;
mod lines;
mod page;
mod pen;
mod qr;
mod screen;
mod text;

pub use framebuffer::{Framebuffer, Layout, Order};
pub use key::Key;
pub use screen::{Code, Screen};
pub use text::Text;
