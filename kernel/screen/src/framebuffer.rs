//! The pixels of a screen in memory.

use core::convert::Infallible;

use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::{DrawTarget, OriginDimensions, Pixel, Point, RgbColor, Size};
use embedded_graphics::primitives::Rectangle;

/// The limit of pixels in one direction, more than any screen has. Sums and products of such numbers fit into 31 bits.
const LONGEST: u32 = 1 << 15;

/// The order of a pixel's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Red, green, blue, then any other bytes.
    Rgb,
    /// Blue, green, red, then any other bytes. Most PCs have this order; it is also the order of `XRGB8888` as a little-endian word.
    Bgr,
}

/// The layout of pixels in memory.
///
/// ```
/// use screen::{Layout, Order};
///
/// // 1024 by 768 pixels of 32 bits, without bytes between lines.
/// let layout = Layout { width: 1024, height: 768, stride: 4096, bytes_per_pixel: 4, order: Order::Bgr };
/// assert_eq!(layout.stride, layout.width as usize * layout.bytes_per_pixel);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The pixels in a line.
    pub width: u32,
    /// The number of lines.
    pub height: u32,
    /// The bytes from the start of one line to the start of the next.
    pub stride: usize,
    /// The bytes of a pixel, at least 3.
    pub bytes_per_pixel: usize,
    /// The order of a pixel's bytes.
    pub order: Order,
}

/// A framebuffer. Only one CPU at a time should draw on it.
#[derive(Clone, Copy, Debug)]
pub struct Framebuffer {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: the value is an address and numbers. Each write is to bytes to which no reference leads: the caller of `new` guarantees it. Two
// CPUs that draw at the same time only mix up the picture.
unsafe impl Send for Framebuffer {}
// SAFETY: see above.
unsafe impl Sync for Framebuffer {}

impl Framebuffer {
    /// Creates the framebuffer that begins at the address `start`.
    ///
    /// Returns `None` if `layout` is impossible: no pixels, more than 32,768 pixels in a line or more than 32,768 lines, a line longer than
    /// the stride, or pixels of less than 3 bytes.
    ///
    /// ```
    /// use screen::{Framebuffer, Layout, Order};
    ///
    /// let mut pixels = [0_u8; 16 * 64];
    /// let layout = Layout { width: 16, height: 16, stride: 64, bytes_per_pixel: 4, order: Order::Rgb };
    /// // SAFETY: the array has `height` times `stride` bytes, and is not used otherwise.
    /// let framebuffer = unsafe { Framebuffer::new(pixels.as_mut_ptr(), layout) };
    /// assert!(framebuffer.is_some());
    /// ```
    ///
    /// # Safety
    /// The caller must guarantee that `height` times `stride` bytes at `start` are a framebuffer that may be written to at any time from
    /// now on, and that no reference leads to these bytes.
    #[must_use]
    pub unsafe fn new(start: *mut u8, layout: Layout) -> Option<Self> {
        let line = (layout.width as usize).checked_mul(layout.bytes_per_pixel)?;
        let all = layout.stride.checked_mul(layout.height as usize)?;
        let sides = [layout.width, layout.height];
        let is_screen = sides.iter().all(|side| (1..=LONGEST).contains(side));
        let fits = is_screen && line <= layout.stride && layout.bytes_per_pixel >= 3;
        (fits && isize::try_from(all).is_ok()).then_some(Self { start, layout })
    }

    /// Writes one pixel, if there is one at this place.
    fn put(&self, at: Point, color: Rgb888) {
        let Layout {
            width,
            height,
            stride,
            bytes_per_pixel,
            order,
        } = self.layout;
        let (Ok(x), Ok(y)) = (u32::try_from(at.x), u32::try_from(at.y)) else {
            return;
        };
        if x >= width || y >= height {
            return;
        }
        let bytes = match order {
            Order::Rgb => [color.r(), color.g(), color.b(), 0],
            Order::Bgr => [color.b(), color.g(), color.r(), 0],
        };
        let offset = y as usize * stride + x as usize * bytes_per_pixel;
        // SAFETY: the pixel begins in line `y` of `height`, and ends before the end of the line's stride, because `new` has checked
        // `width`. Therefore the bytes are in the framebuffer, and the caller of `new` guarantees that it may be written to. The word is
        // aligned.
        unsafe {
            let pixel = self.start.add(offset);
            if bytes_per_pixel == 4 && pixel.cast::<u32>().is_aligned() {
                // One access, four times as fast where the memory is a device's.
                pixel
                    .cast::<u32>()
                    .write_volatile(u32::from_ne_bytes(bytes));
            } else {
                for (index, byte) in bytes.into_iter().take(3).enumerate() {
                    pixel.add(index).write_volatile(byte);
                }
            }
        }
    }
}

impl OriginDimensions for Framebuffer {
    fn size(&self) -> Size {
        Size::new(self.layout.width, self.layout.height)
    }
}

impl DrawTarget for Framebuffer {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Infallible> {
        pixels
            .into_iter()
            .for_each(|Pixel(at, color)| self.put(at, color));
        Ok(())
    }

    fn fill_solid(&mut self, area: &Rectangle, color: Rgb888) -> Result<(), Infallible> {
        let all = Rectangle::new(Point::zero(), self.size());
        let area = area.intersection(&all);
        for y in area.rows() {
            for x in area.columns() {
                self.put(Point::new(x, y), color);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(width: u32, bytes_per_pixel: usize, order: Order) -> Layout {
        Layout {
            width,
            height: 2,
            stride: 16,
            bytes_per_pixel,
            order,
        }
    }

    /// What the pixel at (1, 1) of a framebuffer makes of its bytes, with a byte before and behind.
    fn drawn(bytes_per_pixel: usize, order: Order) -> [u8; 34] {
        let mut bytes = [7; 34];
        // SAFETY: 32 bytes, from the second on, are written to while nothing else uses them.
        let framebuffer = unsafe {
            Framebuffer::new(bytes.as_mut_ptr().add(1), layout(3, bytes_per_pixel, order))
        };
        let mut framebuffer = framebuffer.expect("a line fits");
        let color = Rgb888::new(1, 2, 3);
        let points = [(1, 1), (3, 1), (1, 2), (-1, 0), (i32::MAX, i32::MAX)];
        let pixels = points.map(|(x, y)| Pixel(Point::new(x, y), color));
        framebuffer.draw_iter(pixels).expect("it cannot fail");
        bytes
    }

    #[test]
    fn a_pixel_is_written_where_it_is_and_nothing_else() {
        for (size, order, expected) in [
            (3, Order::Rgb, [1, 2, 3]),
            (3, Order::Bgr, [3, 2, 1]),
            (4, Order::Bgr, [3, 2, 1]),
        ] {
            let bytes = drawn(size, order);
            let at = 1 + 16 + size;
            assert_eq!(bytes[at..at + 3], expected);
            let others = bytes[..at].iter().chain(&bytes[at + size..]);
            assert!(others.clone().all(|byte| *byte == 7), "{bytes:?}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |layout| {
            // SAFETY: nothing is drawn.
            unsafe { Framebuffer::new(core::ptr::null_mut(), layout) }.is_none()
        };
        assert!(refused(layout(6, 3, Order::Rgb)));
        assert!(!refused(layout(5, 3, Order::Rgb)));
        assert!(refused(layout(3, 2, Order::Rgb)));
        assert!(refused(layout(u32::MAX, usize::MAX, Order::Rgb)));
        assert!(refused(layout(0, 3, Order::Rgb)));
        let of = |height, stride| Layout {
            height,
            stride,
            ..layout(1, 4, Order::Rgb)
        };
        assert!(refused(of(2, usize::MAX)));
        assert!(refused(of(0, 4)));
        assert!(refused(of(u32::MAX, 4)));
        assert!(!refused(of(1 << 15, 4)));
    }
}
