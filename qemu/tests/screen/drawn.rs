//! Reads a picture: its characters, by comparing each cell with the font's glyphs, and its QR code.

use std::collections::HashMap;

use embedded_graphics::geometry::{OriginDimensions, Point};
use embedded_graphics::image::GetPixel;
use embedded_graphics::mono_font::MonoFont;
use embedded_graphics::mono_font::iso_8859_1::{FONT_8X13, FONT_10X20};

/// A picture of a screen.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    pub width: usize,
    pub height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// Reads QEMU's own format: `P6`, width, height, 255, then three bytes for each pixel.
    pub fn parse(ppm: &[u8]) -> Self {
        let mut words = ppm.splitn(4, |byte| byte.is_ascii_whitespace());
        let mut word = || words.next().expect("a head of four words");
        assert_eq!(word(), b"P6");
        let [width, height] = [word(), word()].map(|word| {
            let word = str::from_utf8(word).expect("digits");
            word.parse().expect("a number")
        });
        let pixels = word().strip_prefix(b"255\n").expect("bytes");
        let (pixels, rest) = pixels.as_chunks();
        assert_eq!((pixels.len(), rest.len()), (width * height, 0));
        Self {
            width,
            height,
            pixels: pixels.to_vec(),
        }
    }

    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        self.pixels[y * self.width + x]
    }

    /// The font that a screen of this width has.
    fn font(&self) -> &'static MonoFont<'static> {
        match self.width {
            1024 => &FONT_8X13,
            1280 => &FONT_10X20,
            width => panic!("a screen of {width} pixels"),
        }
    }

    /// Width and height of a character.
    fn cell(&self) -> (usize, usize) {
        let size = self.font().character_size;
        (size.width as usize, size.height as usize)
    }

    /// Characters of a row.
    pub fn columns(&self) -> usize {
        self.width / self.cell().0
    }

    /// What the first row of a line has, which may be folded.
    pub fn first_row(&self, line: &str) -> String {
        let row: String = line.chars().take(self.columns()).collect();
        row.trim_end().to_owned()
    }

    /// Whether the first line ends with this title, which the kernel draws last.
    pub fn has_title(&self, title: &str) -> bool {
        self.lines()[0].ends_with(title)
    }

    /// The lines of text, without spaces at their ends. A cell that is no glyph in one color on another is U+FFFD.
    pub fn lines(&self) -> Vec<String> {
        let glyphs = glyphs(self.font());
        let (width, height) = self.cell();
        let rows = 0..self.height / height;
        let line = |row| {
            let cells = 0..self.columns();
            let text: String = cells
                .map(|column| self.character(&glyphs, column * width, row * height))
                .collect();
            text.trim_end().to_owned()
        };
        rows.map(line).collect()
    }

    fn character(&self, glyphs: &HashMap<Vec<bool>, char>, left: usize, top: usize) -> char {
        let (width, height) = self.cell();
        let cell: Vec<[u8; 3]> = (0..height)
            .flat_map(|y| (0..width).map(move |x| (x, y)))
            .map(|(x, y)| self.at(left + x, top + y))
            .collect();
        let background = cell[0];
        let Some(color) = cell.iter().find(|pixel| **pixel != background) else {
            return ' ';
        };
        let is_either = |pixel: &[u8; 3]| pixel == color || *pixel == background;
        if !cell.iter().all(is_either) {
            return char::REPLACEMENT_CHARACTER;
        }
        let is_set: Vec<bool> = cell.iter().map(|pixel| pixel == color).collect();
        // Where the first pixel belongs to the glyph, the two colors are the other way round.
        let inverse = is_set.iter().map(|is_set| !is_set).collect::<Vec<bool>>();
        let found = glyphs.get(&is_set).or_else(|| glyphs.get(&inverse));
        found.copied().unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// The text of the QR code on it.
    pub fn qr(&self) -> String {
        let bright = |x: usize, y: usize| self.at(x, y)[1];
        let mut image =
            rqrr::PreparedImage::prepare_from_greyscale(self.width, self.height, bright);
        let codes = image.detect_grids();
        assert_eq!(codes.len(), 1, "codes on the screen");
        let (_, text) = codes[0].decode().expect("it can be read");
        text
    }
}

/// The glyphs of ASCII, from the font's own picture, by which pixels are set.
fn glyphs(font: &MonoFont<'_>) -> HashMap<Vec<bool>, char> {
    let (width, height) = (font.character_size.width, font.character_size.height);
    let per_row = font.image.size().width / width;
    let glyph = |character: char| {
        let index = u32::from(character) - u32::from(' ');
        let corner = Point::new(
            (index % per_row * width) as i32,
            (index / per_row * height) as i32,
        );
        let columns = 0..width as i32;
        let points =
            (0..height as i32).flat_map(|y| columns.clone().map(move |x| Point::new(x, y)));
        let pixel = |point: Point| font.image.pixel(corner + point).expect("a pixel").is_on();
        (points.map(pixel).collect::<Vec<bool>>(), character)
    };
    let glyphs: HashMap<_, _> = ('!'..='~').map(glyph).collect();
    assert_eq!(glyphs.len(), 94, "no two look the same");
    glyphs
}
