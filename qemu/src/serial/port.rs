//! A serial port of the host.
//!
//! It uses `termios` (POSIX, chapter 11), as the terminal does. Crates for serial ports were rejected: they need `libudev` to
//! list ports, to save ten lines.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use rustix::fs::OFlags;
use rustix::termios::{ControlModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

/// Opens a port, and sets its speed in bits a second: raw bytes of eight bits, no parity, one stop bit, no flow control.
pub(super) fn open(path: &Path, speed: u32) -> Result<File> {
    let shown = path.display();
    let port = OpenOptions::new()
        .read(true)
        .write(true)
        // The port must not become the controlling terminal, and opening it must not wait for a modem.
        .custom_flags((OFlags::NOCTTY | OFlags::NONBLOCK).bits().cast_signed())
        .open(path);
    let port = port.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => found(),
            ErrorKind::PermissionDenied => {
                "on Debian, only members of the group dialout may open serial devices".into()
            }
            _ => return anyhow!("cannot open serial device {shown}: {error}"),
        };
        anyhow!("cannot open serial device {shown}: {error}; {hint}")
    })?;
    let mut modes = tcgetattr(&port).map_err(|_| anyhow!("{shown} is not a serial device"))?;
    modes.make_raw();
    modes.control_modes -= ControlModes::CSTOPB | ControlModes::CRTSCTS;
    modes.control_modes |= ControlModes::CREAD | ControlModes::CLOCAL;
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    modes.set_speed(speed).with_context(|| {
        format!("serial device {shown} does not support {speed} bits per second")
    })?;
    tcsetattr(&port, OptionalActions::Now, &modes).with_context(|| {
        format!("serial device {shown} does not support {speed} bits per second")
    })?;
    // From here on, reads block until a byte comes.
    let flags = rustix::fs::fcntl_getfl(&port)
        .context("cannot read the file flags of the serial device")?;
    rustix::fs::fcntl_setfl(&port, flags - OFlags::NONBLOCK)
        .context("cannot set the file flags of the serial device")?;
    Ok(port)
}

/// Reads until the line is gone, and returns why it is; `None` if `pass_on` wants no more bytes.
pub(super) fn read(
    mut port: impl Read,
    mut pass_on: impl FnMut(Vec<u8>) -> bool,
) -> Option<String> {
    let mut buffer = [0; 4096];
    loop {
        match port.read(&mut buffer) {
            Ok(0) => return Some("it was closed".to_owned()),
            Ok(length) if pass_on(buffer[..length].to_vec()) => {}
            Ok(_) => return None,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A pseudo terminal whose other end was closed, or a USB adapter that was pulled out.
            Err(error) => return Some(error.to_string()),
        }
    }
}

/// The ports that USB adapters have on this machine.
fn found() -> String {
    let names = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ports: Vec<_> = names
        .filter(|name| name.starts_with("ttyUSB") || name.starts_with("ttyACM"))
        .map(|name| format!("/dev/{name}"))
        .collect();
    ports.sort();
    match ports.is_empty() {
        true => "no USB serial adapter is connected".into(),
        false => format!(
            "the available serial devices are {ports}",
            ports = ports.join(", ")
        ),
    }
}
