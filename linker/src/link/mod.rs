//! The linker wrapper: link, make the tables from the result, link again with room for them, check, write them.
//!
//! There are two links, because the tables' sizes are known only after the first, and the addresses in them only after the
//! second. The first has no debug information if the tables need none. If the last build's output file has room of the same size, which
//! rounding makes likely, or if the options give as much room as is needed, one link is enough, with the same result.
//!
//! If the link is to strip what the tables are made from, these links do not strip. A last link does, and must load the same bytes. Tables are
//! written into the linked file, so that they can contain the build id, which the linker computes over the file, and so that the linker only
//! has to know their size.

mod arguments;
mod attempt;
mod check;
mod dependencies;
mod headers;
mod inputs;
mod json;
mod kept;
mod linker;
mod loaded;
mod options;
mod place;
mod plan;
mod report;
mod response;
mod room;
mod script;
mod strip;
mod switches;
mod tables;
mod temporary;
mod unmoved;
mod untabled;
mod write;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use anyhow::{Context, Result};

pub use arguments::CommandLine;
pub use json::json;
pub use kept::{KEEP_VARIABLE, KEPT_ARGUMENTS};
pub use linker::{LINKER_VARIABLE, Linker};
pub use options::{Load, OnUnproven, Options, Stats};
pub use report::{
    covers_little, fewer_levels, left_out, no_map, sizes, stats, unlined, without_frames,
};
pub use tables::Tables;
pub(crate) use write::TOO_FAR;

use crate::whole;
use temporary::{Names, Temporary, Unwritable};

/// The linker-script fragment with the output sections of the tables.
pub const SCRIPT: &str = include_str!("../../scripts/tables.ld");

/// The warning where rows are wanted, and there is no form for them.
const NO_ROWS: &str = "backtraces use only .ARM.exidx, because SFrame does not support 32-bit ARM and the link created no unwind rule map";

/// Links with the given arguments, and adds tables to the image. `called_as` is the name under which this program was called.
/// Returns the linker's own exit status if there was no image to add tables to.
///
/// # Errors
/// Returns an error if a step fails. There is no output file then.
pub fn run(called_as: &Path, arguments: &[OsString]) -> Result<ExitCode> {
    let line = CommandLine::parse(arguments)?;
    if let Some(name) = std::env::var_os(KEEP_VARIABLE).filter(|name| !name.is_empty()) {
        kept::keep(Path::new(&name), &line, arguments)?;
    }
    let linker = Linker::find(line.linker_path.as_deref(), called_as)?;
    let wanted = line.options.sframe.is_some()
        || line.options.symbols.is_some()
        || line.options.gsym.is_some()
        || line.options.symt.is_some();
    let names = &Names::of(&line.output);
    // Configuration scripts link to /dev/null, which nothing may replace.
    let is_device = std::fs::metadata(&line.output).is_ok_and(|known| !known.is_file());
    if !line.makes_image || !wanted || is_device {
        let outcome = linker.run(&line.linker, line.long, names)?;
        outcome.show(None);
        outcome.pass_on();
        return Ok(exit_code(outcome.status));
    }
    let mut result = with_tables(&line, &linker, names);
    if result.as_ref().is_err_and(|why| why.is::<Unwritable>())
        && let Some(code) = unwritable(&line, &linker, names)
    {
        result = Ok(code);
    }
    let result = result.with_context(|| format!("{}", line.output.display()));
    if result.is_err() {
        // The last image must not be taken for this one. An error only means that there is none.
        let _ = std::fs::remove_file(&line.output);
    }
    result
}

fn with_tables(line: &CommandLine, linker: &Linker, names: &Names) -> Result<ExitCode> {
    let inputs = inputs::find(&line.linker);
    if line.format.is_none()
        && inputs.as_ref().is_ok_and(|inputs| !inputs.is_any())
        && let Some(code) = question(line, linker, names)?
    {
        return Ok(code);
    }
    match &line.format {
        Some(format) => {
            let why = format!("the output format {format} cannot contain unwind tables");
            untabled::link(line, linker, names, &why)
        }
        None => attempt::link_and_fill(line, linker, names, &inputs?),
    }
}

/// Runs the linker alone if this program cannot write next to the output. The linker's message names the output. Returns `None` if the linker
/// can write the output, or cannot be run.
fn unwritable(line: &CommandLine, linker: &Linker, names: &Names) -> Option<ExitCode> {
    let outcome = untabled::run(line, linker, &names.elsewhere(), Vec::new()).ok()?;
    (!outcome.status.success()).then(|| {
        outcome.show(None);
        outcome.pass_on();
        exit_code(outcome.status)
    })
}

/// Runs the linker on arguments that name nothing to link. `None` if they want an image all the same, as a script can name inputs, or if the
/// linker refuses them; then nothing is shown.
fn question(line: &CommandLine, linker: &Linker, names: &Names) -> Result<Option<ExitCode>> {
    let image = Temporary::absent(names, "image")?;
    let output = ["-o".into(), image.path().into()];
    let arguments = [line.linker.as_slice(), output.as_slice()].concat();
    let outcome = linker.run(&arguments, line.long, names)?;
    let is_answer = outcome.status.success() && !image.path().exists();
    Ok(is_answer.then(|| {
        outcome.show(None);
        outcome.pass_on();
        exit_code(outcome.status)
    }))
}

/// Gives the image its name; or writes it out, as the linker would do.
fn finish(
    line: &CommandLine,
    tables: &Tables,
    image: Temporary,
    is_standard_output: bool,
) -> Result<ExitCode> {
    tell(tables, &line.options)?;
    if let Some(path) = &line.dependencies {
        dependencies::correct(path, image.path(), &line.output)?;
    }
    if is_standard_output {
        let bytes = std::fs::read(image.path())
            .with_context(|| format!("cannot read {}", image.path().display()))?;
        std::io::stdout()
            .write_all(&bytes)
            .context("cannot write to standard output")?;
        return Ok(ExitCode::SUCCESS);
    }
    image.rename(&line.output)?;
    Ok(ExitCode::SUCCESS)
}

fn tell(tables: &Tables, options: &Options) -> Result<()> {
    let wanted = options.stats.as_ref();
    match wanted {
        Some(Stats::Stderr) => eprint!("{}", stats(tables)),
        Some(Stats::File(path)) => write_stats(path, tables)?,
        None => {}
    }
    if options.sframe.is_some() && !tables.has_rows() {
        eprintln!("sframe-link: warning: {NO_ROWS}");
    }
    for line in fewer_levels(tables).into_iter().chain(unlined(tables)) {
        eprintln!("sframe-link: warning: {line}");
    }
    if let Some(line) = no_map(tables) {
        eprintln!("sframe-link: warning: {line}");
    }
    if let Some(line) = covers_little(tables, options.coverage, options.repair) {
        eprintln!("sframe-link: warning: {line}");
    }
    for line in tables.outgrown() {
        eprintln!("sframe-link: warning: {line}");
    }
    // The statistics on standard error list what is left out; otherwise warn.
    if wanted != Some(&Stats::Stderr) {
        for line in left_out(tables) {
            eprintln!("sframe-link: warning: {line}");
        }
    }
    Ok(())
}

fn write_stats(path: &Path, tables: &Tables) -> Result<()> {
    let text = match path
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        true => json(tables),
        false => stats(tables),
    };
    whole::write(path, text.as_bytes())
}

/// The linker's exit status, or 1 if it was killed by a signal.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}
