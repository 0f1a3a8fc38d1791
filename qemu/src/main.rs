//! `cargo run`: see `cargo run -- --help`.

use std::process::ExitCode;

use clap::Parser;
use qemu::cli::Cli;
use qemu::words::say;

fn main() -> ExitCode {
    match qemu::run::run(&Cli::parse()) {
        Ok(status) => status.into(),
        Err(failure) => {
            // `{:#}`: the causes behind an error on the same line as the error.
            say(format_args!("error: {:#}", failure.error));
            failure.status.into()
        }
    }
}
