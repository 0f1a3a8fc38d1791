//! Runs `cargo run`, from the arguments to the exit status.

mod boot;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::autopsy::autopsy;
use crate::build::{Kernel, Profile};
use crate::cli::{Cli, Command};
use crate::decode::decode;
use crate::machine::{Board, Booted, Given, Processor};
use crate::oracle::oracle;
use crate::output::Output;
use crate::profile::{Recorder, of_log};
use crate::results::{Results, Subject};
use crate::scenario::{self, Outcome};
use crate::serial::serial;
use crate::status::{Failure, Status};
use crate::template::new;
use crate::words::say;
use crate::{dump, frames, image, judge, raspi, setup, workspace};
use boot::{Machine, boot};

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
            .context("cannot write the list of scenarios")?;
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
            Command::New(arguments) => new(arguments),
        };
    }
    for program in &cli.symbols {
        image::processor(program).map_err(Failure::usage)?;
    }
    if let Some(folder) = &cli.dump {
        dump::prepare(folder).map_err(Failure::usage)?;
    }
    // A boot can take long, and its profile longer.
    for file in [&cli.profile, &cli.screenshot].into_iter().flatten() {
        linker::whole::can_write(file).map_err(Failure::usage)?;
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
        let error = anyhow!("image {shown} is for {processor}, not for {wanted}; omit --arch");
        return Err(Failure::usage(error));
    }
    let board = board(cli, Some(processor)).map_err(Failure::usage)?;
    if cli.success_status == cli.panic_status {
        let status = cli.success_status;
        let error = anyhow!("exit status {status} cannot mean both success and a panic");
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
    let recorder = Recorder::asked_for(
        cli.profile.as_deref(),
        cli.profile_rate,
        board,
        cli.cpus,
        given.as_ref(),
    )
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
            Err(anyhow!("--profile does not support interactive scenarios"))
        }
        [only] => Recorder::asked_for(
            cli.profile.as_deref(),
            cli.profile_rate,
            board,
            cli.cpus.max(only.cpus),
            None,
        ),
        _ if cli.profile.is_some() => Err(anyhow!("--profile needs exactly one scenario")),
        _ => Ok(None),
    };
    let recorder = recorder.map_err(Failure::usage)?;

    let target = workspace::target_folder()?;
    let emulator = emulator(arch, &target)?;
    let image = Kernel { arch, profile }.build(&target)?;

    let mut out = Output::take()?;
    let mut results = Results::new(cli, &image, &target);
    let mut result = Status::Success;
    for scenario in scenarios {
        let name = scenario.name;
        say(format_args!(
            "booting {name} on {board}, {arch} ({profile})",
            profile = profile.name()
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
            bail!("--thumb is only for armv7a, not for {processor}")
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
            let found = board.processor();
            bail!("the processor of board {board} is {found}, not {processor}")
        }
        (Some(board), _) => Ok(board),
        (None, processor) => Ok(Board::of(processor.unwrap_or(Processor::X86_64))),
    }
}

fn emulator(processor: Processor, target: &Path) -> Result<PathBuf> {
    setup::program(processor.emulator(), processor.emulator_package(), target)
}
