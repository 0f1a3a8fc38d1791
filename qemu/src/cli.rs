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
  cargo run -- --list                          the list of scenarios
  cargo run -- --junit boots.xml panic deep    results for a CI system
  cargo run -- --defmt panic                   backtraces as compact log frames, decoded here
  cargo run -- --ask 5 --timeout 20 busy       the backtraces of all CPUs after 5 s, and after 20 s
  cargo run -- --timeout 9 --dump DUMPS busy   a dump of the machine when its time runs out
  cargo run -- autopsy DUMPS/NAME              the backtraces of all CPUs, from a dump
  cargo run -- autopsy -i DUMPS/NAME           commands for a dump: registers, memory, code
  cargo run -- --cpus 2 --send-dump deadlock   a dump that the kernel itself sends, as on a board
  cargo run -- --screen exception-in-handler   the report on a screen, in a window; space: next page
  cargo run -- --compact 80 panic              the report in lines of 80 characters
  cargo run -- --profile OUT.svg --release ok  a flame graph of a boot
  cargo run -- profile LOG OUT.svg --image F   a flame graph of a kernel that sampled itself, as on a board
  cargo run -- --gdb panic                     wait for gdb before the first instruction
  cargo run -- --gdb=run panic                 the same, and start gdb in this terminal
  cargo run -- monitor                         type commands to a running kernel; Ctrl-] ends it
  cargo run -- --image my-kernel.elf quiet     your own image, with `quiet` as its command line
  cargo run -- --image my-kernel.elf -- qemu-system-x86_64 -cdrom my.iso -m 1G -serial stdio
                                               the same, booted with your own command
  cargo run --release -- oracle panic          compare the walk with the machine at each instruction
  cargo run -- decode LOG --image FILE.elf     add names and lines to a log
  cargo run -- image --board raspi4 -o CARD    write the files for a Raspberry Pi's SD card
  cargo run -- serial /dev/ttyUSB0 --image F   the console of a board
  cargo run -- new --kind limine my-kernel     write a first kernel, which prints a backtrace
  cargo run -- serial --check /dev/ttyUSB0     compare a board with QEMU, step by step

Exit status:
  0    the scenario ended as expected, or the image reported success
  1    the runner or the machine failed, or a scenario did not end as expected
  2    wrong arguments
  101  the image panicked
  124  time ran out
  130  Ctrl-C
With several scenarios, the first failure decides.

How an image reports success or a panic: QEMU's exit status 33 means success, 101 a panic. On x86_64 the image writes 16 or
50 to port 0xf4 (isa-debug-exit). On Arm it calls semihosting's SYS_EXIT (32-bit: SYS_EXIT_EXTENDED); power off by PSCI is
success, too. Only the status of QEMU itself counts, and only if QEMU's monitor reported that the machine ran and that
nothing ended QEMU from outside. Status 0 after a report of a failure is a panic. Under a debugger status 0 does not count.

Serial text goes to standard output, the runner's messages to standard error. On a terminal, control characters other than
colours are shown as ^[ and the like, except in interactive mode. If CI, GITHUB_ACTIONS, TF_BUILD or TEAMCITY_VERSION is set,
a space is added to lines that would command the CI system. target/serial has the serial line of each boot, byte for byte
(target/serial/2 if a second runner is active).";

/// Boot a kernel in QEMU, show its serial output and report how it ended
///
/// Builds the kernel first if it changed. Installs QEMU from the distribution's packages if run as root, and the source of
/// `core` and `alloc`, if these are missing.
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
    /// Command to run instead of a boot
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

    /// Number of CPUs; some scenarios have at least two
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub cpus: u32,

    /// Limit the time of a boot [default: 60, or no limit with --gdb or --interactive]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,

    /// Limit the time of a boot by the machine's own clock, which counts instructions (62.5 million a second). The limit is the
    /// same on every host. A machine that sleeps without a timer counts none: --timeout ends it
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["gdb", "interactive"])]
    pub guest_timeout: Option<u64>,

    /// Print the backtraces of all CPUs SECONDS after the start; the machine continues. Repeatable. They are also printed when
    /// time runs out, at Ctrl-C, and when the machine resets itself
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "gdb")]
    pub ask: Vec<Duration>,

    /// Use another ELF image for its code on the machine, for example a user program or a boot loader. Repeatable
    #[arg(long, value_name = "FILE", conflicts_with = "gdb")]
    pub symbols: Vec<PathBuf>,

    /// Save a dump to this folder whenever the runner prints backtraces: memory (compressed), registers and the image.
    /// `autopsy DUMP` prints the same report later. A kernel that ends QEMU itself leaves no dump
    #[arg(long, value_name = "DIR", conflicts_with = "gdb")]
    pub dump: Option<PathBuf>,

    /// Write a profile to this file: a flame graph (.svg), all samples in the order of time (.speedscope.json, for
    /// <https://www.speedscope.app>), or a line with a count for each call stack (.folded). docs/profiles.md explains it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gdb", "interactive", "ask", "dump"])]
    pub profile: Option<PathBuf>,

    /// Take N samples of each second of the machine's own time, which is 62.5 million instructions; at most N with several CPUs
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        requires = "profile",
        value_parser = clap::value_parser!(u64).range(1..=INSTRUCTIONS)
    )]
    pub profile_rate: u64,

    /// Start stopped, and wait for gdb on this local TCP port [default: 1234]; `--gdb=run` starts gdb in this terminal
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

    /// With --image: the exit status of QEMU that means success; on Arm, 0 (power off) does, too
    #[arg(long, value_name = "N", default_value_t = Statuses::USUAL.success, requires = "image")]
    pub success_status: u8,

    /// With --image: the exit status of QEMU that means a panic
    #[arg(long, value_name = "N", default_value_t = Statuses::USUAL.panicked, requires = "image")]
    pub panic_status: u8,

    /// Add names, files, lines and inlined functions to reports, from the image's debug information; without this,
    /// standard output gets the serial line as it is
    #[arg(long)]
    pub decode: bool,

    /// Let the kernel send backtraces as compact log frames, and decode them; an image of your own needs the word `defmt` on
    /// its command line, and `--decode`
    #[arg(long, conflicts_with = "image")]
    pub defmt: bool,

    /// Connect the machine's serial input with this terminal, and continue after a reset; implied by the scenario `monitor`
    #[arg(short, long)]
    pub interactive: bool,

    /// Let reports show the registers of every interrupted function, not only of the innermost one; an image of your own needs
    /// the word `registers` on its command line
    #[arg(long, conflicts_with = "image")]
    pub registers: bool,

    /// Let the kernel send a dump after its last report, which `autopsy LOG --image FILE` reads; an image of your own needs the
    /// word `dump` on its command line
    #[arg(long, conflicts_with = "image")]
    pub send_dump: bool,

    /// Let the kernel add the markup for symbolizers (`llvm-symbolizer --filter-markup`); an image of your own needs the word
    /// `markup` on its command line
    #[arg(long, conflicts_with = "image")]
    pub markup: bool,

    /// Let the kernel print reports in lines of at most N characters (at least 40); an image of your own needs the word
    /// `compact:N` on its command line
    #[arg(long, value_name = "N", conflicts_with_all = ["image", "defmt", "registers"], value_parser = clap::value_parser!(u16).range(40..))]
    pub compact: Option<u16>,

    /// Give the machine a screen (QEMU's `ramfb`) in a window, or for a VNC viewer if there is no display. The kernel shows its
    /// report there; keys turn its pages, `q` ends it
    #[arg(long, conflicts_with_all = ["machine", "screenshot"])]
    pub screen: bool,

    /// Give the machine a screen, save a screenshot of the report to this file (PNG), and end the kernel
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "interactive", "gdb", "profile"])]
    pub screenshot: Option<PathBuf>,

    /// Write the result of each boot to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the results of all boots to this file in JUnit's format, with their serial lines
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// List the scenarios
    #[arg(long, conflicts_with_all = ["image", "scenarios"])]
    pub list: bool,

    /// Scenarios to boot [default: panic]
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,

    /// With --image: boot with this command, for example from a disk; --image names the kernel on it. `-serial stdio`,
    /// `-nographic` or `-debugcon stdio` selects the serial line. A script must end with `exec qemu-system-… "$@"`
    #[arg(last = true, value_name = "QEMU", requires = "image", conflicts_with_all = ["scenarios", "board", "cpus"])]
    pub machine: Vec<String>,
}

/// A time in seconds, which need not be whole.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse()
        .map_err(|_| "expected a number of seconds".to_owned())?;
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
