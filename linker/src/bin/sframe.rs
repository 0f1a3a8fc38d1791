//! Inspects and checks the unwind and symbol tables of a linked image.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use linker::covered::LEAST;
use linker::inspect::{self, Subject, with_file, with_laid_out};
use linker::link::{Options, covers_little, fewer_levels, left_out, no_map, sizes, unlined};
use linker::make::make;
use linker::symbols::package_of;
use linker::symt::Table;
use linker::whole;

/// Inspect and check the unwind and symbol tables of a linked ELF file.
///
/// The tables may come from sframe-link, from `sframe make` or from another tool.
#[derive(Parser)]
#[command(
    name = "sframe",
    version,
    after_help = "Examples:\n  sframe check target/x86_64-unknown-none/debug/kernel\n  sframe lookup \
                  target/x86_64-unknown-none/debug/kernel ffffffff80105a3c\n  sframe make program -o \
                  program-with-tables\n\nExit status: 0 on success; 1 if the file is damaged, or a check or look-up failed; \
                  2 for invalid arguments.\nReference: docs/sframe-link.md"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print every function and row, in the format of objdump --sframe.
    ///
    /// For 32-bit ARM, prints the rows of the rule map and the exception tables; for libdragon's SYMT, every entry.
    Dump {
        /// Linked ELF file, object file or SYMT file.
        file: PathBuf,
        /// Print one JSON object per line: first the header, then each function with its rows.
        #[arg(long)]
        json: bool,
    },
    /// Compare .sframe with the code and with .eh_frame, check its format, and compare .symbols with debug information.
    ///
    /// The check follows each function from its entry through all branches, and computes the right row from the effect of each
    /// instruction on the stack. The check lists each difference. The exit status is 1 if a table is wrong, and 0 if only .eh_frame is wrong.
    Check {
        /// Linked ELF file or object file with .sframe.
        file: PathBuf,
        /// Fail if less than PERCENT of the code has rows; 0 disables this check.
        #[arg(long, value_name = "PERCENT", default_value_t = LEAST, value_parser = clap::value_parser!(u8).range(..=100))]
        coverage: u8,
    },
    /// Add .sframe and .symbols to a file that is already linked.
    Make {
        /// Linked ELF file.
        file: PathBuf,
        /// File to write, which may be the input file.
        #[arg(short, long, value_name = "OUT")]
        output: PathBuf,
        /// Choose the version of .sframe: v3, v2 (errata 1) or none.
        #[arg(long, value_name = "VERSION", default_value = "v3")]
        sframe: String,
        /// Compare rows with the code, correct wrong ones and synthesize missing ones: yes or no.
        #[arg(long, value_name = "YES|NO", default_value = "yes")]
        sframe_repair: String,
        /// Keep unproven rows and list their code (list), or remove them for readers that do not support the list (drop).
        #[arg(long, value_name = "LIST|DROP", default_value = "list")]
        sframe_unproven: String,
        /// Table to load into memory: .sframe (sframe), or a rule map of half its size (map); .sframe stays in the file for tools.
        #[arg(long, value_name = "TABLE", default_value = "sframe")]
        sframe_load: String,
        /// Choose the content of .symbols: names, lines, call-sites, calls, faults, all or none.
        #[arg(long, value_name = "LEVEL", default_value = "faults")]
        symbols: String,
        /// Write names without (short) or with (full) generic arguments.
        #[arg(long, value_name = "NAMES", default_value = "short")]
        symbol_names: String,
        /// Also write names, lines and inlined functions to FILE in LLVM's GSYM format, for llvm-gsymutil.
        #[arg(long, value_name = "FILE")]
        gsym: Option<PathBuf>,
        /// Also write names, lines and inlined functions of calls to FILE in libdragon's SYMT format. Code must be at multiples of 4 and at
        /// 32-bit addresses.
        #[arg(long, value_name = "FILE")]
        symt: Option<PathBuf>,
    },
    /// Print names, lines, inlined functions and unwind rules at addresses.
    Lookup {
        /// Linked ELF file, object file, or SYMT file, which contains only names.
        file: PathBuf,
        /// Hexadecimal addresses, with or without 0x.
        #[arg(required = true, value_parser = address)]
        addresses: Vec<u64>,
    },
    /// Print the sizes of the tables and the sources of functions and rows.
    Stats {
        /// Linked ELF file or object file.
        file: PathBuf,
    },
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text).replace('_', "");
    u64::from_str_radix(&digits, 16).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let result = run(Arguments::parse().command, &mut out).and_then(|ok| {
        out.flush().context("standard output")?;
        Ok(ok)
    });
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader has closed the pipe, as `sframe dump FILE | head` does: no error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sframe: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command. Returns false if a check failed.
fn run(command: Command, out: &mut dyn Write) -> Result<bool> {
    match command {
        Command::Dump { file, json: false } if is_symt(&file)? => with_symt(&file, |table| {
            table.dump(out)?;
            Ok(true)
        }),
        Command::Lookup { file, addresses } if is_symt(&file)? => with_symt(&file, |table| {
            let mut all = true;
            for address in addresses {
                all &= table.lookup(address, out)?;
            }
            Ok(all)
        }),
        Command::Dump { file, json } => with_subject(&file, |_, subject| {
            if json {
                inspect::json(subject, out)?;
            } else {
                inspect::dump(subject, out)?;
            }
            Ok(true)
        }),
        Command::Check { file, coverage } => with_laid_out(&file, |data, starts| {
            let check = inspect::check(data, starts, Some(&package_of(&file)))?;
            check.write(coverage, out)?;
            Ok(check.is_ok(coverage))
        }),
        Command::Make {
            file,
            output,
            sframe,
            sframe_repair,
            sframe_unproven,
            sframe_load,
            symbols,
            symbol_names,
            gsym,
            symt,
        } => {
            let mut options = Options {
                gsym,
                symt,
                package: Some(package_of(&file)),
                ..Options::default()
            };
            for switch in [
                format!("--sframe={sframe}"),
                format!("--sframe-repair={sframe_repair}"),
                format!("--sframe-unproven={sframe_unproven}"),
                format!("--sframe-load={sframe_load}"),
                format!("--symbols={symbols}"),
                format!("--symbol-names={symbol_names}"),
            ] {
                options.take(switch.as_ref())?;
            }
            with_file(&file, |data| {
                let made = make(data, &options)?;
                whole::write_like(&output, &file, &made.bytes)?;
                let missing = left_out(&made.tables).into_iter();
                let others = fewer_levels(&made.tables)
                    .into_iter()
                    .chain(unlined(&made.tables));
                for line in missing
                    .chain(others)
                    .chain(no_map(&made.tables))
                    .chain(covers_little(&made.tables, LEAST, options.repair))
                {
                    eprintln!("sframe: warning: {line}");
                }
                for line in sizes(&made.tables) {
                    writeln!(out, "{line}")?;
                }
                Ok(true)
            })
        }
        Command::Lookup { file, addresses } => with_subject(&file, |_, subject| {
            let mut all = true;
            for address in addresses {
                all &= inspect::lookup(subject, address, out)?;
            }
            Ok(all)
        }),
        Command::Stats { file } => with_subject(&file, |data, subject| {
            inspect::stats(data, subject, out)?;
            Ok(true)
        }),
    }
}

/// Whether a file is a SYMT file of libdragon, not an ELF file.
fn is_symt(file: &Path) -> Result<bool> {
    with_file(file, |data| Ok(Table::is_one(data)))
}

fn with_symt(file: &Path, act: impl FnOnce(&Table<'_>) -> Result<bool>) -> Result<bool> {
    with_file(file, |data| act(&Table::parse(data)?))
}

fn with_subject(
    file: &Path,
    act: impl FnOnce(&[u8], &Subject<'_>) -> Result<bool>,
) -> Result<bool> {
    with_laid_out(file, |data, starts| {
        let subject = Subject::parse_with(data, starts)?;
        if let Some((offset, error)) = subject.symbols_error {
            eprintln!(
                "sframe: warning: using names from the symbol table of {path}, because section .symbols at offset {offset} cannot be used: {error}",
                path = file.display()
            );
        }
        act(data, &subject)
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
