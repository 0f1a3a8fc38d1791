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
success, too. A status counts only if it is the status of QEMU itself, QEMU's monitor reported that the machine ran, and
nothing outside the machine ended QEMU. Status 0 after a report of a failure is a panic. Under a debugger, status 0 is not a success.

Serial text goes to standard output, the runner's messages to standard error. On a terminal, control characters other than
colours are shown as ^[ and the like, except in interactive mode. If CI, GITHUB_ACTIONS, TF_BUILD or TEAMCITY_VERSION is set,
a space is added to lines that would command the CI system. target/serial has the serial line of each boot, byte for byte
(target/serial/2 if a second runner is active).";

/// Boot a kernel in QEMU, show its serial output and report how it ended
///
/// Builds the kernel first if it changed. If QEMU is missing and the runner is root, installs QEMU from the distribution's
/// packages. Also installs the source of `core` and `alloc` if it is missing.
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
    /// Command to run instead of booting
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Architecture to boot [default: x86_64, or the architecture of --image]
    #[arg(long, value_enum)]
    pub arch: Option<Processor>,

    /// Board to boot [default: pc, virt or virt32, depending on the architecture]
    #[arg(long, value_enum)]
    pub board: Option<Board>,

    /// Build the kernel with optimizations
    #[arg(long, conflicts_with = "image")]
    pub release: bool,

    /// Compile the kernel to Thumb code (only for armv7a)
    #[arg(long, conflicts_with = "image")]
    pub thumb: bool,

    /// Number of CPUs; some scenarios use at least two
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub cpus: u32,

    /// End a boot after this number of seconds [default: 60, or no limit with --gdb or --interactive]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,

    /// End a boot after this number of seconds of guest time. A second of guest time is 62.5 million instructions, so the limit
    /// is the same on every host. Guest time stops if the machine sleeps without a timer. In this case, --timeout ends the boot
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["gdb", "interactive"])]
    pub guest_timeout: Option<u64>,

    /// Print the backtraces of all CPUs SECONDS after the start, and let the machine continue. Can be repeated. The runner
    /// always prints the backtraces when the time runs out, at Ctrl-C, and when the machine resets itself
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "gdb")]
    pub ask: Vec<Duration>,

    /// Use an additional ELF image whose code runs on the machine, for example a user program or a boot loader. Can be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "gdb")]
    pub symbols: Vec<PathBuf>,

    /// Save a dump to this folder whenever the runner prints backtraces. A dump contains the memory (compressed), the registers
    /// and the image; `autopsy DUMP` prints the report again. If the kernel itself ends QEMU, no dump is saved
    #[arg(long, value_name = "DIR", conflicts_with = "gdb")]
    pub dump: Option<PathBuf>,

    /// Write a profile to this file. The file extension selects the format: a flame graph (.svg), all samples in time order
    /// (.speedscope.json, for <https://www.speedscope.app>), or call stacks with their counts (.folded). See docs/profiles.md
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gdb", "interactive", "ask", "dump"])]
    pub profile: Option<PathBuf>,

    /// Take N samples per second, measured by the machine's own clock: one second is 62.5 million instructions. With several
    /// CPUs, the rate can be lower than N
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        requires = "profile",
        value_parser = clap::value_parser!(u64).range(1..=INSTRUCTIONS)
    )]
    pub profile_rate: u64,

    /// Start the machine stopped, and wait for gdb on this local TCP port [default: 1234]; `--gdb=run` starts gdb in this terminal
    #[arg(
        long,
        value_name = "PORT|run",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1234",
        value_parser = Gdb::parse
    )]
    pub gdb: Option<Gdb>,

    /// Boot this ELF image instead of building the kernel; the remaining arguments become the image's command line
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,

    /// With --image, treat this exit status of QEMU as success; on Arm, status 0 (power off) is a success, too
    #[arg(long, value_name = "N", default_value_t = Statuses::USUAL.success, requires = "image")]
    pub success_status: u8,

    /// With --image, treat this exit status of QEMU as a panic
    #[arg(long, value_name = "N", default_value_t = Statuses::USUAL.panicked, requires = "image")]
    pub panic_status: u8,

    /// Add names, files, lines and inlined functions to reports, from the image's debug information. Without this option, the
    /// serial output is printed unchanged
    #[arg(long)]
    pub decode: bool,

    /// Let the kernel send backtraces as compact log frames, and decode the frames. With --image, use `--decode` instead, and
    /// put the word `defmt` on the image's command line
    #[arg(long, conflicts_with = "image")]
    pub defmt: bool,

    /// Connect this terminal, or a pipe at standard input, to the machine's serial input, and continue after a reset. Without this
    /// option, standard input is not read. The scenario `monitor` implies this option
    #[arg(short, long)]
    pub interactive: bool,

    /// Let reports show the registers of every interrupted function, not only of the innermost function. With --image, put the
    /// word `registers` on the image's command line instead
    #[arg(long, conflicts_with = "image")]
    pub registers: bool,

    /// Let the kernel send a dump after its last report; `autopsy LOG --image FILE` reads the dump. With --image, put the word
    /// `dump` on the image's command line instead
    #[arg(long, conflicts_with = "image")]
    pub send_dump: bool,

    /// Let the kernel add symbolizer markup to its reports (for `llvm-symbolizer --filter-markup`). With --image, put the word
    /// `markup` on the image's command line instead
    #[arg(long, conflicts_with = "image")]
    pub markup: bool,

    /// Let the kernel print reports in lines of at most N characters; N is at least 40. With --image, put the word `compact:N`
    /// on the image's command line instead
    #[arg(long, value_name = "N", conflicts_with_all = ["image", "defmt", "registers"], value_parser = clap::value_parser!(u16).range(40..))]
    pub compact: Option<u16>,

    /// Show the kernel's report on an emulated screen (QEMU's `ramfb`), in a window, or over VNC if the host has no display. Keys
    /// turn the pages of the report; `q` ends the kernel
    #[arg(long, conflicts_with_all = ["machine", "screenshot"])]
    pub screen: bool,

    /// Show the kernel's report on an emulated screen, save a screenshot of the screen to this PNG file, and end the kernel
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "interactive", "gdb", "profile"])]
    pub screenshot: Option<PathBuf>,

    /// Write the result of each boot to this file, as one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the results and the serial output of all boots to this file, in JUnit's format
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// List the scenarios
    #[arg(long, conflicts_with_all = ["image", "scenarios"])]
    pub list: bool,

    /// Scenarios to boot [default: panic]
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,

    /// Boot with this QEMU command, or with a script that ends with `exec qemu-system-… "$@"`. The kernel in --image may be on a
    /// disk that QEMU boots. Connect the serial line with the QEMU option `-serial stdio`, `-nographic` or `-debugcon stdio`
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
