//! A machine's screen: shown to somebody, or kept as a picture when the kernel has its report there.

use std::io::{PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail, ensure};
use portable::on_screen::ON_SCREEN;

use super::Board;
use super::monitor::Monitor;
use crate::words::say;

/// Kinds of windows that QEMU may have, the best first.
const WINDOWS: [&str; 3] = ["cocoa", "gtk", "sdl"];

/// For a viewer of VNC on this host: the first free display, which is a TCP port from 5900 on.
const VNC: &str = "vnc=127.0.0.1:0,to=99";

/// The key that ends the kernel.
const END: &[u8] = b"q";

/// A screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Screen {
    /// For somebody who looks at it, by this display of QEMU's.
    Shown(&'static str),
    /// For this file. As soon as that is written, the kernel is told to end.
    Picture(PathBuf),
}

impl Screen {
    /// A screen for somebody at this host: a window, if there is a display, and this QEMU can have one.
    #[must_use]
    pub fn shown(emulator: &Path) -> Self {
        let has_display = cfg!(target_os = "macos")
            || ["DISPLAY", "WAYLAND_DISPLAY"]
                .iter()
                .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        let listed = Command::new(emulator).args(["-display", "help"]).output();
        let listed = listed.map(|output| output.stdout).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let mut windows = WINDOWS.into_iter();
        let window = windows.find(|window| listed.lines().any(|line| line.trim() == *window));
        Self::Shown(window.filter(|_| has_display).unwrap_or(VNC))
    }

    /// QEMU's arguments: the display, and the device, where the board has no screen of its own.
    pub(super) fn arguments(&self, board: Board) -> Vec<&str> {
        let display = match self {
            Self::Shown(display) => display,
            Self::Picture(_) => "none",
        };
        match board.is_raspberry_pi() {
            true => vec!["-display", display],
            false => vec!["-display", display, "-device", "ramfb"],
        }
    }

    /// Says where it can be seen, if that is no window.
    pub(super) fn announce(&self, monitor: &Monitor) {
        if *self != Self::Shown(VNC) {
            return;
        }
        // A machine that does not answer has ended, which the serial line reports.
        if let Ok(vnc) = monitor.execute("query-vnc") {
            let part = |name: &str| vnc[name].as_str().unwrap_or("?").to_owned();
            say(format_args!(
                "no display: connect a VNC viewer to {host}:{port}",
                host = part("host"),
                port = part("service")
            ));
        }
    }
}

/// Takes the picture.
#[derive(Debug)]
pub(super) struct Camera {
    path: PathBuf,
    keys: PipeWriter,
}

impl Camera {
    /// A camera for this file, with the line by which the kernel gets keys.
    pub(super) const fn new(path: PathBuf, keys: PipeWriter) -> Self {
        Self { path, keys }
    }

    /// Whether the machine has said that the report is on the screen.
    pub(super) fn is_due(&self, serial: &[u8]) -> bool {
        let words = ON_SCREEN.as_bytes();
        serial.windows(words.len()).any(|part| part == words)
    }

    /// Writes the picture, and ends the kernel, also if there is none.
    pub(super) fn take(mut self, monitor: &Monitor) -> Result<()> {
        let path = self.path.display();
        let written = monitor
            .picture()
            .and_then(|picture| linker::whole::write(&self.path, &png(&picture)?));
        // It fails only if the machine has ended, which the serial line reports.
        let _ = self.keys.write_all(END);
        written.with_context(|| format!("no screenshot {path}"))
    }

    /// The machine has ended, and there was nothing to take a picture of.
    pub(super) fn unused(self) -> anyhow::Error {
        anyhow!(
            "no screenshot was saved to {path}: the kernel showed no report on the screen",
            path = self.path.display()
        )
    }
}

/// The picture in QEMU's own format (PPM: `P6`, width, height, the largest value, then three bytes for each pixel) as PNG.
fn png(ppm: &[u8]) -> Result<Vec<u8>> {
    let mut parts = ppm.splitn(4, |byte| byte.is_ascii_whitespace());
    let mut word = || parts.next().and_then(|word| str::from_utf8(word).ok());
    let magic = word();
    let [width, height] = [word(), word()].map(|word| word.and_then(|word| word.parse().ok()));
    let pixels = parts.next().and_then(|rest| rest.strip_prefix(b"255\n"));
    let (Some("P6"), Some(width), Some(height), Some(pixels)) = (magic, width, height, pixels)
    else {
        bail!("QEMU's screenshot has no PPM header");
    };
    let size = u64::from(width) * u64::from(height) * 3;
    ensure!(
        pixels.len() as u64 == size,
        "QEMU's screenshot has {length} bytes of pixels, expected {size}",
        length = pixels.len()
    );
    let (pixels, _) = pixels.as_chunks();
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_compression(png::Compression::High);
    // Text has few colors: by their numbers it takes half of the bytes.
    let indexed = match indexed(pixels) {
        Some((colors, numbers)) => {
            encoder.set_color(png::ColorType::Indexed);
            encoder.set_palette(colors.into_flattened());
            Some(numbers)
        }
        None => {
            encoder.set_color(png::ColorType::Rgb);
            None
        }
    };
    let mut writer = encoder.write_header()?;
    writer.write_image_data(indexed.as_deref().unwrap_or(pixels.as_flattened()))?;
    writer.finish()?;
    Ok(out)
}

/// The colors, and the number of each pixel's; `None` if there are too many for a byte.
fn indexed(pixels: &[[u8; 3]]) -> Option<(Vec<[u8; 3]>, Vec<u8>)> {
    let mut colors: Vec<[u8; 3]> = Vec::new();
    let number = |pixel: &[u8; 3]| {
        let known = colors.iter().position(|color| color == pixel);
        let number = known.unwrap_or_else(|| {
            colors.push(*pixel);
            colors.len() - 1
        });
        u8::try_from(number).ok()
    };
    let numbers = pixels.iter().map(number).collect::<Option<Vec<u8>>>()?;
    Some((colors, numbers))
}
