//! The report of a dying kernel on a framebuffer: pages, keys and a QR code.
//!
//! A kernel has one [`Screen`], in a static. At boot it sets the framebuffer ([`Screen::set`]). When a report begins, it calls
//! [`Screen::begin`], passes the report's text to [`Screen::write`], and calls [`Screen::end`] at the end. The last step is
//! [`Screen::show`].
//!
//! Nothing is drawn before `show`. Therefore a serial line has the whole report before anything can fail in drawing. A report that was not
//! completed is shown as far as it was written.
//!
//! Keys turn the pages of the report, and choose a frame, whose code is shown. A QR code contains the report's first lines, and the callers
//! in a compact form, for a phone.
//!
//! Nothing in this crate allocates or takes a lock. Only [`Screen::show`] waits, for keys. The lines on the screen are the lines of the report,
//! folded if they are too long.
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

// Compiles the example of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
