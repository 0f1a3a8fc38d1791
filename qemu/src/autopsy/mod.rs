//! `cargo run -- autopsy`: asks a machine of which only a dump is left.

mod commands;
mod gdb;
mod monitor;
mod remote;
mod words;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use crate::decode::Symbolizer;
use crate::dump::{Dump, Logged, Place, Raw, Remains, Sent};
use crate::machine::Gdb;
use crate::output::{Filter, Rules};
use crate::outside::Outside;
use crate::status::{Failure, Status};
use crate::words::say;

/// Print the backtraces of all CPUs and tasks from a dump that --dump saved
///
/// The report is made from the dump's registers, page tables and memory. It equals the report that the runner printed when it
/// saved the dump, except that no time limit ends a backtrace here.
///
/// You can also pass a log with dumps (`with_dump` of `kernel-postmortem`) or stacks (`print_stack`) that a kernel sent. For a
/// log, --image is required.
#[derive(Clone, Debug, clap::Args)]
pub struct Autopsy {
    /// Dump (a folder) or log (a file) to read
    #[arg(value_name = "DUMP", required_unless_present = "registers")]
    pub dump: Option<PathBuf>,

    /// Read the registers from this file instead of a dump. The file contains a debugger's output, such as OpenOCD's `reg` or
    /// gdb's `info registers`, with one register on each line (`pc 0x80000`). Registers after a line `cpu 1` belong to CPU 1.
    /// On x86-64, the registers rip, rsp and rbp are required; on AArch64, pc, sp, x29 and x30
    #[arg(long, value_name = "FILE", requires = "image", conflicts_with_all = ["dump", "interactive", "gdb"])]
    pub registers: Option<PathBuf>,

    /// With --registers, use the contents of FILE as the memory at the virtual address ADDRESS. Pass the memory of all stacks.
    /// Also pass the memory of .note.gnu.build-id or of the code, so that backtraces can be complete. Can be repeated
    #[arg(long, value_name = "ADDRESS=FILE", requires = "registers", value_parser = Place::parse)]
    pub memory: Vec<Place>,

    /// Use this ELF image instead of the copy in the dump, for example the same build with more debug information
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,

    /// Use an additional ELF image whose code ran on the machine, for example a user program or a boot loader. Can be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "interactive")]
    pub symbols: Vec<PathBuf>,

    /// Run commands from standard input, which print backtraces, registers, memory, symbols and instructions. The command
    /// `help` lists all commands
    #[arg(short, long)]
    pub interactive: bool,

    /// Wait for gdb at this local TCP port [default: 1234]. With `run` instead of a port, start gdb in this terminal. gdb shows each CPU as a thread
    #[arg(
        long,
        value_name = "PORT|run",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1234",
        conflicts_with_all = ["interactive", "symbols"],
        value_parser = Gdb::parse
    )]
    pub gdb: Option<Gdb>,
}

/// Writes the report.
///
/// # Errors
/// When the dump or the image cannot be used.
pub fn autopsy(arguments: &Autopsy) -> Result<Status, Failure> {
    let Some(path) = &arguments.dump else {
        return of_raw(arguments);
    };
    if path.is_file() {
        return of_log(path, arguments);
    }
    let sent = Sent::open(path, arguments.image.as_deref()).map_err(Failure::usage)?;
    if let Some((sent, image)) = sent {
        return of_sent(vec![sent], &image, arguments);
    }
    let mut dump = Dump::open(path).map_err(Failure::usage)?;
    let image = match &arguments.image {
        Some(image) => expect_build(image.clone(), &dump),
        None => dump.image(),
    };
    let image = image.map_err(Failure::usage)?;
    if arguments.interactive {
        return monitor::run(Box::new(dump), &image);
    }
    if let Some(gdb) = arguments.gdb {
        return gdb::run(Box::new(dump), &image, gdb);
    }
    let reason = dump.reason().to_owned();
    let outside = Outside::new(&image).programs(&arguments.symbols);
    let text = outside.report(&mut dump, &reason)?;
    write(&text)?;
    dump.check()?;
    Ok(Status::Success)
}

/// Writes the report of what somebody's debugger has read.
fn of_raw(arguments: &Autopsy) -> Result<Status, Failure> {
    let files = arguments.registers.as_ref().zip(arguments.image.as_ref());
    let files = files.context("without a dump, --registers and --image are required");
    let (registers, image) = files.map_err(Failure::usage)?;
    let arch = crate::image::processor(image).map_err(Failure::usage)?;
    let raw = Raw::read(registers, &arguments.memory, arch);
    let mut raw = raw.map_err(Failure::usage)?;
    let outside = Outside::new(image).programs(&arguments.symbols);
    write(&outside.report(&mut raw, "a debugger read the registers")?)?;
    Ok(Status::Success)
}

/// Writes the report of each dump in a log, and the trace of each stack.
fn of_log(file: &Path, arguments: &Autopsy) -> Result<Status, Failure> {
    let path = file.display();
    let image = arguments.image.as_ref();
    let image = image.with_context(|| {
        format!("{path} is a log; use --image to pass the image of the kernel that wrote the log")
    });
    let image = image.map_err(Failure::usage)?;
    let arch = crate::image::processor(image).map_err(Failure::usage)?;
    let probe = crate::image::probe(image).map_err(Failure::usage)?;
    let log = fs::read(file).with_context(|| format!("cannot read {path}"))?;
    let log = String::from_utf8_lossy(&log);
    let sent = Sent::all(&log, image).with_context(|| path.to_string());
    let sent = sent.map_err(Failure::usage)?;
    let symbolizer = Symbolizer::open(image).map_err(Failure::usage)?;
    let stacks = Logged::all(&log, arch, probe, symbolizer.build_id());
    let stacks = stacks.with_context(|| path.to_string())?;
    if sent.is_empty() && (stacks.is_empty() || arguments.interactive || arguments.gdb.is_some()) {
        let error = match stacks.is_empty() {
            true => anyhow!(
                "{path} contains no dump sent by a kernel, and no stack written by print_stack"
            ),
            false => anyhow!(
                "{path} contains no dump sent by a kernel, so --interactive and --gdb are not available"
            ),
        };
        return Err(Failure::usage(error));
    }
    let status = of_sent(sent, image, arguments);
    let outside = Outside::new(image).programs(&arguments.symbols);
    for mut stack in stacks {
        let reason = format!(
            "the log has a stack after the line `{line}`",
            line = stack.what
        );
        write(&outside.report(&mut stack, &reason)?)?;
    }
    status
}

/// Writes the report of each dump that a kernel has sent; or asks the last one more.
fn of_sent(mut sent: Vec<Sent>, image: &Path, arguments: &Autopsy) -> Result<Status, Failure> {
    if (arguments.interactive || arguments.gdb.is_some())
        && let Some(mut last) = sent.pop()
    {
        last.expect_begin()?;
        // Said once, before the answers, none of which is lost for it.
        let is_whole = last.check();
        if let Err(error) = &is_whole {
            say(format_args!("warning: {error:#}"));
        }
        let status = match arguments.gdb {
            Some(gdb) => gdb::run(Box::new(last), image, gdb)?,
            None => monitor::run(Box::new(last), image)?,
        };
        return Ok(if is_whole.is_ok() {
            status
        } else {
            Status::Failed
        });
    }
    let outside = Outside::new(image).programs(&arguments.symbols);
    let mut checked = Ok(());
    for mut dump in sent {
        if let Err(error) = dump.expect_begin() {
            checked = checked.and(Err(error));
            continue;
        }
        let reason = dump.reason().to_owned();
        write(&outside.report(&mut dump, &reason)?)?;
        checked = checked.and(dump.check());
    }
    checked?;
    Ok(Status::Success)
}

fn write(text: &str) -> Result<()> {
    let mut out = Filter::new(std::io::stdout().lock(), Rules::for_stdout(false));
    let written = out.write_all(text.as_bytes()).and_then(|()| out.finish());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(anyhow!(error).context("cannot write to standard output"))
        }
        _ => Ok(()),
    }
}

/// The image at this path, if it is the one that ran.
fn expect_build(image: PathBuf, dump: &Dump) -> Result<PathBuf> {
    let shown = image.display();
    let symbolizer = Symbolizer::open(&image)?;
    let found = symbolizer.build_id();
    let wanted = dump.build_id();
    let wanted = wanted.context(
        "the image in the dump has no build id, so --image cannot be checked; omit --image to use the dump's copy",
    )?;
    match found == Some(wanted) {
        true => Ok(image),
        false => Err(anyhow!(
            "image {shown} does not match the dump: its build id is {found}, expected {wanted}",
            found = found.unwrap_or("unknown")
        )),
    }
}
