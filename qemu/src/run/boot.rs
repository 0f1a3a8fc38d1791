//! One boot, as the command line wants it: with a debugger, a screen, a dump or a profile.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::{FileType, fstat};
use rustix::io::ioctl_fionread;

use crate::cli::Cli;
use crate::decode::{Decoder, Style, Symbolizer};
use crate::dump::Keeper;
use crate::machine::{
    Board, Boot, Booted, Debugger, Gdb, GdbStub, Given, Screen, Statuses, Witness,
};
use crate::output::Output;
use crate::outside::Outside;
use crate::profile::Recorder;
use crate::status::Status;
use crate::words::say;
use crate::{scenario, setup, workspace};

/// The length of the longest path of a socket (`unix(7)`), without the zero byte after it.
const LONGEST_SOCKET: usize = 107;

/// How long the line must be silent before an incomplete line is shown: longer than gaps within a line of a report, and too
/// short to be noticed by somebody who types.
const PAUSE: Duration = Duration::from_millis(50);

/// What boots, and in what.
#[derive(Clone, Copy)]
pub(super) struct Machine<'a> {
    pub(super) board: Board,
    pub(super) image: &'a Path,
    /// What files are called that are kept of it.
    pub(super) name: &'a str,
    /// Somebody's own command, instead of ours.
    pub(super) given: Option<&'a Given>,
    pub(super) command_line: &'a str,
    pub(super) emulator: &'a Path,
    pub(super) interactive: bool,
    /// Records it, for its profile.
    pub(super) recorder: Option<&'a Recorder>,
}

impl Machine<'_> {
    /// Makes the profile of a boot, if one was asked for; returns what came of both.
    pub(super) fn profile(&self, status: Status, serial: &[u8], name: &str) -> Status {
        let recorder = self.recorder.filter(|_| status != Status::Interrupted);
        let Some(recorder) = recorder else {
            return status;
        };
        let word = (self.command_line.split_whitespace().next()).unwrap_or_default();
        let boot = Boot {
            reboots: scenario::resets(word),
            ..Boot::on(self.board, self.image, self.command_line)
        };
        let Err(error) = recorder.make(&boot, serial, self.emulator, name) else {
            return status;
        };
        say(format_args!(
            "error: cannot make a profile of {name}: {error:#}"
        ));
        match status {
            Status::Success => Status::Failed,
            _ => status,
        }
    }
}

pub(super) fn boot(cli: &Cli, machine: Machine<'_>, out: &mut Output) -> Result<Booted> {
    let Machine {
        board,
        image,
        name,
        given,
        command_line,
        emulator,
        interactive,
        recorder,
    } = machine;
    let word = command_line.split_whitespace().next().unwrap_or_default();
    let resets = interactive || scenario::resets(word);
    // Who looks at the screen pages through it by keys.
    let interactive = interactive || cli.screen;
    let (mut gdb, mut debugger) = (None, None);
    match cli.gdb {
        Some(Gdb::Port(port)) => {
            let stub = GdbStub::at_port(port)?;
            say(format_args!(
                "the machine waits for gdb; type: {command}",
                command = stub.how_to_connect(image)?
            ));
            gdb = Some(stub);
        }
        Some(Gdb::Run) => {
            let target = workspace::target_folder_for(image)?;
            let program = setup::program("gdb-multiarch", "gdb-multiarch", &target)?;
            let found = Debugger::new(program, image, gdb_socket(&target))?;
            gdb = Some(found.stub());
            debugger = Some(found);
        }
        None => {}
    }
    let observer = recorder.map(|recorder| recorder.observer(image));
    let observer = observer.transpose()?.flatten();
    if interactive && std::io::stdin().is_terminal() {
        say(format_args!(
            "keyboard input goes to the machine; Ctrl-] ends the machine"
        ));
    }
    let screen = match &cli.screenshot {
        Some(path) => Some(Screen::Picture(path.clone())),
        None => cli.screen.then(|| Screen::shown(emulator)),
    };
    let keeper = cli.dump.as_ref().map(|folder| Keeper::new(folder, name));
    let outside = Outside::new(image).programs(&cli.symbols).keeper(keeper);
    let boot = Boot {
        cpus: cli.cpus.max(scenario::cpus(word)),
        limit: cli.time_limit(interactive),
        guest_limit: (cli.guest_timeout.filter(|_| !interactive)).map(Duration::from_secs),
        gdb,
        debugger,
        interactive,
        witness: (cli.gdb.is_none()).then_some(&outside as &dyn Witness),
        interrupts: true,
        asks: &cli.ask,
        // The command `reboot` should not end the session.
        reboots: resets,
        screen,
        pause: if cli.decode || cli.defmt {
            PAUSE
        } else {
            Duration::ZERO
        },
        given,
        observer,
        recorded: recorder.and_then(Recorder::recorded),
        statuses: Statuses {
            success: cli.success_status,
            panicked: cli.panic_status,
        },
        ..Boot::on(board, image, command_line)
    };
    out.begin(boot.limit, interactive);
    let booted = run_to(&boot, cli, emulator, out);
    let written = out.end().context("cannot forward the serial output");
    let booted = booted?;
    written?;
    if !interactive && cli.gdb.is_none() && has_unread_input() {
        say(format_args!(
            "note: standard input was not read; to send it to the machine's serial input, pass --interactive"
        ));
    }
    Ok(booted)
}

/// Whether standard input is a pipe or a file with bytes that nothing has read.
fn has_unread_input() -> bool {
    let input = rustix::stdio::stdin();
    let kind = fstat(input).map(|known| FileType::from_raw_mode(known.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
        && ioctl_fionread(input).is_ok_and(|bytes| bytes > 0)
}

/// Where gdb and the machine meet: in the target folder, as nothing removes it if this process is killed, unless the path would
/// be too long for a socket.
fn gdb_socket(target: &Path) -> PathBuf {
    let name = format!("gdb-{}.socket", std::process::id());
    let socket = target.join(&name);
    match socket.as_os_str().len() <= LONGEST_SOCKET {
        true => socket,
        false => std::env::temp_dir().join(name),
    }
}

/// Boots, and shows the serial line as the command line says.
fn run_to(boot: &Boot<'_>, cli: &Cli, emulator: &Path, out: &mut Output) -> Result<Booted> {
    if !cli.decode && !cli.defmt {
        return boot.run(emulator, out);
    }
    let symbolizer = Symbolizer::open(boot.image)?;
    let mut decoder = Decoder::new(&symbolizer, Style::for_stdout(), out);
    let booted = boot.run(emulator, &mut decoder)?;
    decoder
        .finish()
        .context("cannot forward the serial output")?;
    Ok(booted)
}
