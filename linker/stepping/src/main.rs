//! Single-steps programs, and compares unwind rows with the calls that happened.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use stepping::follow::Plan;
use stepping::module::RowsFrom;
use stepping::modules::Library;
use stepping::report;
use stepping::run::{Programs, run};

/// Single-step programs, and compare unwind rows and whole backtraces with the calls and returns that the CPU executed.
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit status: 0 on success; 1 if a proven row is wrong, if a wrong backtrace with proven rows is called complete, or if a program cannot be built."
)]
struct Arguments {
    /// Stop each program after this many instructions.
    #[arg(long, default_value_t = 1_000_000)]
    max: u64,
    /// Compute and compare a whole backtrace after about every Nth instruction.
    #[arg(long, default_value_t = 50)]
    every: u64,
    /// Seed of the random choice of instructions after which a backtrace is computed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rows to compare: from the table in the image, from a new link, or from unchanged call frame information.
    #[arg(long, value_enum, default_value_t = Rows::Table)]
    rows: Rows,
    /// Corrupt some rows, chosen with this random seed: the checker must reject each corrupted row.
    #[arg(long)]
    spoil: Option<u64>,
    /// After this many visits of an address, follow calls from this address only occasionally.
    #[arg(long, default_value_t = u32::MAX)]
    visits: u32,
    /// Also step through the dynamic loader, which runs before the program's entry.
    #[arg(long)]
    loader: bool,
    /// List the addresses without a row, with an unproven row, and where the true caller is unknown.
    #[arg(long)]
    list: bool,
    /// Step the programs in this list file instead of one program.
    #[arg(long, requires = "out")]
    programs: Option<PathBuf>,
    /// Output folder for the programs that the list builds.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Step only those programs in the list whose names contain this text.
    #[arg(long)]
    only: Vec<String>,
    /// Program to step, and its arguments.
    #[arg(last = true, required_unless_present = "programs")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Rows {
    Table,
    Made,
    Described,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let from = match arguments.rows {
        Rows::Table => RowsFrom::Table,
        Rows::Made => RowsFrom::Made,
        Rows::Described => RowsFrom::Described,
    };
    let library = Library::new(from, arguments.spoil);
    let plan = Plan {
        most: arguments.max,
        every: arguments.every.max(1),
        seed: arguments.seed,
        visits: arguments.visits,
        from_loader: arguments.loader,
    };
    println!("{}", report::HEAD);
    let is_right = match (&arguments.programs, arguments.program.split_first()) {
        (Some(file), _) => {
            let out = arguments.out.as_deref().context("no folder")?;
            let only = &arguments.only;
            let programs = Programs::read(file, out, |name| {
                only.is_empty() || only.iter().any(|word| name.contains(word))
            })?;
            let total = programs.run(&library, plan, &mut |name, tally| {
                println!("{}", report::line(name, tally));
                print!("{}", report::places(tally, arguments.list));
            });
            println!("{}", report::sums("all", &total.sums, total.lists));
            total
                .wrong
                .iter()
                .for_each(|name| println!("wrong: {name}"));
            total
                .failed
                .iter()
                .for_each(|why| println!("program not stepped: {why}"));
            total.is_right()
        }
        (None, Some((program, rest))) => {
            let tally = run(Command::new(program).args(rest), &library, plan)?;
            println!("{}", report::line(&program.to_string_lossy(), &tally));
            print!("{}", report::places(&tally, arguments.list));
            tally.is_right()
        }
        (None, None) => true,
    };
    Ok(if is_right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
