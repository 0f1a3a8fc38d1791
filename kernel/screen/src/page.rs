//! A page of lines: the visible lines, and the chosen frame.

use core::fmt::Write;

use embedded_graphics::pixelcolor::Rgb888;

use crate::lines::{Kind, Line, Lines};
use crate::pen::{BACKGROUND, PLAIN, Pen};
use crate::text::Text;

const CHOSEN: Rgb888 = Rgb888::new(0x2c, 0x3c, 0x6c);

/// The color of a line.
pub(crate) const fn color(kind: Kind) -> Rgb888 {
    match kind {
        Kind::Cause => Rgb888::new(0xff, 0xd8, 0x60),
        Kind::Frame(_) => PLAIN,
        Kind::OfFrame | Kind::Other => Rgb888::new(0x90, 0xa4, 0xc8),
        Kind::Between => Rgb888::new(0xf0, 0xa0, 0x50),
        Kind::Complete => Rgb888::new(0x70, 0xd8, 0x80),
        Kind::NotComplete => Rgb888::new(0xff, 0x70, 0x60),
    }
}

/// Writes a line with its color.
pub(crate) fn write(pen: &mut Pen, line: &Line<'_>) {
    pen.color = color(line.kind);
    line.bytes
        .characters()
        .for_each(|character| pen.put(character));
    pen.end_line();
}

/// A page of a report, as somebody looks at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// It shows what failed; otherwise the other CPUs and tasks.
    pub(crate) is_first: bool,
    /// The chosen frame, by its place among the frames of the page.
    chosen: usize,
    /// The rows above the screen.
    above: u32,
}

impl Page {
    pub(crate) const fn new(is_first: bool) -> Self {
        Self {
            is_first,
            chosen: 0,
            above: 0,
        }
    }

    fn lines<'a>(&self, report: &'a Text) -> impl Iterator<Item = Line<'a>> + use<'a> {
        let is_first = self.is_first;
        Lines::new(report).filter(move |line| line.is_first == is_first)
    }

    /// Whether there is anything on it.
    pub(crate) fn has_lines(&self, report: &Text) -> bool {
        self.lines(report).next().is_some()
    }

    /// Chooses the frame that is `by` frames further down, or the last or first one. On a page without frames goes on by as many rows.
    pub(crate) fn go(&mut self, report: &Text, by: isize) {
        let is_frame = |line: &Line<'_>| matches!(line.kind, Kind::Frame(_));
        let frames = self.lines(report).filter(is_frame).count();
        match frames.checked_sub(1) {
            Some(last) => self.chosen = self.chosen.saturating_add_signed(by).min(last),
            None => self.above = self.above.saturating_add_signed(by as i32),
        }
    }

    /// Draws it into these rows of the screen.
    pub(crate) fn draw(&mut self, pen: &mut Pen, rows: (u32, u32), report: &Text) {
        // Nothing is drawn into a window without rows: this only counts.
        let all = self.pass(pen, (rows.0, rows.0), report);
        let height = rows.1.saturating_sub(rows.0);
        if let Some((first, end)) = all.chosen {
            // With the first frame there is what stands before it, with the last one what stands behind.
            let end = if self.chosen + 1 == all.frames {
                all.rows
            } else {
                end
            };
            let least = end.saturating_sub(height).min(first);
            let most = if self.chosen == 0 { least } else { first };
            self.above = self.above.clamp(least, most);
        }
        self.above = self.above.min(all.rows.saturating_sub(height));
        pen.window(rows, self.above);
        pen.background = BACKGROUND;
        pen.clear();
        self.pass(pen, rows, report);
    }

    /// Writes all lines.
    fn pass(&self, pen: &mut Pen, rows: (u32, u32), report: &Text) -> Passed {
        pen.window(rows, self.above);
        let mut passed = Passed::default();
        let mut is_chosen = false;
        for line in self.lines(report) {
            is_chosen = match line.kind {
                Kind::Frame(_) => {
                    passed.frames += 1;
                    passed.frames == self.chosen + 1
                }
                Kind::OfFrame => is_chosen,
                _ => false,
            };
            pen.background = match is_chosen {
                true => CHOSEN,
                false => BACKGROUND,
            };
            let begin = pen.written();
            write(pen, &line);
            if is_chosen {
                let first = passed.chosen.map_or(begin, |(first, _)| first);
                passed.chosen = Some((first, pen.written()));
            }
        }
        pen.background = BACKGROUND;
        if self.is_first == (Lines::new(report).all(|line| line.is_first)) && report.lost() > 0 {
            pen.color = color(Kind::NotComplete);
            // Writing to the screen never fails.
            let _ = writeln!(
                pen,
                "{lost} more bytes of the report did not fit into memory",
                lost = report.lost()
            );
        }
        passed.rows = pen.written();
        passed
    }

    /// The chosen frame: its lines are written by `pen`. Returns its address.
    pub(crate) fn write_chosen(&self, pen: &mut Pen, report: &Text) -> Option<u64> {
        let mut frames = self
            .lines(report)
            .skip_while(|line| !matches!(line.kind, Kind::Frame(_)));
        let mut left = self.chosen;
        let frame = frames.find(|line| match line.kind {
            Kind::Frame(_) if left == 0 => true,
            Kind::Frame(_) => {
                left -= 1;
                false
            }
            _ => false,
        })?;
        write(pen, &frame);
        let more = frames.take_while(|line| line.kind == Kind::OfFrame);
        more.for_each(|line| write(pen, &line));
        match frame.kind {
            Kind::Frame(pc) => Some(pc),
            _ => None,
        }
    }
}

/// What writing a page has shown.
#[derive(Default)]
struct Passed {
    rows: u32,
    frames: usize,
    /// The first row of the chosen frame, and the one behind the last.
    chosen: Option<(u32, u32)>,
}
