//! `cargo run -- serial`: the console of a board.

mod check;
mod port;

pub use check::Check;

use std::fs::File;
use std::io::{IsTerminal, Read, Write, stdin, stdout};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::decode::{Decoder, Style, Symbolizer};
use crate::dump::{Incoming, Keeper, prepare, say_kept};
use crate::machine::terminal::{LEAVE, Terminal};
use crate::output::{Filter, Rules};
use crate::status::{Failure, Status};
use crate::words::say;

/// How long the line must be silent before an incomplete line is shown: longer than a USB adapter buffers bytes (16 ms), and
/// than a byte takes at any speed.
const PAUSE: Duration = Duration::from_millis(50);

/// Connect this terminal with a board's serial line; Ctrl-] ends the connection
///
/// With --image, decodes reports with the image's debug information as they arrive, and warns about reports of another image.
/// The serial line has eight data bits, no parity and no flow control. If standard input is not a terminal, sends its bytes and
/// continues to read the serial line after its end. The exit status is 0 after Ctrl-], and 1 if the serial line was
/// disconnected.
#[derive(Clone, Debug, clap::Args)]
pub struct Serial {
    /// Serial device, such as /dev/ttyUSB0, /dev/ttyACM0 or a pseudo terminal of QEMU
    #[arg(value_name = "PORT")]
    pub port: PathBuf,

    /// Speed in bits per second
    #[arg(long, value_name = "SPEED", default_value_t = 115_200, value_parser = clap::value_parser!(u32).range(50..))]
    pub baud: u32,

    /// ELF image that runs on the board, with debug information
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,

    /// Also decode reports whose build id differs from the image's build id
    #[arg(long, requires = "image")]
    pub any_build: bool,

    /// Write the board's output to this file, byte for byte
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,

    /// Save each memory dump that the kernel sends to this folder. The command `autopsy` reads such dumps. A kernel sends dumps if
    /// it uses `with_dump` of the crate `kernel-postmortem`
    #[arg(long, value_name = "DIR", requires = "image")]
    pub dump: Option<PathBuf>,

    /// A check of a board instead
    #[command(flatten)]
    pub check: Check,
}

/// Events of the terminal and of the line.
enum Event {
    Written(Vec<u8>),
    /// The line is gone, and why.
    Gone(String),
    Left,
}

/// Passes input and output on, until either ends.
///
/// # Errors
/// When the line or a file cannot be opened.
pub fn serial(arguments: &Serial) -> Result<Status, Failure> {
    if arguments.check.check {
        return check::check(&arguments.check, &arguments.port, arguments.baud);
    }
    let symbolizer = arguments.image.as_deref().map(Symbolizer::open);
    let symbolizer = symbolizer.transpose().map_err(Failure::usage)?;
    if let Some(folder) = &arguments.dump {
        prepare(folder).map_err(Failure::usage)?;
    }
    let port = port::open(&arguments.port, arguments.baud).map_err(Failure::usage)?;
    let mut log = match &arguments.log {
        Some(path) => Some(
            File::create(path)
                .with_context(|| format!("cannot create the log {path}", path = path.display()))
                .map_err(Failure::usage)?,
        ),
        None => None,
    };
    let shown = arguments.port.display();
    if stdin().is_terminal() {
        say(format_args!(
            "connected to serial device {shown} at {baud} bits per second; Ctrl-] ends the connection",
            baud = arguments.baud
        ));
    }
    let (sender, events) = mpsc::channel();
    let input = port
        .try_clone()
        .context("cannot duplicate the handle of the serial line")?;
    let typist = sender.clone();
    std::thread::spawn(move || pass_on(input, &typist));
    std::thread::spawn(move || {
        let why = port::read(port, |bytes| sender.send(Event::Written(bytes)).is_ok());
        // The receiver is gone if the user has left.
        let _ = why.map(|why| sender.send(Event::Gone(why)));
    });

    let terminal = Terminal::take();
    let mut decoder = symbolizer.as_ref().map(|symbolizer| {
        let out = Filter::new(stdout().lock(), Rules::for_stdout(true));
        Decoder::new(symbolizer, Style::for_stdout(), out).any_build(arguments.any_build)
    });
    let mut plain = Filter::new(stdout().lock(), Rules::for_stdout(true));
    let (mut incoming, keeper) = (Incoming::default(), arguments.dump.as_deref());
    let keeper = keeper.map(|folder| Keeper::new(folder, "serial"));
    let keeper = keeper.zip(arguments.image.as_deref());
    let mut gone = None;
    let mut flushed = true;
    let status = loop {
        let event = match flushed {
            true => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => events.recv_timeout(PAUSE),
        };
        let out: &mut dyn Write = match &mut decoder {
            Some(decoder) => decoder,
            None => &mut plain,
        };
        match event {
            Ok(Event::Written(bytes)) => {
                if let Some(log) = &mut log {
                    log.write_all(&bytes).context("cannot write the log")?;
                }
                out.write_all(&bytes)
                    .context("cannot forward the serial line")?;
                flushed = false;
                if let Some((keeper, image)) = &keeper {
                    for lines in incoming.take(&bytes) {
                        say_kept(keeper.keep_sent(&lines, image));
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                out.flush().context("cannot forward the serial line")?;
                flushed = true;
            }
            Ok(Event::Left) => break Status::Success,
            Ok(Event::Gone(why)) => {
                gone = Some(why);
                break Status::Failed;
            }
            Err(RecvTimeoutError::Disconnected) => break Status::Failed,
        }
    };
    if let Some(decoder) = decoder {
        decoder.finish().context("cannot forward the serial line")?;
    }
    plain.finish().context("cannot forward the serial line")?;
    plain.flush().context("cannot forward the serial line")?;
    if let Some(why) = gone {
        say(format_args!(
            "serial device {shown} was disconnected: {why}"
        ));
    }
    if terminal.is_some() {
        drop(terminal);
        // What follows begins a line of the terminal's.
        let _ = stdout().write_all(b"\n");
    }
    Ok(status)
}

/// Passes on standard input until its end or the key to leave.
fn pass_on(mut port: File, sender: &Sender<Event>) {
    let mut buffer = [0; 256];
    let mut input = stdin().lock();
    while let Ok(length @ 1..) = input.read(&mut buffer) {
        let typed = &buffer[..length];
        let leave = typed.iter().position(|byte| *byte == LEAVE);
        // A line that is gone is told of by whoever reads it.
        if port.write_all(&typed[..leave.unwrap_or(length)]).is_err() {
            return;
        }
        if leave.is_some() {
            let _ = sender.send(Event::Left);
            return;
        }
    }
}
