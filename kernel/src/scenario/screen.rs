//! A screen that is none.

use core::ptr::without_provenance_mut;

use screen::{Framebuffer, Layout, Order};

use crate::crash_screen::SCREEN;

/// Panics with a framebuffer at an address where nothing is mapped: the first pixel of the report raises an exception.
pub fn is_none() {
    let layout = Layout {
        width: 640,
        height: 480,
        stride: 640 * 4,
        bytes_per_pixel: 4,
        order: Order::Bgr,
    };
    // SAFETY: nothing is at these addresses, so what is written there harms nothing: it raises an exception, as is wanted.
    let framebuffer = unsafe { Framebuffer::new(without_provenance_mut(0x1000), layout) };
    SCREEN.set(framebuffer.expect("a line fits"));
    panic!("the report of this panic cannot be drawn on the screen");
}
