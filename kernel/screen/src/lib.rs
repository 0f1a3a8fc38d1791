//! The report of a dying kernel on a framebuffer, for a machine without a serial line.
//!
//! A kernel has one [`Screen`], in a static. It tells it at boot where the framebuffer is ([`Screen::set`]), when a report begins
//! ([`Screen::begin`]), passes on what is written ([`Screen::write`]), says when the report has ended ([`Screen::end`]), and as the last
//! thing of all has it shown ([`Screen::show`]). Up to then nothing is drawn: a serial line has the whole report before, and what fails in
//! drawing fails after it. A report that has failed half way is shown as far as it came.
//!
//! It is paged through by keys, from frame to frame, with the code around each; and a QR code takes its first lines, and the callers in a
//! compact form, to a phone.
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

// Its example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
