//! `cargo run -- --arch armv7a`: builds the kernel for ARMv7-A, boots its scenarios, and judges how they ended.
//!
//! It is apart from the other architectures, because nothing of what looks at a machine from outside knows registers of 32 bits: stub,
//! dumps, profiles, the oracle.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::build;
use crate::cli::Cli;
use crate::judge;
use crate::machine::{Booted, Statuses, Verdict};
use crate::output::Output;
use crate::scenario::{self, Outcome, Scenario};
use crate::setup;
use crate::status::{Failure, Status};
use crate::words::say;
use crate::workspace;

/// The name of the architecture.
pub const NAME: &str = "armv7a";

/// QEMU's emulator, and Debian's package with it.
pub const EMULATOR: (&str, &str) = ("qemu-system-arm", "qemu-system-arm");

/// The machine, without its image and its serial line. The kernel's SYS_EXIT_EXTENDED ends QEMU with the status that it gives.
pub const MACHINE: [&str; 14] = [
    "-nodefaults",
    "-no-user-config",
    "-display",
    "none",
    "-machine",
    "virt,accel=tcg",
    "-cpu",
    "cortex-a15",
    "-m",
    "256M",
    "-semihosting-config",
    "enable=on,target=native",
    "-serial",
    "stdio",
];

/// How often it is looked whether a machine has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Boots the scenarios that are asked for.
///
/// # Errors
/// When the arguments cannot be used, or the runner fails.
pub fn run(cli: &Cli) -> Result<Status, Failure> {
    refuse(cli).map_err(Failure::usage)?;
    let scenarios = scenario::wanted(&cli.scenarios, NAME).map_err(Failure::usage)?;
    let target = workspace::target_folder()?;
    let emulator = setup::program(EMULATOR.0, EMULATOR.1, &target)?;
    let source = setup::rust_src(&target)?;
    let image = build::armv7a(cli.release, &source, &target)?;
    let mut out = Output::take()?;
    let mut result = Status::Success;
    for scenario in scenarios {
        let name = scenario.name;
        say(format_args!("booting {name} on virt, {NAME}"));
        let booted = boot(cli, scenario, &emulator, &image, &mut out)?;
        let judgement = judge::scenario(scenario.outcome_on(NAME), &booted);
        say(format_args!("{name}: {}", judgement.words));
        if result == Status::Success {
            result = judgement.status;
        }
    }
    Ok(result)
}

/// Refuses what is not there for this architecture.
fn refuse(cli: &Cli) -> Result<()> {
    for (is_wanted, option) in [
        (cli.command.is_some(), "a command"),
        (cli.image.is_some(), "--image"),
        (cli.board.is_some(), "--board"),
        (cli.cpus > 1, "--cpus"),
        (cli.guest_timeout.is_some(), "--guest-timeout"),
        (!cli.ask.is_empty(), "--ask"),
        (!cli.symbols.is_empty(), "--symbols"),
        (cli.dump.is_some(), "--dump"),
        (cli.send_dump, "--send-dump"),
        (cli.profile.is_some(), "--profile"),
        (cli.gdb.is_some(), "--gdb"),
        (cli.decode, "--decode"),
        (cli.defmt, "--defmt"),
        (cli.junit.is_some(), "--junit"),
        (cli.json.is_some(), "--json"),
    ] {
        if is_wanted {
            bail!(
                "{option} is not there for {NAME}: its kernel uses one CPU, and its machines are not looked at from outside"
            );
        }
    }
    Ok(())
}

/// A running QEMU, which does not outlive this value.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn boot(
    cli: &Cli,
    scenario: &Scenario,
    emulator: &Path,
    image: &PathBuf,
    out: &mut Output,
) -> Result<Booted> {
    let interactive = cli.interactive || scenario.outcome == Outcome::Interactive;
    let words = [
        (true, scenario.name),
        (cli.registers, " registers"),
        (cli.markup, " markup"),
    ];
    let words: String = words
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, it)| *it)
        .collect();
    let limit = cli.time_limit(interactive);
    let started = Instant::now();
    let mut command = Command::new(emulator);
    command
        .args(MACHINE)
        .args(["-monitor", "none", "-no-reboot"]);
    command.arg("-kernel").arg(image).args(["-append", &words]);
    command.stdout(Stdio::piped());
    if !interactive {
        command.stdin(Stdio::null());
    }
    let child = command.spawn();
    let mut machine =
        Machine(child.with_context(|| format!("cannot start {}", emulator.display()))?);
    let mut line = machine.0.stdout.take().context("QEMU has no output")?;
    let (sender, pieces) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = line.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    out.begin(limit, interactive);
    let mut serial = Vec::new();
    let verdict = loop {
        match pieces.recv_timeout(LOOK) {
            Ok(piece) => {
                out.write_all(&piece)
                    .context("cannot pass on the serial line")?;
                out.flush().context("cannot pass on the serial line")?;
                serial.extend(piece);
            }
            // All of the line was read.
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                break verdict(machine.0.wait().context("cannot wait for QEMU")?);
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
        }
        if limit.is_some_and(|limit| started.elapsed() > limit) {
            break Verdict::TimedOut;
        }
    };
    out.end().context("cannot pass on the serial line")?;
    Ok(Booted {
        verdict,
        serial,
        asked: Vec::new(),
        took: started.elapsed(),
    })
}

fn verdict(status: ExitStatus) -> Verdict {
    let Statuses { success, panicked } = Statuses::USUAL;
    match status.code() {
        Some(code) if code == i32::from(success) => Verdict::Success,
        Some(code) if code == i32::from(panicked) => Verdict::Panicked,
        _ => Verdict::Failed(format!("QEMU ended with {status}, which is no verdict")),
    }
}
