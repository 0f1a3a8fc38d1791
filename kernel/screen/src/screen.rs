//! A report on the screen: kept while it is written, and paged through afterwards.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

use spin::Once;

use crate::framebuffer::Framebuffer;
use crate::key::Key;
use crate::lines::Kind;
use crate::page::{self, Page};
use crate::pen::{BACKGROUND, PLAIN, Pen};
use crate::qr;
use crate::text::Text;

/// A function that writes the code around an address. It returns an error if the writer does.
pub type Code<'a> = &'a dyn Fn(&mut dyn Write, u64) -> fmt::Result;

/// The report of a dying kernel, and the screen that shows it. Use it as a static.
///
/// ```
/// use core::sync::atomic::AtomicU8;
/// use screen::{Screen, Text};
///
/// static SCREEN: Screen = {
///     static REPORT: [AtomicU8; 64 << 10] = [const { AtomicU8::new(0) }; 64 << 10];
///     static COMPACT: [AtomicU8; 4 << 10] = [const { AtomicU8::new(0) }; 4 << 10];
///     Screen::new(Text::new(&REPORT), Text::new(&COMPACT))
/// };
///
/// SCREEN.begin();
/// SCREEN.write(b"panicked at src/main.rs:1:1\n");
/// SCREEN.end();
/// // Without a framebuffer, this returns immediately.
/// SCREEN.show(&|_, _| Ok(()), &mut || None);
/// ```
#[derive(Debug)]
pub struct Screen {
    framebuffer: Once<Framebuffer>,
    report: Text,
    /// The callers in a compact form, for the QR code.
    compact: Text,
    /// What is written is the report.
    is_open: AtomicBool,
    has_begun: AtomicBool,
    is_shown: AtomicBool,
}

impl Screen {
    /// Creates a screen without a framebuffer.
    ///
    /// The report is kept in `report`, and the callers for the QR code in `compact`. 64 KiB and 4 KiB are enough for most reports.
    #[must_use]
    pub const fn new(report: Text, compact: Text) -> Self {
        Self {
            framebuffer: Once::new(),
            report,
            compact,
            is_open: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            is_shown: AtomicBool::new(false),
        }
    }

    /// Sets the framebuffer. Only the first call has an effect.
    pub fn set(&self, framebuffer: Framebuffer) {
        self.framebuffer.call_once(|| framebuffer);
    }

    /// Returns whether a framebuffer is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.framebuffer.is_completed()
    }

    /// Begins a report: discards the previous report, and keeps the text of [`Self::write`] from now on.
    pub fn begin(&self) {
        self.report.clear();
        self.compact.clear();
        self.has_begun.store(true, Ordering::Relaxed);
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// Ends the report: text of [`Self::write`] from now on is not kept.
    pub fn end(&self) {
        self.is_open.store(false, Ordering::Relaxed);
    }

    /// Keeps text of the report. Does nothing without a framebuffer, before a report [begins](Self::begin), or after the report's
    /// [end](Self::end).
    pub fn write(&self, text: &[u8]) {
        if self.is_open.load(Ordering::Relaxed) && self.is_set() {
            self.report.append(text);
        }
    }

    /// Calls `write` to get the callers in a compact form, for the QR code. Only the first call in a report that writes text has an effect,
    /// because the first trace of a report belongs to the failure.
    ///
    /// # Errors
    /// Returns an error if `write` does.
    pub fn compact(&self, write: impl FnOnce(&mut dyn Write) -> fmt::Result) -> fmt::Result {
        struct Appended<'a>(&'a Text);
        impl Write for Appended<'_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0.append(text.as_bytes());
                Ok(())
            }
        }
        let is_wanted = self.is_open.load(Ordering::Relaxed) && self.is_set();
        match is_wanted && self.compact.from(0).len() == 0 {
            true => write(&mut Appended(&self.compact)),
            false => Ok(()),
        }
    }

    /// Draws the report, and shows its pages until a key requests the end.
    ///
    /// Returns immediately if there is no framebuffer, if no report has begun, or if the function was called before: a second call means
    /// that drawing has faulted or panicked.
    ///
    /// `code` writes the code around an address. `key` returns the action of a key if one was pressed. It is called repeatedly, the first
    /// time when the report is on the screen.
    pub fn show(&self, code: Code<'_>, key: &mut dyn FnMut() -> Option<Key>) {
        let has_begun = self.has_begun.load(Ordering::Relaxed);
        let framebuffer = self.framebuffer.get().filter(|_| has_begun);
        let Some(framebuffer) = framebuffer else {
            return;
        };
        if self.is_shown.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut pen = Pen::new(*framebuffer);
        // Also what no row reaches, at the bottom.
        pen.clear();
        let mut view = View {
            screen: self,
            pages: [Page::new(true), Page::new(false)],
            at: At::Lines(0),
        };
        loop {
            view.draw(&mut pen, code);
            let pressed = loop {
                match key() {
                    Some(key) => break key,
                    None => core::hint::spin_loop(),
                }
            };
            if pressed == Key::Leave {
                return;
            }
            view.press(pressed);
        }
    }
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// The page with this index.
    Lines(usize),
    /// The code around the chosen frame of that page.
    Code(usize),
    /// The QR code.
    Phone,
}

struct View<'a> {
    screen: &'a Screen,
    pages: [Page; 2],
    at: At,
}

impl View<'_> {
    fn press(&mut self, key: Key) {
        let report = &self.screen.report;
        let has_others = self.pages[1].has_lines(report);
        let last = At::Lines(usize::from(has_others));
        self.at = match (key, self.at) {
            (Key::Next, At::Lines(0) | At::Code(0)) if has_others => At::Lines(1),
            (Key::Next, At::Lines(_) | At::Code(_)) => At::Phone,
            (Key::Next, At::Phone) => At::Lines(0),
            (Key::Previous, At::Lines(0) | At::Code(0)) => At::Phone,
            (Key::Previous, At::Lines(_) | At::Code(_)) => At::Lines(0),
            (Key::Previous, At::Phone) => last,
            (Key::Enter, At::Lines(page)) => At::Code(page),
            (Key::Enter, At::Code(page)) => At::Lines(page),
            (Key::Down | Key::Up, At::Lines(page) | At::Code(page)) => {
                let by = if key == Key::Down { 1 } else { -1 };
                if let Some(page) = self.pages.get_mut(page) {
                    page.go(report, by);
                }
                self.at
            }
            (_, at) => at,
        };
    }

    fn draw(&mut self, pen: &mut Pen, code: Code<'_>) {
        let rows = pen.rows();
        let body = (1, rows.saturating_sub(1));
        let report = &self.screen.report;
        match self.at {
            At::Lines(page) => {
                if let Some(page) = self.pages.get_mut(page) {
                    page.draw(pen, body, report);
                }
            }
            At::Code(page) => {
                pen.window(body, 0);
                pen.clear();
                let pc = self
                    .pages
                    .get(page)
                    .and_then(|page| page.write_chosen(pen, report));
                pen.color = PLAIN;
                // Writing to the screen never fails.
                let _ = match pc {
                    Some(pc) => code(pen, pc),
                    None => pen.write_str("the report contains no stack frames\n"),
                };
            }
            At::Phone => {
                pen.window(body, 0);
                pen.clear();
                if !qr::draw(pen, report, &self.screen.compact) {
                    pen.color = page::color(Kind::NotComplete);
                    let _ = pen.write_str("the screen is too small for a QR code\n");
                }
            }
        }
        bar(
            pen,
            rows.saturating_sub(1),
            format_args!(
                "space: next page   p: previous page   j, k: down, up   enter: code   q: end"
            ),
        );
        // Last: a page that has its title is drawn.
        let title = match self.at {
            At::Lines(0) => "what failed",
            At::Lines(_) => "other CPUs and tasks",
            At::Code(_) => "code around the frame's address, with the instruction in <>",
            At::Phone => "for a phone",
        };
        let has_others = self.pages[1].has_lines(report);
        let all = if has_others { 3 } else { 2 };
        let number = match self.at {
            At::Lines(page) | At::Code(page) => page + 1,
            At::Phone => all,
        };
        bar(pen, 0, format_args!("{number}/{all}  {title}"));
    }
}

/// A row of the other colors.
fn bar(pen: &mut Pen, row: u32, text: fmt::Arguments<'_>) {
    (pen.color, pen.background) = (BACKGROUND, PLAIN);
    pen.window((row, row + 1), 0);
    // Writing to the screen never fails.
    let _ = write!(pen, " {text}");
    pen.end_line();
    (pen.color, pen.background) = (PLAIN, BACKGROUND);
}
