//! A linker with the command line of `rust-lld` or `ld` that adds unwind and symbol tables to the image.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
sframe-link: a linker that adds .sframe and .symbols to the image; it runs rust-lld, or another linker, and takes the
same command line

    [target.x86_64-unknown-none]                      in .cargo/config.toml
    linker = \"sframe-link\"
    rustflags = [\"-Clink-arg=--sframe-stats=target/stats.txt\"]

The tables are where the linker script puts .rodata, or come behind all code, and __sframe_start, __sframe_end, __symbols_start and
__symbols_end lie around them. Another place, in a linker script, after every section that holds code:

    INCLUDE tables.ld

Rows come from the code; from .eh_frame too, compared with the code, if there is one: -Cforce-unwind-tables=yes, and
*(.eh_frame) kept in the script. On AArch64 functions that never return need that. s390x has rows by .eh_frame alone.

For C compilers it is a linker by name, and runs the next one of that name in PATH:

    ln -s \"$(command -v sframe-link)\" DIR/ld;  gcc -B DIR ...
    clang --ld-path=DIR/ld ...                        or, with a link ld.sframe in PATH, clang -fuse-ld=sframe

Every argument goes to the linker (--help and --version too), except

    --sframe=v3|v2|none            make .sframe; v3 unless said otherwise; v2 is version 2 errata 1, which has no flexible
                                   functions and no signal frames
    --sframe-load=sframe|map       what of the rows is loaded: .sframe unless said otherwise; or a rule map, half as large and
                                   quicker to search, in its place, while .sframe stays in the file: the kernel must read it by
                                   unwind::ImageTables, as reports of postmortem do. Where a map cannot say all, .sframe is
                                   loaded, and a warning says why
    --symbols=LEVEL                make .symbols; faults unless said otherwise:
                                     names  names of functions
                                     lines  and, for any address, the line of the outermost frame
                                     calls  and, for return addresses, all inlined functions with their lines
                                     faults and, for instructions that can fault, the same
                                     call-sites  as calls, without lines elsewhere: two thirds of its size
                                     all    names, and all inlined functions with their lines for any address
                                     none   no .symbols
    --symbol-names=short|full      without or with generic arguments; short unless said otherwise
    --symbols-compare=yes|no       compare all names and lines with debug information, not only those of a thousand functions; yes
                                   if the linker is asked to optimize, as rustc does from opt-level 2 on; sframe check does it too
    --sframe-room=BYTES            the least room for the rows that are loaded, and for .symbols, as 65536 or 64K. If all tables have
    --symbols-room=BYTES           one, and it is enough, the linker runs once always, not only where the last image has as much
    --symt=FILE                    write names, lines and inlined functions of calls to FILE as libdragon's SYMT too, if all code
                                   lies at multiples of 4, in 32 bits
    --gsym=FILE                    write names, lines and inlined functions to FILE as LLVM's GSYM too, for the host
    --sframe-linker=PROGRAM        the linker to run: GNU ld, ld.lld, mold, of any target
    --sframe-repair=yes|no         compare rows with the code, mend wrong ones and make missing ones; yes unless said
                                   otherwise; with no, .sframe says what .eh_frame says, right or wrong, and
                                   there must be one
    --sframe-unproven=list|drop    keep unproven rows and list their code in the table, so that no backtrace that uses one is
                                   complete (default); or remove them, for readers that do not support the list
    --sframe-require               fail where the link would go through without tables: if there is no place for them, or code is
                                   linked at one address twice, or the output is no ELF file
    --sframe-unsupported=fail|link fail for an architecture that has no tables (default); or link without them, with a warning
    --sframe-coverage=PERCENT      warn if .sframe has rows for less of the code: 90 unless said otherwise, 0 for never
    --sframe-outermost=NAME        this function has no caller: traces end there, at the end of their stack. Assembly that makes a
                                   stack and calls the first function needs no .cfi_undefined then. Repeatable; the entry
                                   of the image is one already if it has no rows
    --sframe-patched=NAME          the kernel changes the code of this function: the tables contain no checksum of it. With a checksum,
                                   a report says that the code in memory is not the code that was linked. Repeatable
    --sframe-stats[=FILE]          write what was made, where it comes from, where .eh_frame is wrong, and what was left
                                   out and why, to FILE or standard error; as JSON when FILE ends in .json
    --sframe-script                print tables.ld and stop
    --sframe-help                  print this and stop
    --sframe-version               print the version and stop

Environment:

    SFRAME_LINK_LD                 the linker to run, as --sframe-linker; without either, called as ld, TARGET-ld or
                                   ld.NAME, the program of that name in PATH (called as ld.sframe, ld); otherwise
                                   rust-lld from PATH or from rustc's toolchain
    SFRAME_LINK_KEEP               a folder whose content is replaced by the inputs of the link; a relative name counts from the folder of
                                   the output file. sframe-link @FOLDER/arguments makes the link again, when the compiler has
                                   removed its objects

Exit status: the linker's own when it fails, and then the output file is as it was; otherwise 0, or 1 when the tables
could not be made; then there is no output file.
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
