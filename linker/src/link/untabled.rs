//! The link as the linker does it alone, where tables are not possible, and where an image without them is better than none.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::arguments::CommandLine;
use super::exit_code;
use super::linker::{Linker, Outcome};
use super::script;
use super::temporary::{Names, Temporary};

/// The symbols around the tables, for a kernel that reads them: it finds them empty.
const NO_TABLES: &str = "
PROVIDE(__sframe_start = 0);
PROVIDE(__sframe_end = 0);
PROVIDE(__symbols_start = 0);
PROVIDE(__symbols_end = 0);
";

/// Runs the linker without anything of ours but these symbols, and with some more arguments.
pub(super) fn run(
    line: &CommandLine,
    linker: &Linker,
    names: &Names,
    more: Vec<OsString>,
) -> Result<Outcome> {
    let symbols = Temporary::written(names, "ld", NO_TABLES.as_bytes())?;
    // What is named like an input adds to the script of the link.
    let arguments = script::behind(symbols.path().into(), &line.linker);
    linker.run(&[arguments, more].concat(), line.long, names)
}

/// Links without tables, with a warning; or fails if they are required. `why` there are none.
pub(super) fn link(
    line: &CommandLine,
    linker: &Linker,
    names: &Names,
    why: &str,
) -> Result<ExitCode> {
    ensure!(!line.options.is_required, "{why}");
    let outcome = run(line, linker, names, Vec::new())?;
    outcome.show(None);
    outcome.pass_on();
    if outcome.status.success() {
        eprintln!(
            "sframe-link: warning: {path} is linked without unwind tables: {why} (--sframe-require turns this warning into an error)",
            path = line.output.display()
        );
    }
    Ok(exit_code(outcome.status))
}
