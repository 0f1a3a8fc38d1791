//! Runs `cargo run`, from the arguments to the exit status.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::autopsy::autopsy;
use crate::build::{Kernel, Profile};
use crate::cli::{Cli, Command};
use crate::decode::{Decoder, Style, Symbolizer, decode};
use crate::dump::{self, Keeper};
use crate::judge;
use crate::machine::{
    Board, Boot, Booted, Debugger, Gdb, GdbStub, Given, Processor, Screen, Statuses, Witness,
};
use crate::oracle::oracle;
use crate::output::Output;
use crate::outside::Outside;
use crate::profile::{Recorder, of_log};
use crate::results::{Results, Subject};
use crate::scenario::{self, Outcome};
use crate::serial::serial;
use crate::setup;
use crate::status::{Failure, Status};
use crate::words::say;
use crate::{frames, image, raspi, workspace};

/// The length of the longest path of a socket (`unix(7)`), without the zero byte after it.
const LONGEST_SOCKET: usize = 107;

/// How long the line must be silent before an incomplete line is shown: longer than gaps within a line of a report, and too
/// short to be noticed by somebody who types.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs what the command line asks for.
///
/// # Errors
/// When the arguments cannot be used, or the runner fails.
pub fn run(cli: &Cli) -> Result<Status, Failure> {
    if cli.list {
        let board = board(cli, cli.arch).map_err(Failure::usage)?;
        let listing = scenario::listing(board.processor().name()) + "\n";
        std::io::stdout()
            .write_all(listing.as_bytes())
            .context("cannot write the list")?;
        return Ok(Status::Success);
    }
    if let Some(command) = &cli.command {
        return match command {
            Command::Decode(arguments) => decode(arguments),
            Command::Serial(arguments) => serial(arguments),
            Command::Image(arguments) => raspi::card(arguments),
            Command::Oracle(arguments) => oracle(arguments),
            Command::Autopsy(arguments) => autopsy(arguments),
            Command::Profile(arguments) => of_log(arguments),
        };
    }
    for program in &cli.symbols {
        image::processor(program).map_err(Failure::usage)?;
    }
    if let Some(folder) = &cli.dump {
        dump::prepare(folder).map_err(Failure::usage)?;
    }
    match &cli.image {
        Some(image) => run_image(cli, image),
        None => run_scenarios(cli),
    }
}

/// Boots somebody's own image.
fn run_image(cli: &Cli, image: &Path) -> Result<Status, Failure> {
    let processor = image::processor(image).map_err(Failure::usage)?;
    if let Some(wanted) = cli.arch.filter(|wanted| *wanted != processor) {
        let shown = image.display();
        let error = anyhow!(
            "image {shown} is for {processor}, not for {wanted}; leave --arch out, the image says it"
        );
        return Err(Failure::usage(error));
    }
    let board = board(cli, Some(processor)).map_err(Failure::usage)?;
    if cli.success_status == cli.panic_status {
        let status = cli.success_status;
        let error = anyhow!("exit status {status} cannot be both a success and a panic");
        return Err(Failure::usage(error));
    }
    let given = (!cli.machine.is_empty()).then(|| Given::new(&cli.machine));
    let given = given.transpose().map_err(Failure::usage)?;
    let emulator = match &given {
        Some(given) if given.program() != Path::new(processor.emulator()) => {
            given.program().to_owned()
        }
        _ => emulator(processor, &workspace::target_folder_for(image)?)?,
    };
    let command_line = cli.scenarios.join(" ");
    let recorder = Recorder::asked_for(cli.profile.as_deref(), cli.profile_rate, board, cli.cpus)
        .map_err(Failure::usage)?;
    let mut out = Output::take()?;
    let name = image.file_stem().unwrap_or_default().to_string_lossy();
    let subject = Subject {
        name: name.clone().into_owned(),
        board,
        profile: None,
    };
    let file_name = subject.file_name();
    let machine = Machine {
        board,
        image,
        name: &file_name,
        given: given.as_ref(),
        command_line: &command_line,
        emulator: &emulator,
        interactive: cli.interactive,
        recorder: recorder.as_ref(),
    };
    let target = workspace::target_folder_for(image)?;
    let mut results = Results::new(cli, image, &target);
    let booted = boot(cli, machine, &mut out)?;
    let serial = booted.serial.clone();
    let judgement = judge::image(&booted);
    let status = results.add(subject, booted, judgement)?;
    Ok(machine.profile(status, &serial, &name))
}

/// Builds the kernel and boots each scenario.
fn run_scenarios(cli: &Cli) -> Result<Status, Failure> {
    let board = board(cli, cli.arch).map_err(Failure::usage)?;
    let arch = board.processor();
    let scenarios = scenario::wanted(&cli.scenarios, arch.name()).map_err(Failure::usage)?;
    let profile = profile(cli, arch).map_err(Failure::usage)?;

    let recorder = match scenarios[..] {
        [only] if cli.profile.is_some() && only.outcome == Outcome::Interactive => {
            Err(anyhow!("a profile is of a boot without somebody who types"))
        }
        [only] => Recorder::asked_for(
            cli.profile.as_deref(),
            cli.profile_rate,
            board,
            cli.cpus.max(only.cpus),
        ),
        _ if cli.profile.is_some() => Err(anyhow!("a profile is of one boot")),
        _ => Ok(None),
    };
    let recorder = recorder.map_err(Failure::usage)?;

    let target = workspace::target_folder()?;
    let emulator = emulator(arch, &target)?;
    let source = setup::rust_src(&target)?;
    let image = Kernel { arch, profile }.build(&source, &target)?;

    let mut out = Output::take()?;
    let mut results = Results::new(cli, &image, &target);
    let mut result = Status::Success;
    for scenario in scenarios {
        let name = scenario.name;
        say(format_args!(
            "booting {name} on {board}, {arch} ({})",
            profile.name()
        ));
        let interactive = cli.interactive || scenario.outcome == Outcome::Interactive;
        let mut command_line = name.to_owned();
        for (wanted, word) in [
            (cli.registers, " registers"),
            (cli.send_dump, " dump"),
            (cli.markup, " markup"),
            (cli.defmt, " defmt"),
        ] {
            command_line += if wanted { word } else { "" };
        }
        if let Some(width) = cli.compact {
            command_line += &format!(" compact:{width}");
        }
        let subject = Subject {
            name: name.to_owned(),
            board,
            profile: Some(profile.name()),
        };
        let file_name = subject.file_name();
        let machine = Machine {
            board,
            image: &image,
            name: &file_name,
            given: None,
            command_line: &command_line,
            emulator: &emulator,
            interactive,
            recorder: recorder.as_ref(),
        };
        let booted = boot(cli, machine, &mut out)?;
        let serial = booted.serial.clone();
        let outcome = scenario.outcome;
        let judgement = match cli.defmt {
            true => {
                let serial = frames::text(&booted.serial, &image)?;
                let decoded = Booted {
                    serial,
                    ..booted.clone()
                };
                judge::scenario(outcome, &decoded)
            }
            false => judge::scenario(outcome, &booted),
        };
        let status = results.add(subject, booted, judgement)?;
        let status = machine.profile(status, &serial, name);
        if result == Status::Success {
            result = status;
        }
        if status == Status::Interrupted {
            return Ok(status);
        }
    }
    Ok(result)
}

/// How the kernel is built.
fn profile(cli: &Cli, processor: Processor) -> Result<Profile> {
    match (cli.thumb, cli.release) {
        (true, _) if processor != Processor::Armv7a => {
            bail!("only armv7a has Thumb code, not {processor}")
        }
        (true, false) => Ok(Profile::ThumbDebug),
        (true, true) => Ok(Profile::ThumbRelease),
        (false, false) => Ok(Profile::Debug),
        (false, true) => Ok(Profile::Release),
    }
}

/// The board that is named, or the first one of this processor.
fn board(cli: &Cli, processor: Option<Processor>) -> Result<Board> {
    match (cli.board, processor) {
        (Some(board), Some(processor)) if board.processor() != processor => {
            bail!("board {board} has {}, not {processor}", board.processor())
        }
        (Some(board), _) => Ok(board),
        (None, processor) => Ok(Board::of(processor.unwrap_or(Processor::X86_64))),
    }
}

fn emulator(processor: Processor, target: &Path) -> Result<PathBuf> {
    setup::program(processor.emulator(), processor.emulator_package(), target)
}

/// What boots, and in what.
#[derive(Clone, Copy)]
struct Machine<'a> {
    board: Board,
    image: &'a Path,
    /// What files are called that are kept of it.
    name: &'a str,
    /// Somebody's own command, instead of ours.
    given: Option<&'a Given>,
    command_line: &'a str,
    emulator: &'a Path,
    interactive: bool,
    /// Records it, for its profile.
    recorder: Option<&'a Recorder>,
}

impl Machine<'_> {
    /// Makes the profile of a boot, if one was asked for; returns what came of both.
    fn profile(&self, status: Status, serial: &[u8], name: &str) -> Status {
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
        say(format_args!("error: no profile of {name}: {error:#}"));
        match status {
            Status::Success => Status::Failed,
            _ => status,
        }
    }
}

fn boot(cli: &Cli, machine: Machine<'_>, out: &mut Output) -> Result<Booted> {
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
                "the machine waits; type: {}",
                stub.how_to_connect(image)?
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
            "what you type goes to the machine; Ctrl-] ends it"
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
    let written = out.end().context("cannot pass on the serial line");
    let booted = booted?;
    written?;
    Ok(booted)
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
    decoder.finish().context("cannot pass on the serial line")?;
    Ok(booted)
}
