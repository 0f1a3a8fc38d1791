//! `cargo run -- decode`.

use std::fs::File;
use std::io::{Read, Write, stdin, stdout};
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::{Decoder, Style, Symbolizer};
use crate::output::{Filter, Rules};
use crate::status::{Failure, Status};
use crate::words::say;

/// Add names, files, lines and inlined functions to a log, from the image's debug information
///
/// Decodes reports of this project, Linux's `name+0x12/0x34`, and lists of addresses; prints all other text unchanged. The
/// lines may have time stamps, colours and damaged bytes, and other lines may be between them. Addresses in Linux's
/// backtraces and in lists are treated as return addresses.
#[derive(Clone, Debug, clap::Args)]
pub struct Decode {
    /// Log to read [default: standard input]
    #[arg(value_name = "LOG")]
    pub log: Option<PathBuf>,

    /// ELF image of the kernel that wrote the log, with debug information
    #[arg(long, value_name = "FILE")]
    pub image: PathBuf,

    /// Write only JSON: one object for each frame
    #[arg(long)]
    pub json: bool,

    /// Also decode reports whose build id differs from the image's build id
    #[arg(long)]
    pub any_build: bool,

    /// Load address of the image minus its link address, in hexadecimal. Only needed if the log contains neither this
    /// difference nor function names
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = hex, allow_hyphen_values = true)]
    pub moved_by: u64,
}

/// A number in hex, with or without `0x`; with a minus, of bytes below.
fn hex(text: &str) -> Result<u64, String> {
    let (is_below, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let bytes =
        u64::from_str_radix(digits, 16).map_err(|_| "expected a hexadecimal number".to_owned())?;
    Ok(if is_below {
        bytes.wrapping_neg()
    } else {
        bytes
    })
}

/// Decodes a log. The status is that of a failure when a report is of another image.
///
/// # Errors
/// When a file cannot be read.
pub fn decode(arguments: &Decode) -> Result<Status, Failure> {
    let symbolizer = Symbolizer::open(&arguments.image).map_err(Failure::usage)?;
    let (mut log, name): (Box<dyn Read>, _) = match &arguments.log {
        Some(path) => {
            let shown = path.display().to_string();
            let file = File::open(path).with_context(|| format!("cannot open log {shown}"));
            (Box::new(file.map_err(Failure::usage)?), shown)
        }
        None => (Box::new(stdin().lock()), "standard input".to_owned()),
    };
    let style = match arguments.json {
        true => Style::Json,
        false => Style::for_stdout(),
    };
    // Programs read JSON.
    let rules = match arguments.json {
        true => Rules::default(),
        false => Rules::for_stdout(false),
    };
    let mut out = Filter::new(stdout().lock(), rules);
    let mut decoder = Decoder::new(&symbolizer, style, &mut out)
        .any_build(arguments.any_build)
        .moved_by(arguments.moved_by);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = log
            .read(&mut buffer)
            .with_context(|| format!("cannot read {name}"))?;
        if length == 0 {
            break;
        }
        written(decoder.add(&buffer[..length]))?;
    }
    let summary = written(decoder.finish())?;
    written(out.finish())?;
    let (frames, foreign) = (summary.frames, summary.foreign);
    if foreign > 0 {
        say(format_args!(
            "{name}: {frames} frames decoded; {foreign} frames of another image were not changed"
        ));
        return Ok(Status::Failed);
    }
    if frames == 0 {
        say(format_args!(
            "found no frame of this image in the {lines} lines of {name}; if the image was not loaded at its link address, use --moved-by",
            lines = summary.lines
        ));
    }
    Ok(Status::Success)
}

/// That nobody wants the rest is no error: `decode | head`.
fn written<T: Default>(result: std::io::Result<T>) -> Result<T> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            let _ = stdout().flush();
            std::process::exit(0)
        }
        other => other.context("cannot write to standard output"),
    }
}
