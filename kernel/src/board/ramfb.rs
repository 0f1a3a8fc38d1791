//! QEMU's `ramfb`: a screen whose pixels are in the kernel's own memory (`-device ramfb`). Source: QEMU, `hw/display/ramfb.c`.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use screen::{Framebuffer, Layout, Order};

use super::fw_cfg::{self, FwCfg};
use crate::arch::mmu;

const WIDTH: u32 = 1024;
const HEIGHT: u32 = 768;
const BYTES_PER_PIXEL: usize = 4;
const STRIDE: usize = WIDTH as usize * BYTES_PER_PIXEL;

/// The format `XRGB8888` of Linux' `drm_fourcc.h`: words of 32 bits, little-endian, with blue in the lowest byte.
const XRGB8888: u32 = u32::from_le_bytes(*b"XR24");

/// Memory for pixels.
#[repr(C, align(4096))]
struct Pixels(UnsafeCell<[u8; STRIDE * HEIGHT as usize]>);

// SAFETY: nobody reads or writes it but by the address that `set_up` hands out.
unsafe impl Sync for Pixels {}

/// Its section is in no segment of the image, so that a boot neither loads nor clears it.
#[unsafe(link_section = ".framebuffer")]
static PIXELS: Pixels = Pixels(UnsafeCell::new([0; STRIDE * HEIGHT as usize]));

/// The screen, if the machine has one.
pub fn set_up(device: &dyn FwCfg) -> Option<Framebuffer> {
    static CONFIG: [AtomicU32; 7] = [const { AtomicU32::new(0) }; 7];
    let item = fw_cfg::file(device, b"etc/ramfb")?;
    let start = PIXELS.0.get();
    let address = mmu::physical_address(start as u64);
    let (high, low) = ((address >> 32) as u32, address as u32);
    // The address, the format, flags, the width, the height, the stride.
    let config = [high, low, XRGB8888, 0, WIDTH, HEIGHT, STRIDE as u32];
    for (word, value) in CONFIG.iter().zip(config) {
        word.store(value.to_be(), Ordering::Relaxed);
    }
    if !fw_cfg::write(device, item, &CONFIG) {
        return None;
    }
    let layout = Layout {
        width: WIDTH,
        height: HEIGHT,
        stride: STRIDE,
        bytes_per_pixel: BYTES_PER_PIXEL,
        order: Order::Bgr,
    };
    // SAFETY: the static has `HEIGHT` times `STRIDE` bytes, is never freed, and nothing refers to its content.
    unsafe { Framebuffer::new(start.cast(), layout) }
}
