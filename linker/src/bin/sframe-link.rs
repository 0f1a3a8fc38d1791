//! A linker with the command line of `rust-lld` or `ld` that adds unwind and symbol tables to the image.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
sframe-link adds unwind tables (.sframe) and names (.symbols) to a kernel while it is linked.

It takes the command line of a linker, runs that linker (rust-lld by default), and writes the tables into the image.

Examples:

    [target.x86_64-unknown-none]                      # .cargo/config.toml
    linker = \"sframe-link\"
    rustflags = [\"-Clink-arg=--sframe-outermost=_start\", \"-Clink-arg=--sframe-stats=target/stats.txt\"]

    ln -s \"$(command -v sframe-link)\" DIR/ld          # C: runs the next linker of that name in PATH
    gcc -B DIR ...                                    # or: clang --ld-path=DIR/ld ...

The tables follow the constants (.rodata) of the linker script, or else all code. To choose another place, add this line to the
script after every section that contains code:

    INCLUDE tables.ld

On AArch64, compile Rust with -Cforce-unwind-tables=yes. All other targets need no compiler flag, except s390x, which needs
.eh_frame. Reference: docs/sframe-link.md.

All arguments go to the linker (also --help and --version), except these switches:

    --sframe=v3|v2|none            Choose the version of .sframe (default: v3). v2 (errata 1) has neither flexible functions nor
                                   signal frames
    --sframe-load=sframe|map       Load .sframe (default), or a rule map of half its size, which the kernel reads with
                                   unwind::ImageTables. With map, .sframe stays in the file for tools
    --symbols=LEVEL                Choose the content of .symbols (default: faults):
                                     none        no .symbols
                                     names       names of functions
                                     lines       also, for any address, the line of the outermost function
                                     call-sites  names, and for return addresses all inlined functions with their lines
                                     calls       lines and call-sites
                                     faults      calls, and the same for instructions that can fault
                                     all         all inlined functions with their lines for any address
    --symbol-names=short|full      Write names without (default) or with generic arguments
    --symbols-compare=yes|no       Compare all names and lines with debug information, not only a sample of a thousand functions
                                   (default: yes if the linker gets an option to optimize, as from rustc at opt-level 2 and 3)
    --sframe-room=BYTES            Reserve at least BYTES (as 65536 or 64K) for the rows that are loaded
    --symbols-room=BYTES           Reserve at least BYTES for .symbols. If both are large enough, the linker runs only once
    --symt=FILE                    Also write names, lines and inlined functions of calls to FILE as libdragon's SYMT. Code must be
                                   at multiples of 4 and at 32-bit addresses
    --gsym=FILE                    Also write names, lines and inlined functions to FILE as LLVM's GSYM, for tools on the host
    --sframe-linker=PROGRAM        Run this linker: GNU ld, ld.lld or mold, for any target
    --sframe-repair=yes|no         Compare rows with the code, correct wrong ones and synthesize missing ones (default: yes). With no,
                                   .sframe contains what .eh_frame states, right or wrong
    --sframe-unproven=list|drop    Keep unproven rows and list their code in the tables (default): no backtrace that uses one is
                                   complete. Or remove them, for readers that do not support the list
    --sframe-require               Fail instead of linking without tables: if there is no place for them, if two sections with code
                                   overlap, or if the output is not an ELF file
    --sframe-unsupported=fail|link For an architecture without tables: fail (default), or link with a warning
    --sframe-coverage=PERCENT      Warn if less than PERCENT of the code has rows (default: 90; 0 disables the warning)
    --sframe-outermost=NAME        Declare that function NAME has no caller, so that backtraces end there. Repeatable. Not needed for
                                   the entry of the image if it has no rows
    --sframe-patched=NAME          Leave out the checksum of function NAME, because the kernel changes its code. Repeatable
    --sframe-stats[=FILE]          Write sizes, sources of rows, and functions without rows to standard error, or to FILE: as JSON
                                   if its name ends in .json. The JSON also lists where .eh_frame is wrong
    --sframe-script                Print tables.ld and exit
    --sframe-help                  Print this help and exit
    --sframe-version               Print the version and exit

Environment:

    SFRAME_LINK_LD                 The linker to run, as --sframe-linker. Without either: if called as ld, TARGET-ld or ld.NAME, the
                                   next program of that name in PATH (for ld.sframe: ld); otherwise rust-lld
    SFRAME_LINK_KEEP               Folder, relative to that of the output file, whose content is replaced by the inputs of the link.
                                   sframe-link @FOLDER/arguments repeats the link

Exit status: 0 on success; the linker's own if it fails, and then the output file stays as it was; 1 if the tables could not be
made, and then there is no output file.
";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let called_as = PathBuf::from(arguments.next().unwrap_or_default());
    let arguments: Vec<OsString> = arguments.collect();
    let only = match arguments.as_slice() {
        [only] => only.to_str(),
        _ => None,
    };
    match only {
        Some("--sframe-help") => print!("{HELP}"),
        Some("--sframe-version") => println!("sframe-link {}", env!("CARGO_PKG_VERSION")),
        Some("--sframe-script") => print!("{}", linker::link::SCRIPT),
        _ if arguments.is_empty() => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
        _ => {
            return linker::link::run(&called_as, &arguments).unwrap_or_else(|error| {
                eprintln!("sframe-link: error: {error:#}");
                ExitCode::FAILURE
            });
        }
    }
    ExitCode::SUCCESS
}
