//! A linker with `rust-lld`'s command line that adds unwind and symbol tables to the image.

use std::ffi::OsString;
use std::process::ExitCode;

const HELP: &str = "\
sframe-link: a linker with rust-lld's command line that adds .sframe and .symbols to the image

    [target.x86_64-unknown-none]                      in .cargo/config.toml
    linker = \"sframe-link\"
    rustflags = [\"-Cforce-unwind-tables=yes\", \"-Clink-arg=--sframe-stats=target/stats.txt\"]

and in the linker script, after every section that holds code:

    INCLUDE tables.ld

Every argument goes to rust-lld (--help and --version too), except

    --sframe=v3|v2|none            make .sframe; v3 unless said otherwise; v2 is version 2 errata 1, which has no flexible
                                   functions and no signal frames
    --sframe-blocks                add a block index to .sframe (v3): a twentieth larger, and quicker to search from some
                                   ten thousand functions on
    --symbols=LEVEL                make .symbols; calls unless said otherwise:
                                     names  names of functions
                                     lines  and, for any address, the line of the outermost frame
                                     calls  and, for return addresses, all inlined functions with their lines
                                     all    names, and all inlined functions with their lines for any address
                                     none   no .symbols
    --symbol-names=short|full      without or with generic arguments; short unless said otherwise
    --sframe-stats[=FILE]          write what was made, and what was left out and why, to FILE or standard error
    --sframe-script                print tables.ld and stop
    --sframe-help                  print this and stop
    --sframe-version               print the version and stop

Environment:

    SFRAME_LINK_LD                 the linker to use, instead of rust-lld from PATH or from rustc's toolchain

Exit status: the linker's own when it fails, otherwise 0, or 1 when the tables could not be made; then there is no
output file.
";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
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
            return linker::link::run(&arguments).unwrap_or_else(|error| {
                eprintln!("sframe-link: error: {error:#}");
                ExitCode::FAILURE
            });
        }
    }
    ExitCode::SUCCESS
}
