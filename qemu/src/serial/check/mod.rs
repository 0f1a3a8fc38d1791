//! `cargo run -- serial --check`: goes through what only a board can show, step by step, and compares each list with QEMU's.
//!
//! ```text
//! parts ─► talk ─► wire ─► board, or QEMU (emulated)
//!          │
//!          └─► heard ─► judge ─► packed
//!              whole    compare  the file to send
//! ```

mod compare;
mod emulated;
mod heard;
mod judge;
mod packed;
mod parts;
mod talk;
mod whole;
mod wire;

use std::io::stdin;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, Sender};

use anyhow::{Context, Result};
use portable::command_line::TYPED;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::port;
use crate::build::{Kernel, Profile};
use crate::decode::Symbolizer;
use crate::hardware::{Arch, Processor};
use crate::raspi::{Model, write_card};
use crate::status::{Failure, Status};
use crate::{setup, workspace};
use compare::{Judged, Verdict};
use emulated::Machine;
use judge::{Judge, advice};
use packed::{Kept, Packed};
use parts::{Act, LAST, Part, Sent};
use whole::Writable;
use wire::{Ended, Event, Wire};

/// Arguments of a check.
#[derive(Clone, Debug, clap::Args)]
pub struct Check {
    /// Check a board at PORT in seven steps, compare each backtrace with QEMU's, and write the results to one file
    ///
    /// Step 1: the first line (entry, page tables, baud rate). Step 2: a panic. Step 3: the monitor (keys, reset). Step 4: a
    /// stack overflow (guard pages, caches). Step 5: `cpus`, `hang` and `tasks` (other CPUs, timers, FIQs). Step 6: a panic that
    /// is also shown on the screen. Step 7: a panic over the mini UART, without `overlays/disable-bt.dtbo`. A Raspberry Pi 5 has
    /// only steps 1 to 4.
    ///
    /// The first backtrace of a report is compared line by line. In the backtraces of other CPUs and tasks, only the first and
    /// the last line are compared, because the frames differ from boot to boot. The verdict of a step is `equal`, `different`
    /// (intact lines with other text), `damaged` (lines with lost or changed bytes), `nothing came` (the board sent nothing) or
    /// `not tried`. The exit status is 0 if all steps are equal.
    #[arg(long, conflicts_with_all = ["image", "log", "dump"])]
    pub check: bool,

    /// Model of the board that --check checks
    #[arg(long, value_enum, requires = "check", default_value = "raspi4")]
    pub board: Model,

    /// File to which --check writes the results
    #[arg(
        long,
        value_name = "FILE",
        requires = "check",
        default_value = "board-check.json"
    )]
    pub output: PathBuf,

    /// With --check, start at this step. The results of earlier steps are taken from the existing results file (--output)
    #[arg(long, value_name = "STEP", requires = "check", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=i64::from(LAST)))]
    pub from: u8,
}

/// Checks the board at a port.
///
/// # Errors
/// Returns an error if the kernel cannot be built or booted in QEMU, the port cannot be opened, or the file cannot be written.
pub(super) fn check(arguments: &Check, path: &Path, baud: u32) -> Result<Status, Failure> {
    let (board, file) = (arguments.board, &arguments.output);
    let opened = port::open(path, baud).map_err(Failure::usage)?;
    let target = workspace::target_folder()?;
    let (arch, profile) = (Arch::Aarch64, Profile::Debug);
    let image = Kernel { arch, profile }.build(&target)?;
    let card = target.join("card");
    write_card(&card, &image, TYPED)?;
    let symbolizer = Symbolizer::open(&image)?;
    let processor = Processor::from(arch);
    let emulator = setup::program(processor.emulator(), processor.emulator_package(), &target)?;
    let parts: Vec<Part> = parts::parts(board).collect();

    let mut judge = Judge {
        board,
        writable: Writable::of(&symbolizer),
        card: card.display().to_string(),
    };
    let mut lists = Lists {
        image: &image,
        machine: None,
        last: String::new(),
    };
    let mut packed = Packed {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        qemu: version(&emulator)?,
        board: board.name().to_owned(),
        build: judge.writable.build().to_owned(),
        parts: Vec::new(),
    };
    let earlier = (arguments.from > 1).then(|| Packed::read(file));
    let earlier = earlier.transpose().map_err(Failure::usage)?;
    let earlier = earlier
        .filter(|earlier| (&earlier.board, &earlier.build) == (&packed.board, &packed.build));

    let mut line = Wire::new(
        Box::new(
            opened
                .try_clone()
                .context("cannot duplicate the handle of the serial line")?,
        ),
        events(opened)?,
        Some(advice(board).to_owned()),
    );
    let mut over: Option<(Verdict, Status)> = None;
    let mut is_first = true;
    for part in &parts {
        let mut kept = earlier.iter().flat_map(|earlier| &earlier.parts);
        let is_kept = |kept: &&Kept| part.step < arguments.from && kept.is_of(part);
        if let Some(kept) = kept.find(is_kept) {
            packed.parts.push(kept.clone());
            continue;
        }
        let (judged, ends) = match (part.step < arguments.from, over) {
            (true, _) | (_, Some(_)) => (Judged::new(Verdict::NotTried, ""), None),
            _ => {
                line.begin();
                lists.last.clear();
                let act = part.act.or(is_first.then_some(Act::Begin));
                is_first = false;
                try_part(part, act, &mut lists, &mut judge, &mut line)?
            }
        };
        over = over.or(ends.map(|status| (judged.verdict, status)));
        if judged.verdict != Verdict::NotTried || ends.is_some() {
            println!(
                "{} {}: {}: {}",
                part.step,
                part.name,
                judged.verdict.words(),
                judged.why
            );
        }
        let kept = Kept::of(part, &judged, &line.came, &lists.last);
        packed.parts.push(kept);
        // Whatever ends this program later, the steps so far are there.
        packed.write(file)?;
        if judged.verdict == Verdict::NotTried {
            line.begin();
        }
    }
    packed.write(file)?;
    println!("\n  step            verdict");
    packed
        .parts
        .iter()
        .for_each(|kept| println!("{}", kept.line()));
    println!("\nfull results: {}", file.display());
    let is_equal = |kept: &Kept| kept.verdict() == Verdict::Equal;
    Ok(match over {
        Some((_, Status::Interrupted)) => Status::Interrupted,
        _ if packed.parts.iter().all(is_equal) => Status::Success,
        _ => Status::Failed,
    })
}

/// QEMU's lists, each made before the board is talked to for the same part.
struct Lists<'a> {
    image: &'a Path,
    machine: Option<Machine>,
    /// The list of the last part.
    last: String,
}

impl Lists<'_> {
    /// Makes QEMU's list for a part. A machine serves all parts up to the next act of the user, as a board does.
    fn make(&mut self, part: &Part, writable: &mut Writable<'_>) -> Result<()> {
        let running = self.machine.take().filter(|_| part.act.is_none());
        let running = running.map_or_else(|| Machine::start(self.image), Ok)?;
        self.last = self.machine.insert(running).talk(part)?;
        self.last.lines().for_each(|line| writable.add(line));
        Ok(())
    }
}

/// Has the user act if that is needed, and talks to the board. Returns the verdict, and the exit status if the check ends here.
fn try_part(
    part: &Part,
    act: Option<Act>,
    lists: &mut Lists<'_>,
    judge: &mut Judge<'_>,
    line: &mut Wire,
) -> Result<(Judged, Option<Status>)> {
    let silent = |judge: &Judge<'_>, ended: &Ended, line: &Wire| {
        Ok(ending(judge.part(part, ended, &line.came, ""), ended))
    };
    if let Some(act) = act {
        show(act, judge);
        if let Err(ended) = line.entered() {
            return silent(judge, &ended, line);
        }
        println!("waiting for the board; press Enter to end a step that does not finish");
        line.begin_anew();
        line.ask_again();
        match judge.greeting(line) {
            Ok(greeting) if greeting.verdict != Verdict::Equal => {
                let is_over = greeting.verdict == Verdict::Different;
                return Ok((greeting, is_over.then_some(Status::Failed)));
            }
            Ok(greeting) if part.sent == Sent::Nothing => return Ok((greeting, None)),
            Ok(_) => {}
            Err(ended) => return silent(judge, &ended, line),
        }
    }
    lists.make(part, &mut judge.writable)?;
    let ended = talk::talk(line, part);
    let judged = judge.part(part, &ended, &line.came, &lists.last);
    if !compare::wants_eyes(part) || judged.verdict != Verdict::Equal {
        return Ok(ending(judged, &ended));
    }
    println!(
        "Does the screen show the report in colors? Press Enter for yes, or n and Enter for no."
    );
    Ok(match line.entered() {
        Ok(answer) if answer.trim().is_empty() => (judged, None),
        Ok(_) => {
            let why = "the screen does not show the report";
            (Judged::new(Verdict::Different, why), None)
        }
        Err(ended) => {
            let why = "the user did not check the screen";
            ending(Judged::new(Verdict::NotTried, why), &ended)
        }
    })
}

/// Adds the exit status, if the check cannot continue.
const fn ending(judged: Judged, ended: &Ended) -> (Judged, Option<Status>) {
    let status = match ended {
        Ended::Whole | Ended::Entered => None,
        Ended::Gone(_) | Ended::Alone => Some(Status::Failed),
        Ended::Interrupted => Some(Status::Interrupted),
    };
    (judged, status)
}

/// Shows what the user does now.
fn show(act: Act, judge: &Judge<'_>) {
    match (act, judge.board) {
        (Act::Begin, board) => {
            let pins = match board {
                Model::Raspi5 => {
                    "Use the serial connector between the HDMI sockets: connect ground to ground, the adapter's output to the board's input, and the adapter's input to the board's output"
                }
                Model::Raspi3 | Model::Raspi4 => {
                    "Connect the adapter's ground to pin 6, its input to pin 8 (GPIO 14), and its output to pin 10 (GPIO 15)"
                }
            };
            println!("- Connect a screen and a 3.3 V USB serial adapter to the board. {pins}.");
            println!(
                "- Copy kernel8.img, config.txt and cmdline.txt from {folder} to an SD card.",
                folder = judge.card
            );
            println!(
                "- Also copy the firmware's own files, the model's device tree and overlays/disable-bt.dtbo to the SD card. Download these files from:"
            );
            println!("  https://github.com/raspberrypi/firmware, boot/");
            println!("- Insert the card, press Enter here, and switch the board's power on.");
        }
        (Act::WithoutOverlay, _) => {
            println!(
                "- Switch the board's power off. Remove overlays/disable-bt.dtbo from the card, and insert the card again."
            );
            println!("- Press Enter here, and switch the board's power on.");
        }
    }
}

/// The events of the line, of standard input, and of Ctrl-C.
fn events(port: std::fs::File) -> Result<mpsc::Receiver<Event>> {
    let (sender, events) = mpsc::channel();
    let mut signals = Signals::new([SIGINT]).context("cannot handle Ctrl-C")?;
    let (typed, interrupted) = (sender.clone(), sender.clone());
    std::thread::spawn(move || {
        let mut signals = signals.forever();
        while let Some(signal) = signals.next() {
            // The second Ctrl-C ends this program at once.
            if interrupted.send(Event::Interrupted).is_err() || signals.next().is_some() {
                // A failure could not be reported.
                let _ = emulate_default_handler(signal);
            }
        }
    });
    std::thread::spawn(move || pass_on(&typed));
    std::thread::spawn(move || {
        let why = port::read(port, |bytes| sender.send(Event::Written(bytes)).is_ok());
        // The receiver is gone if the check is over.
        let _ = why.map(|why| sender.send(Event::Gone(why)));
    });
    Ok(events)
}

/// Passes on lines of standard input, and its end.
fn pass_on(typed: &Sender<Event>) {
    for line in stdin().lines().map_while(Result::ok) {
        if typed.send(Event::Entered(line)).is_err() {
            return;
        }
    }
    // The receiver is gone if the check is over.
    let _ = typed.send(Event::Alone);
}

/// Returns QEMU's first line about its version.
fn version(emulator: &Path) -> Result<String> {
    let output = Command::new(emulator).arg("--version").output();
    let output = output.with_context(|| format!("cannot start {}", emulator.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
