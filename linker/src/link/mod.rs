//! The linker wrapper: link, make the tables from the result, link again with room for them, check, write them.
//!
//! There are two links, because the tables' sizes are known only after the first, and the addresses in them only after the
//! second. If the last build's output file has room of the same size, which rounding makes likely, one link is enough, with the
//! same result. Tables are written into the linked file, so that they can contain the build id, which the linker computes over
//! the file, and so that the linker only has to know their size.

mod arguments;
mod dependencies;
mod inputs;
mod json;
mod linker;
mod place;
mod report;
mod response;
mod room;
mod tables;
mod temporary;

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use anyhow::{Context, Result};

pub use arguments::{CommandLine, Options, Stats};
pub use json::json;
pub use linker::{LINKER_VARIABLE, Linker};
pub use report::{covers_little, fewer_levels, left_out, sizes, stats, without_frames};
pub(crate) use tables::TOO_FAR;
pub use tables::Tables;

use crate::architecture::Architecture;
use crate::image::{Image, Mapped};
use crate::parallel::both;
use crate::whole;
use linker::Outcome;
use room::Room;
use temporary::Temporary;

/// The linker-script fragment with the output sections of the tables.
pub const SCRIPT: &str = include_str!("../../scripts/tables.ld");

/// Switches that strip symbols or debug information, from which the tables are made: only the second link gets them.
const STRIP: [&str; 6] = [
    "-s",
    "--strip-all",
    "-strip-all",
    "-S",
    "--strip-debug",
    "-strip-debug",
];

/// Links with the given arguments, and adds tables to the image. `called_as` is the name under which this program was called.
/// Returns the linker's own exit status if there was no image to add tables to.
///
/// # Errors
/// One of the steps failed; then there is no output file.
pub fn run(called_as: &Path, arguments: &[OsString]) -> Result<ExitCode> {
    let line = CommandLine::parse(arguments)?;
    let linker = Linker::find(line.linker_path.as_deref(), called_as)?;
    let wanted = line.options.sframe.is_some()
        || line.options.symbols.is_some()
        || line.options.gsym.is_some();
    // Configuration scripts link to /dev/null, which nothing may replace.
    let is_device = std::fs::metadata(&line.output).is_ok_and(|known| !known.is_file());
    if !line.makes_image || !wanted || is_device {
        let outcome = linker.run(&line.linker, line.long, &line.output)?;
        outcome.show(None);
        return Ok(exit_code(outcome.status));
    }
    let result =
        link_and_fill(&line, &linker).with_context(|| format!("{}", line.output.display()));
    if result.is_err() {
        // The last image must not be taken for this one. An error only means that there is none.
        let _ = std::fs::remove_file(&line.output);
    }
    result
}

/// The linker writes to a temporary file, which gets its final name when it has its tables: if the link is killed, there is no
/// image with empty tables, or without.
fn link_and_fill(line: &CommandLine, linker: &Linker) -> Result<ExitCode> {
    let output = line.output.as_path();
    let image = Temporary::named(output, "image");
    let arguments: Vec<OsString> = line
        .linker
        .iter()
        .cloned()
        // The last one holds.
        .chain(["-o".into(), image.path().into()])
        .collect();
    let unstripped: Vec<OsString> = arguments
        .iter()
        .filter(|argument| !STRIP.iter().any(|strip| argument == strip))
        .cloned()
        .collect();
    // Guess that the tables need the same room as in the last build: if so, one link is enough.
    let is_stripped = unstripped.len() != arguments.len();
    let guess = Room::of_file(output)
        .or_else(|| Room::of_file(&room::second_name(output)?))
        .filter(|(room, _)| room.is_for(&line.options) && !is_stripped);
    let mut guessed = match guess {
        Some((room, architecture)) => {
            let outcome = link_with_room(line, &arguments, linker, room, architecture)?;
            Some((outcome, room))
        }
        None => None,
    };
    // The guess may be too large for the memory layout.
    guessed.take_if(|(outcome, _)| !outcome.status.success());
    let (first, guess) = match guessed {
        Some((outcome, room)) => (outcome, Some(room)),
        None => (linker.run(&unstripped, line.long, output)?, None),
    };
    first.show(None);
    if !first.status.success() {
        return Ok(exit_code(first.status));
    }
    let data = Mapped::open(image.path())?;
    let linked = Image::parse(&data)?;
    let inputs = inputs::read(&line.linker, &linked)?;
    for line in &inputs.lost {
        eprintln!("sframe-link: warning: {line}");
    }
    let tables = Tables::of(&linked, &line.options, inputs.frames)?;
    if tables.table.is_some() {
        place::expect(&linked, &place::SFRAME)?;
    }
    if tables.blob.is_some() {
        place::expect(&linked, &place::SYMBOLS)?;
    }
    let room = tables.room();
    if guess == Some(room) {
        let patches = tables.patches(&linked)?;
        tables.write_gsym(&linked, &line.options)?;
        // Unmap the file before it is written to.
        drop(data);
        let (checked, filled) = both(
            || tables.check_symbols(),
            || tables.write(image.path(), &patches),
        );
        return checked
            .and(filled)
            .and_then(|()| finish(line, &tables, image));
    }
    let architecture = linked.architecture;
    drop(data);

    // The content does not depend on the address, so it is checked while the linker runs.
    let (checked, second) = both(
        || tables.check_symbols(),
        || link_with_room(line, &arguments, linker, room, architecture),
    );
    let second = second?;
    second.show(Some(&first));
    if !second.status.success() {
        return Ok(exit_code(second.status));
    }
    checked?;
    let data = Mapped::open(image.path())?;
    let linked = Image::parse(&data)?;
    tables.check_unmoved(&linked)?;
    let patches = tables.patches(&linked)?;
    tables.write_gsym(&linked, &line.options)?;
    drop(data);
    tables.write(image.path(), &patches)?;
    finish(line, &tables, image)
}

fn link_with_room(
    line: &CommandLine,
    arguments: &[OsString],
    linker: &Linker,
    room: Room,
    architecture: &Architecture,
) -> Result<Outcome> {
    let object = room.object(architecture)?;
    let object = Temporary::beside(&line.output, "o", &object)?;
    let mut arguments = arguments.to_vec();
    arguments.push(object.path().into());
    linker.run(&arguments, line.long, &line.output)
}

fn finish(line: &CommandLine, tables: &Tables, image: Temporary) -> Result<ExitCode> {
    tell(tables, &line.options)?;
    if let Some(path) = &line.dependencies {
        dependencies::rename(path, image.path(), &line.output)?;
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
    if let Some(line) = fewer_levels(tables) {
        eprintln!("sframe-link: warning: {line}");
    }
    if let Some(line) = covers_little(tables, options.coverage) {
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
