//! A QR code of the failure: the first lines of the report, and the callers.

use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::{Point, RgbColor, Size};
use embedded_graphics::primitives::Rectangle;
use qrcodegen_no_heap::{QrCode, QrCodeEcc, Version};

use crate::lines::{Kind, Line, Lines};
use crate::pen::Pen;
use crate::text::Text;

/// The largest code, 117 squares wide, which a phone still reads from a screen.
const LARGEST: Version = Version::new(25);

/// Bytes that it holds (ISO/IEC 18004, table 7: version 25, level L).
const CAPACITY: usize = 1273;

/// What the text ends with where something is left out.
const CUT: &[u8] = b"... the rest of the report is on the screen\n";

/// The light squares around a code (ISO/IEC 18004, section 9.1).
const QUIET: u32 = 4;

/// What a code says.
struct Message {
    bytes: [u8; LARGEST.buffer_len()],
    length: usize,
}

impl Message {
    /// The first lines of the report without registers and frames, and the callers in the compact form; or, if there is none, as the report has them.
    fn new(report: &Text, compact: &Text) -> Self {
        let mut message = Self {
            bytes: [0; LARGEST.buffer_len()],
            length: 0,
        };
        let has_compact = compact.from(0).len() > 0;
        let is_left_out = |line: &Line<'_>| {
            // Registers; and the cause once more.
            let begins = ["  ", "code:", "first failure: "];
            begins.iter().any(|words| line.bytes.starts_with(words))
        };
        let first = Lines::new(report).take_while(|line| line.is_first);
        let head = first.filter(|line| match line.kind {
            Kind::Cause => true,
            Kind::Other => !is_left_out(line),
            _ => !has_compact,
        });
        let lines = head.chain(Lines::new(compact));
        for line in lines {
            if !message.add(line.bytes.iter()) {
                message.cut();
                break;
            }
        }
        message
    }

    /// Adds a line, if the rest of the room is enough for it, and for the words that something is left out.
    fn add(&mut self, line: impl Iterator<Item = u8> + Clone) -> bool {
        let end = self.length + line.clone().count() + 1;
        if end + CUT.len() > CAPACITY {
            return false;
        }
        let slots = self.bytes.iter_mut().skip(self.length);
        for (slot, byte) in slots.zip(line.chain([b'\n'])) {
            *slot = byte;
        }
        self.length = end;
        true
    }

    fn cut(&mut self) {
        let slots = self.bytes.iter_mut().skip(self.length);
        for (slot, byte) in slots.zip(CUT) {
            *slot = *byte;
        }
        self.length += CUT.len();
    }
}

/// Draws the code into the window of `pen`, as large as it can be. Returns whether there was room for it.
///
/// Not inlined: the code takes 4 KB of stack, only as long as it is drawn.
#[inline(never)]
pub(crate) fn draw(pen: &mut Pen, report: &Text, compact: &Text) -> bool {
    let mut message = Message::new(report, compact);
    let mut code = [0; LARGEST.buffer_len()];
    let code = QrCode::encode_binary(
        &mut message.bytes,
        message.length,
        &mut code,
        QrCodeEcc::Low,
        Version::MIN,
        LARGEST,
        None,
        true,
    );
    // The text has room: it is not longer than the capacity.
    let Ok(code) = code else {
        return false;
    };
    let area = pen.area();
    let size = code.size() as u32;
    let squares = size + 2 * QUIET;
    let scale = area.size.width.min(area.size.height) / squares;
    if scale == 0 {
        return false;
    }
    let left = (area.size.width - scale * squares) / 2;
    let corner = area.top_left + Size::new(left, 0);
    let sheet = Size::new_equal(scale * squares);
    pen.fill(Rectangle::new(corner, sheet), Rgb888::WHITE);
    for (x, y) in (0..size).flat_map(|y| (0..size).map(move |x| (x, y))) {
        if code.get_module(x as i32, y as i32) {
            let at = Point::new(((x + QUIET) * scale) as i32, ((y + QUIET) * scale) as i32);
            pen.fill(
                Rectangle::new(corner + at, Size::new_equal(scale)),
                Rgb888::BLACK,
            );
        }
    }
    true
}
