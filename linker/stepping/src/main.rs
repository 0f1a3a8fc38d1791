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

/// Single-step programs, and compare unwind rows and whole lists of callers with the calls and returns that the machine executed.
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit status: 0 on success; 1 if a proven row is wrong, if a wrong backtrace with proven rows is called complete, or if a program cannot be built."
)]
struct Arguments {
    /// Stop after this many boundaries between instructions, in each program.
    #[arg(long, default_value_t = 1_000_000)]
    max: u64,
    /// Walk a whole list at one of this many boundaries.
    #[arg(long, default_value_t = 50)]
    every: u64,
    /// Choose these boundaries by this number.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rows to compare: those of the image's table; those that a link makes; or call frame information as it is.
    #[arg(long, value_enum, default_value_t = Rows::Table)]
    rows: Rows,
    /// Make a part of the rows wrong, as this number chooses: the checker must refuse each of them.
    #[arg(long)]
    spoil: Option<u64>,
    /// Follow calls from each place this often, and then only now and then.
    #[arg(long, default_value_t = u32::MAX)]
    visits: u32,
    /// Follow the dynamic loader, too, before the program's entry.
    #[arg(long)]
    loader: bool,
    /// List the places without a row, with an unproven row, and with an unknown truth.
    #[arg(long)]
    list: bool,
    /// Follow the programs of this list instead of one program.
    #[arg(long, requires = "out")]
    programs: Option<PathBuf>,
    /// Folder for the programs that are built.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Follow only programs of the list whose names contain this.
    #[arg(long)]
    only: Vec<String>,
    /// The program and its arguments.
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
