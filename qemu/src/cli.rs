//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::autopsy::Autopsy;
use crate::decode::Decode;
use crate::machine::{Board, Gdb, INSTRUCTIONS, Processor, Statuses};
use crate::oracle::Oracle;
use crate::profile::OfLog;
use crate::program;
use crate::raspi::Card;
use crate::serial::Serial;
use crate::template::New;

/// Seconds a boot may take unless `--timeout` says otherwise.
const DEFAULT_TIMEOUT: u64 = 60;

const EXAMPLES: &str = "\
Examples:
  cargo run                                    x86_64, scenario `panic`
  cargo run -- --arch aarch64 --release deep   another architecture, profile and scenario
  cargo run -- --board raspi3b panic           a Raspberry Pi 3
  cargo run -- panic heap-panic ok             three boots, one after the other
  cargo run -- --list                          what there is to boot
  cargo run -- --junit boots.xml panic deep    results for a CI system
  cargo run -- --defmt panic                   traces as compact log frames, decoded here
  cargo run -- --ask 5 --timeout 20 busy       where every CPU is after 5 s; and after 20 s, if it still runs
  cargo run -- --timeout 9 --dump DUMPS busy   the machine as a file, when its time runs out
  cargo run -- autopsy DUMPS/NAME              where every CPU of such a file was
  cargo run -- autopsy -i DUMPS/NAME           the same, asked more: registers, memory, code
  cargo run -- --cpus 2 --send-dump deadlock   the kernel itself sends it, as a board without QEMU does
  cargo run -- --screen exception-in-handler   the report on a screen, in a window; space is the next page
  cargo run -- --compact 80 panic              the report in lines of 80 characters
  cargo run -- --profile OUT.svg --release ok  where the time went, as a flame graph
  cargo run -- profile LOG OUT.svg --image F   the same of a kernel that has sampled itself, on a board
  cargo run -- --gdb panic                     wait for gdb before the first instruction
  cargo run -- --gdb=run panic                 start gdb too, here
  cargo run -- monitor                         type commands to a running kernel; Ctrl-] ends it
  cargo run -- --image my-kernel.elf quiet     your own image, with `quiet` as its command line
  cargo run -- --image my-kernel.elf -- qemu-system-x86_64 -cdrom my.iso -m 1G -serial stdio
                                               the same, booted in your own way
  cargo run --release -- oracle panic          between every two instructions: the walk, and what the machine did
  cargo run -- decode LOG --image FILE.elf     add names and lines to a log
  cargo run -- image --board raspi4 -o CARD    what goes on a Raspberry Pi's SD card
  cargo run -- serial /dev/ttyUSB0 --image F   the console of a board
  cargo run -- new --kind limine my-kernel     a kernel to begin with, which prints a backtrace
  cargo run -- serial --check /dev/ttyUSB0     a board, step by step, compared with QEMU

Exit status:
  0    the scenario ended as it should, or the image reported success
  1    the runner or the machine failed, or a scenario did not end as it should
  2    the arguments cannot be used
  101  the image panicked
  124  time ran out
  130  Ctrl-C
Of several scenarios, the first that did not end as it should decides.

What an image tells: QEMU's own exit status 33 is success and 101 a panic. On x86_64 the image writes 16 or 50 to port
0xf4 (isa-debug-exit), on Arm it calls semihosting's SYS_EXIT (of 32 bits SYS_EXIT_EXTENDED); there, switching the machine off by PSCI is success too.
A status counts only if QEMU's monitor has said that the machine ran, and that nobody ended QEMU from outside, and if it is QEMU's
own. Status 0 after a report of a failure is a panic; under a debugger, whose `kill` ends QEMU so, it is no verdict.
Serial text goes to standard output, the runner's own words go to standard error. Where standard output is a terminal, control
characters but colours are shown as ^[ and the like, unless you type to the machine; where CI, GITHUB_ACTIONS, TF_BUILD or
TEAMCITY_VERSION is set, lines that would command the CI system are broken by a space, too. The serial line of each boot is
also kept in target/serial, byte for byte; that of a second run at the same time in target/serial/2, and so on.";

/// Boots the kernel in QEMU, shows its serial line and judges how it ended.
///
/// Builds what has changed first, and installs what is missing: QEMU from the distribution's packages when run as
/// root, and the source of `core` and `alloc`.
#[derive(Debug, Parser)]
#[command(
    bin_name = program::called(),
    version,
    after_help = program::examples(EXAMPLES),
    max_term_width = 120,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What to do instead of booting
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Architecture to boot [default: x86_64, or that of the image]
    #[arg(long, value_enum)]
    pub arch: Option<Processor>,

    /// Board to boot [default: pc, virt or virt32, by the architecture]
    #[arg(long, value_enum)]
    pub board: Option<Board>,

    /// Build the kernel with optimizations
    #[arg(long, conflicts_with = "image")]
    pub release: bool,

    /// Build the kernel in Thumb code
    #[arg(long, conflicts_with = "image")]
    pub thumb: bool,

    /// CPUs of the machine; some scenarios have two at least
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub cpus: u32,

    /// Seconds a boot may take [default: 60, or no limit with --gdb or --interactive]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,

    /// Seconds a boot may take by the machine's own clock, which then counts instructions, 62.5 million a second: the same
    /// on every host, however busy. A machine that sleeps with no timer set counts none: --timeout is for that
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["gdb", "interactive"])]
    pub guest_timeout: Option<u64>,

    /// Says, so many seconds after the start, where every CPU is and who has called it, and lets the machine go on; may be given
    /// several times. It is said anyway when time runs out, at Ctrl-C, and when the machine resets itself: of any image, by its
    /// `.sframe`, `.eh_frame` or `.debug_frame`, or else by frame pointers
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "gdb")]
    pub ask: Vec<Duration>,

    /// Another ELF image whose code runs on the machine, for when it is asked where it is: a user program's, a boot loader's. May be
    /// given several times. A CPU that runs its code is walked by it, and so is what lies behind the kernel's callers in user code
    #[arg(long, value_name = "FILE", conflicts_with = "gdb")]
    pub symbols: Vec<PathBuf>,

    /// Keeps a machine that is asked where it is as a dump in this folder: its memory, compressed, the registers of all CPUs, and
    /// the image. `autopsy` says the same of it later. A kernel that ends QEMU itself, as by a verdict, leaves none
    #[arg(long, value_name = "DIR", conflicts_with = "gdb")]
    pub dump: Option<PathBuf>,

    /// Writes where the time went to this file: a flame graph (.svg), all samples in the order of time with files and lines
    /// (.speedscope.json, for <https://www.speedscope.app>), or a line for each call stack with its count (.folded). The boot is recorded; then the machine does the same again, is stopped at one of so many
    /// instructions, wherever that is, and walked from outside. It notices nothing, needs no frame pointers, and twice gives the
    /// same file. What is not complete has the root `[incomplete]`, or `[undeclared stack]` if every caller up to the outermost function was
    /// found on a stack that the image does not declare (`[undeclared stack, in doubt]`: by a row that was not proven). One boot. A machine of several CPUs, which QEMU does not record, and one of a QEMU
    /// command of your own are stopped while they run, in proportion to time, and twice gives two files
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gdb", "interactive", "ask", "dump"])]
    pub profile: Option<PathBuf>,

    /// Samples that a profile has of a second of the machine's own time, which is 62.5 million instructions; of several CPUs at most so
    /// many, as a stop takes a millisecond
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        requires = "profile",
        value_parser = clap::value_parser!(u64).range(1..=INSTRUCTIONS)
    )]
    pub profile_rate: u64,

    /// Start stopped, with a stub for gdb at this TCP port of the local host [default: 1234]; `run` starts gdb here
    #[arg(
        long,
        value_name = "PORT|run",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1234",
        value_parser = Gdb::parse
    )]
    pub gdb: Option<Gdb>,

    /// Boot this ELF image instead of building one; the other words are its command line
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,

    /// With --image: QEMU's exit status when the kernel reports success; on Arm 0, switching off, is one too
    #[arg(long, value_name = "N", default_value_t = Statuses::USUAL.success, requires = "image")]
    pub success_status: u8,

    /// With --image: QEMU's exit status when the kernel has panicked
    #[arg(long, value_name = "N", default_value_t = Statuses::USUAL.panicked, requires = "image")]
    pub panic_status: u8,

    /// Add names, files, lines and inlined functions to reports, from the image's debug information; without this,
    /// standard output gets the serial line as it is
    #[arg(long)]
    pub decode: bool,

    /// Have traces sent as compact log frames, which standard output gets decoded; an image of your own needs the word `defmt`
    /// on its command line, and `--decode`
    #[arg(long, conflicts_with = "image")]
    pub defmt: bool,

    /// Connect the machine's serial input with this terminal, and go on when the machine resets itself; scenario `monitor`
    /// does so by itself
    #[arg(short, long)]
    pub interactive: bool,

    /// Have reports show the registers of each function that was interrupted, not only of the innermost; an image of your
    /// own needs the word `registers` on its command line
    #[arg(long, conflicts_with = "image")]
    pub registers: bool,

    /// Have the kernel send its machine after its last report, as lines that `autopsy LOG --image FILE` asks more; an image of your own
    /// needs the word `dump` on its command line
    #[arg(long, conflicts_with = "image")]
    pub send_dump: bool,

    /// Have traces come in the markup for symbolizers too (`llvm-symbolizer --filter-markup`); an image of your own needs the
    /// word `markup` on its command line
    #[arg(long, conflicts_with = "image")]
    pub markup: bool,

    /// Have traces come in lines of so many characters at most, 40 at least, which keep the tails of names and paths; an image of your
    /// own needs the word `compact:N` on its command line
    #[arg(long, value_name = "N", conflicts_with_all = ["image", "defmt", "registers"], value_parser = clap::value_parser!(u16).range(40..))]
    pub compact: Option<u16>,

    /// Give the machine a screen (QEMU's `ramfb`), in a window where there is a display; elsewhere, for a viewer of VNC. The kernel shows its
    /// report there, and is paged through it by keys: in the window on a PC, or typed here. `q` ends it
    #[arg(long, conflicts_with_all = ["machine", "screenshot"])]
    pub screen: bool,

    /// Give the machine a screen, and write what it shows to this file (PNG), once the kernel has its report there; then end the kernel
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "interactive", "gdb", "profile"])]
    pub screenshot: Option<PathBuf>,

    /// Write what came of each boot to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write what came of all boots to this file, as JUnit does, with their serial lines
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// List the scenarios
    #[arg(long, conflicts_with_all = ["image", "scenarios"])]
    pub list: bool,

    /// What to boot [default: panic]
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,

    /// With --image: boots by this command, from a disk for example; --image says what runs. `-serial stdio`, `-nographic` and
    /// `-debugcon stdio` become the line that is read here. A script gets the runner's own arguments for QEMU at the end, and
    /// starts it by `exec qemu-system-… "$@"`
    #[arg(last = true, value_name = "QEMU", requires = "image", conflicts_with_all = ["scenarios", "board", "cpus"])]
    pub machine: Vec<String>,
}

/// A time in seconds, which need not be whole.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// What to do instead of booting.
#[derive(Debug, Subcommand)]
pub enum Command {
    // What clap says of each is said at its arguments.
    #[expect(
        missing_docs,
        reason = "a comment here would take the place of that one"
    )]
    Decode(Decode),
    #[expect(
        missing_docs,
        reason = "a comment here would take the place of that one"
    )]
    Serial(Serial),
    #[expect(
        missing_docs,
        reason = "a comment here would take the place of that one"
    )]
    Image(Card),
    #[expect(
        missing_docs,
        reason = "a comment here would take the place of that one"
    )]
    Oracle(Oracle),
    #[expect(
        missing_docs,
        reason = "a comment here would take the place of that one"
    )]
    Autopsy(Autopsy),
    #[expect(
        missing_docs,
        reason = "a comment here would take the place of that one"
    )]
    Profile(OfLog),
    #[expect(
        missing_docs,
        reason = "a comment here would take the place of that one"
    )]
    New(New),
}

impl Cli {
    /// How long a boot may take. Who debugs, or types to an `interactive` machine, takes the time it takes.
    #[must_use]
    pub fn time_limit(&self, interactive: bool) -> Option<Duration> {
        let seconds = match self.gdb.is_some() || interactive {
            true => self.timeout,
            false => Some(self.timeout.unwrap_or(DEFAULT_TIMEOUT)),
        };
        seconds.map(Duration::from_secs)
    }
}
