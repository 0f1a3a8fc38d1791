//! Characters in rows and columns on a framebuffer.

use core::fmt;

use embedded_graphics::mono_font::iso_8859_1::{FONT_6X10, FONT_8X13, FONT_10X20};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyleBuilder};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::{DrawTarget, Drawable, OriginDimensions, Point, Size};
use embedded_graphics::primitives::Rectangle;
use embedded_graphics::text::{Baseline, Text};

use crate::framebuffer::Framebuffer;

/// The columns by which the rest of a folded line is indented.
const INDENT: u32 = 8;

pub(crate) const BACKGROUND: Rgb888 = Rgb888::new(0x0c, 0x12, 0x24);
pub(crate) const PLAIN: Rgb888 = Rgb888::new(0xd8, 0xdc, 0xe4);

/// Writes characters, folds lines that are too long, and draws those rows that are in a window.
#[derive(Debug)]
pub(crate) struct Pen {
    target: Framebuffer,
    font: &'static MonoFont<'static>,
    /// The first row of the screen to draw on, and the one behind the last.
    window: (u32, u32),
    /// How many rows of what is written lie above the window.
    above: u32,
    /// The row of what is written, and the column.
    row: u32,
    column: u32,
    pub(crate) color: Rgb888,
    pub(crate) background: Rgb888,
}

impl Pen {
    /// A pen for the whole screen. Of three fonts the largest with which a line has 128 columns, if there is one.
    pub(crate) fn new(target: Framebuffer) -> Self {
        let fonts = [&FONT_10X20, &FONT_8X13];
        let width = target.size().width;
        let fits = |font: &&&MonoFont<'_>| font.character_size.width * 128 <= width;
        let font = fonts.iter().find(fits).copied().unwrap_or(&FONT_6X10);
        let rows = target.size().height / font.character_size.height;
        Self {
            target,
            font,
            window: (0, rows),
            above: 0,
            row: 0,
            column: 0,
            color: PLAIN,
            background: BACKGROUND,
        }
    }

    /// Draws on these rows of the screen from now on, but not the first `above` of what is written.
    pub(crate) const fn window(&mut self, (first, end): (u32, u32), above: u32) {
        self.window = (first, end);
        self.above = above;
        self.row = 0;
        self.column = 0;
    }

    /// The columns of a row.
    pub(crate) fn columns(&self) -> u32 {
        self.target.size().width / self.font.character_size.width
    }

    /// The rows of the screen.
    pub(crate) fn rows(&self) -> u32 {
        self.target.size().height / self.font.character_size.height
    }

    /// How many rows were written, with the one that is being written.
    pub(crate) fn written(&self) -> u32 {
        self.row + u32::from(self.column > 0)
    }

    /// The row of the screen that is being written to, if it is in the window.
    fn visible(&self) -> Option<u32> {
        let row = self
            .row
            .checked_sub(self.above)?
            .checked_add(self.window.0)?;
        (row < self.window.1).then_some(row)
    }

    /// Fills the window with the background.
    pub(crate) fn clear(&mut self) {
        let (first, end) = self.window;
        let height = self.font.character_size.height;
        // The last row goes to the end of the screen.
        let bottom = match end >= self.rows() {
            true => self.target.size().height,
            false => end * height,
        };
        let top = first * height;
        let size = Size::new(self.target.size().width, bottom.saturating_sub(top));
        self.fill(
            Rectangle::new(Point::new(0, top as i32), size),
            self.background,
        );
    }

    /// Fills pixels.
    pub(crate) fn fill(&mut self, area: Rectangle, color: Rgb888) {
        let Ok(()) = self.target.fill_solid(&area, color);
    }

    /// The pixels of the window.
    pub(crate) fn area(&self) -> Rectangle {
        let height = self.font.character_size.height;
        let (first, end) = self.window;
        let size = Size::new(self.target.size().width, end.saturating_sub(first) * height);
        Rectangle::new(Point::new(0, (first * height) as i32), size)
    }

    /// Ends a line, and fills the rest of its row.
    pub(crate) fn end_line(&mut self) {
        if let Some(row) = self.visible() {
            let Size { width, height } = self.font.character_size;
            let corner = Point::new((self.column * width) as i32, (row * height) as i32);
            let rest = Size::new(self.target.size().width, height);
            self.fill(Rectangle::new(corner, rest), self.background);
        }
        self.row += 1;
        self.column = 0;
    }

    pub(crate) fn put(&mut self, character: char) {
        if character == '\n' {
            self.end_line();
            return;
        }
        if self.column >= self.columns() {
            self.end_line();
            for _ in 0..INDENT.min(self.columns() / 4) {
                self.draw(' ');
            }
        }
        self.draw(character);
    }

    fn draw(&mut self, character: char) {
        if let Some(row) = self.visible() {
            let Size { width, height } = self.font.character_size;
            let corner = Point::new((self.column * width) as i32, (row * height) as i32);
            let style = MonoTextStyleBuilder::new()
                .font(self.font)
                .text_color(self.color)
                .background_color(self.background)
                .build();
            let mut bytes = [0; 4];
            let text = character.encode_utf8(&mut bytes);
            let text = Text::with_baseline(text, corner, style, Baseline::Top);
            let Ok(_) = text.draw(&mut self.target);
        }
        self.column += 1;
    }
}

impl fmt::Write for Pen {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().for_each(|character| self.put(character));
        Ok(())
    }
}
