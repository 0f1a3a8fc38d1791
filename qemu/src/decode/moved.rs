//! How far an image lies from the addresses that it was linked for.

use super::line::{Line, begins_report, moved_by};
use super::symbolizer::Symbolizer;
use crate::machine::PAGE;
use crate::report::Frame;

/// The least distance of a kernel that moves although it is linked for one address, in bytes.
const LARGE_PAGE: u64 = 2 << 20;

/// Distances in bytes, modulo 2^64.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// As somebody has told.
    told: u64,
    /// As this report has shown: another one may be of another boot.
    by: u64,
    /// Number of the last frame.
    number: Option<u32>,
    /// A frame of this list has shown the distance, which is the same for all frames of the list.
    is_shown: bool,
}

impl Moved {
    /// So far, unless a report says something else.
    pub const fn by(bytes: u64) -> Self {
        Self {
            told: bytes,
            by: bytes,
            number: None,
            is_shown: false,
        }
    }

    /// What the image has linked for an address of the device.
    pub const fn linked(&self, address: u64) -> u64 {
        address.wrapping_sub(self.by)
    }

    /// The address of the device for one that the image was linked for.
    pub const fn lies_at(&self, linked: u64) -> u64 {
        linked.wrapping_add(self.by)
    }

    /// Forgets the last report's distance where another report begins, and takes what the line with its build says.
    pub fn begin(&mut self, text: &str, line: &Line<'_>) {
        let said = moved_by(text);
        if said.is_some() || begins_report(text) || matches!(line, Line::Build(_)) {
            self.by = said.unwrap_or(self.told);
            (self.number, self.is_shown) = (None, said.is_some());
        }
    }

    /// Learns from a frame that the device has named: of a function that is only once in the image. `is_of_image`: its build id is the image's.
    /// Otherwise only the first such frame of a list sets the distance, and a frame at another distance contradicts the image.
    pub fn learn(&mut self, frame: &Frame<'_>, symbolizer: &Symbolizer, is_of_image: bool) {
        let number = frame.number.trim_start().parse().ok();
        let is_next = number > self.number;
        self.number = number;
        self.is_shown &= is_next;
        if self.is_shown && !is_of_image {
            return;
        }
        let function = frame.named.as_ref().and_then(|named| {
            let function = symbolizer.find(named.source.name, named.size)?;
            // Another size is a sign of another build.
            let is_same = function.size == named.size;
            is_same.then(|| function.start.wrapping_add(named.offset))
        });
        if let Some(linked) = function {
            let by = frame.address.wrapping_sub(linked);
            // No loader moves an image by less than a page. A few pages in an image that does not move are the sign of another build.
            let least = match is_of_image || symbolizer.is_movable() {
                true => PAGE,
                false => LARGE_PAGE,
            };
            if by.is_multiple_of(least) {
                self.by = by;
                self.is_shown = true;
            }
        }
    }
}
