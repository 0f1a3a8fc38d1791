//! Any screen, any report, any keys: nothing panics, nothing outside of the framebuffer is written, and the QR code can be read.

use std::cell::Cell;
use std::sync::atomic::AtomicU8;

use screen::{Framebuffer, Key, Layout, Order, Screen, Text};

const KEYS: [Key; 5] = [Key::Next, Key::Previous, Key::Down, Key::Up, Key::Enter];

/// Bytes around a framebuffer, which stay as they are.
const MARGIN: usize = 4096;
const UNTOUCHED: u8 = 0xa5;

/// A screen with a report on it.
struct Shown {
    screen: Screen,
    memory: &'static mut [u8],
    layout: Layout,
}

fn text(size: usize) -> Text {
    let bytes: Vec<AtomicU8> = (0..size).map(|_| AtomicU8::new(0)).collect();
    Text::new(bytes.leak())
}

impl Shown {
    /// `None` if there is no such framebuffer.
    fn new(layout: Layout, offset: usize, report: &[u8], compact: &str) -> Option<Self> {
        let bytes = layout.stride * layout.height as usize;
        let memory = vec![UNTOUCHED; bytes + 2 * MARGIN].leak();
        // SAFETY: so many bytes from there on are in the vector, which is never freed. It is looked at only when nothing is drawn.
        let framebuffer =
            unsafe { Framebuffer::new(memory.as_mut_ptr().add(MARGIN + offset), layout) }?;
        let screen = Screen::new(text(16 << 10), text(4 << 10));
        screen.set(framebuffer);
        screen.write(b"before the report\n");
        screen.begin();
        for part in report.chunks(7) {
            screen.write(part);
        }
        screen
            .compact(|out| out.write_str(compact))
            .expect("it takes all");
        screen.end();
        screen.write(b"behind the report\n");
        Some(Self {
            screen,
            memory,
            layout,
        })
    }

    /// Presses these keys, and then the one that leaves.
    fn press(&self, keys: &[Key]) {
        let pressed = Cell::new(0);
        self.screen.show(
            &|out, pc| writeln!(out, "code: {pc:#x} <00> größe"),
            &mut || {
                let at = pressed.replace(pressed.get() + 1);
                Some(keys.get(at).copied().unwrap_or(Key::Leave))
            },
        );
        assert_eq!(pressed.get(), keys.len() + 1, "it has asked for every key");
    }

    fn pixel(&self, x: usize, y: usize, offset: usize) -> u8 {
        let at = MARGIN + offset + y * self.layout.stride + x * self.layout.bytes_per_pixel;
        self.memory[at]
    }
}

fn layout(width: u32, height: u32, stride: usize, bytes_per_pixel: usize) -> Layout {
    Layout {
        width,
        height,
        stride,
        bytes_per_pixel,
        order: Order::Bgr,
    }
}

const REPORT: &str = "\
panicked at kernel/src/scenario/panic.rs:49:5: index out of bounds: the len is 3 but the index is 7
cpu 0, task main, x86_64, build 4818fd761ba7e58774feeb6deca76917480486d7, tables and code verified
   0: 0xffffffff80159c74 p __rustc::rust_begin_unwind+0x14/0x57 at kernel/src/platform.rs:43
        inlined into somebody at somewhere.rs:7
   1: 0xffffffff801d9c96 r core::panicking::panic_fmt+0x46/0x46 at core/src/panicking.rs:80
end of backtrace: complete, 2 frames
cpu 1, task main1, stopped at 0xffffffff80128052
   0: 0xffffffff80128052 p wait
end of backtrace: complete, 1 frames
";

#[test]
fn no_screen_is_too_small_and_no_layout_too_odd() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut count = 0;
    let sides = [0, 1, 5, 6, 7, 10, 13, 40, 127, 128, 200, 640, 1024];
    for (width, height) in sides
        .into_iter()
        .flat_map(|width| sides.map(|height| (width, height)))
    {
        for bytes_per_pixel in [3, 4, 5, 8] {
            let offset = random.usize(0..8);
            let stride = width as usize * bytes_per_pixel + random.usize(0..7);
            let layout = layout(width, height, stride, bytes_per_pixel);
            let shown = Shown::new(layout, offset, REPORT.as_bytes(), "  0 p somebody\n");
            assert_eq!(shown.is_none(), width == 0 || height == 0, "{layout:?}");
            let Some(shown) = shown else {
                continue;
            };
            let keys: Vec<Key> = (0..12).map(|_| KEYS[random.usize(..KEYS.len())]).collect();
            shown.press(&keys);
            let begin = MARGIN + offset;
            let end = begin + layout.stride * height as usize;
            let around = shown.memory[..begin].iter().chain(&shown.memory[end..]);
            assert!(around.copied().all(|byte| byte == UNTOUCHED), "{layout:?}");
            for line in shown.memory[begin..end].chunks(layout.stride) {
                let rest = &line[width as usize * bytes_per_pixel..];
                assert!(rest.iter().all(|byte| *byte == UNTOUCHED), "{layout:?}");
                assert_ne!(
                    line[0], UNTOUCHED,
                    "each line of pixels is drawn: {layout:?}"
                );
            }
            count += 1;
        }
    }
    assert_eq!(count, 12 * 12 * 4);
}

#[test]
fn any_report_can_be_shown() {
    let mut random = fastrand::Rng::with_seed(11);
    let long = "x".repeat(20_000);
    let many = "   7: 0x0123456789abcdef r f\n".repeat(500);
    let mut reports: Vec<Vec<u8>> = ["", "\n", "\n\n\n", "no newline", &long, &many, REPORT]
        .map(|text| text.as_bytes().to_vec())
        .to_vec();
    for _ in 0..40 {
        let mut report = REPORT.as_bytes().to_vec();
        for _ in 0..random.usize(1..60) {
            let at = random.usize(..report.len());
            report[at] = random.u8(..);
        }
        report.truncate(random.usize(..=report.len()));
        reports.push(report);
    }
    for report in reports {
        let layout = layout(320, 200, 320 * 4, 4);
        let shown = Shown::new(layout, 0, &report, "").expect("a framebuffer");
        let keys: Vec<Key> = (0..60).map(|_| KEYS[random.usize(..KEYS.len())]).collect();
        shown.press(&keys);
    }
}

/// What a reader finds on the screen's page for phones.
fn read(report: &str, compact: &str) -> String {
    let (width, height) = (1024, 768);
    let layout = layout(width as u32, height as u32, width * 4, 4);
    let shown = Shown::new(layout, 0, report.as_bytes(), compact).expect("a framebuffer");
    shown.press(&[Key::Previous]);
    let mut image =
        rqrr::PreparedImage::prepare_from_greyscale(width, height, |x, y| shown.pixel(x, y, 0));
    let codes = image.detect_grids();
    assert_eq!(codes.len(), 1);
    codes[0].decode().expect("it can be read").1
}

#[test]
fn the_code_has_the_first_lines_and_the_compact_form() {
    let lines: Vec<&str> = REPORT.lines().collect();
    let compact = "  0 p rust_begin_unwind (kernel/src/platform.rs:43)\nend of backtrace: complete, 1 frames\n";
    assert_eq!(
        read(REPORT, compact),
        [lines[0], "\n", lines[1], "\n", compact].concat()
    );
    // Without a compact form it has the report's own lines, up to the first verdict.
    assert_eq!(read(REPORT, ""), lines[..6].join("\n") + "\n");
}

/// Of what is too long, whole lines are left out, and that is said.
#[test]
fn a_code_that_is_full_says_so() {
    let compact = "  7 r a_function_somewhere (some/file.rs:77)\n".repeat(100);
    let text = read(REPORT, &compact);
    assert!(text.len() <= 1273, "{}", text.len());
    let kept = text
        .strip_suffix("... the rest of the report is on the screen\n")
        .expect("it says so");
    let whole = REPORT
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        + &compact;
    assert!(whole.starts_with(kept) && kept.ends_with('\n'), "{text}");
    assert!(1273 - text.len() < 43, "as many as fit");
}
