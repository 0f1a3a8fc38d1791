//! A link: tables are made from a first one, and come into a second one, which has room for them.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Result, bail};

use super::arguments::CommandLine;
use super::inputs::Found;
use super::linker::{Linker, Outcome};
use super::place::{self, NAME_REGION, PLACE_THEM};
use super::plan::{Needed, Plan};
use super::strip;
use super::tables::Tables;
use super::temporary::Temporary;
use super::{exit_code, finish, inputs, script};
use crate::cfi::Source;
use crate::image::{Image, Mapped};
use crate::parallel::both;

/// How a link ended.
enum Linked {
    /// With this status.
    Done(ExitCode),
    /// Not: it has to be tried again in this way.
    Again(Attempt),
}

/// How a link is tried.
#[derive(Default)]
struct Attempt {
    /// The section after which the tables come, if no linker script has a place for them.
    after: Option<String>,
    /// The room that they need.
    room: Option<Needed>,
    /// The first link keeps debug information, though the tables need only `.debug_frame` of it.
    keeps_debug: bool,
}

/// Links with a place for the tables: that of the linker scripts, or one after all code.
pub(super) fn link_and_fill(line: &CommandLine, linker: &Linker) -> Result<ExitCode> {
    let inputs = inputs::find(&line.linker)?;
    let mut attempt = Attempt {
        after: (!script::has_place(&line.linker)).then(|| script::TEXT.to_owned()),
        room: None,
        keeps_debug: line.options.needs_debug() || inputs.has_debug_frame,
    };
    // Once more if there is no `.text`, if other code lies behind it, if the tables have moved code, and if `.debug_frame` comes from a
    // library that is not among the inputs.
    for _ in 0..5 {
        match link(line, linker, &inputs, attempt)? {
            Linked::Done(code) => return Ok(code),
            Linked::Again(other) => attempt = other,
        }
    }
    bail!("no place for the tables after all code: {PLACE_THEM}")
}

/// The linker writes to a temporary file, which gets its final name when it has its tables: if the link is killed, there is no
/// image with empty tables, or without.
fn link(line: &CommandLine, linker: &Linker, inputs: &Found, attempt: Attempt) -> Result<Linked> {
    let Attempt {
        after,
        room,
        keeps_debug,
    } = attempt;
    let output = line.output.as_path();
    let image = Temporary::named(output, "image");
    let place = match &after {
        Some(after) => Some(Temporary::beside(
            output,
            "ld",
            script::inserted(after).as_bytes(),
        )?),
        None => None,
    };
    let arguments: Vec<OsString> = match &place {
        // GNU ld inserts only into the scripts that follow.
        Some(place) => script::before(["-T".into(), place.path().into()], &line.linker),
        None => line.linker.clone(),
    };
    // The last one holds.
    let arguments = [arguments, vec!["-o".into(), image.path().into()]].concat();
    let plan = Plan::new(line, linker, inputs, keeps_debug, arguments);
    let again = |after, room| {
        Ok(Linked::Again(Attempt {
            after,
            room,
            keeps_debug,
        }))
    };
    let (first, guess) = plan.first(plan.guess(room))?;
    let is_without_debug = guess.is_none() && !keeps_debug;
    if after.is_some()
        && script::has_no_such_section(&first.messages)
        && let after @ Some(_) = find_code(line, linker)?
    {
        return again(after, room);
    }
    if !first.status.success() {
        first.show(None);
        return Ok(failed(&first, after.is_some()));
    }
    let data = Mapped::open(image.path())?;
    let linked = Image::parse(&data)?;
    let last = script::last_code(&linked);
    if after.is_some() && last.is_some() && after != last {
        return again(last, room);
    }
    first.show(None);
    let tables = make(line, inputs, &linked)?;
    let needed = tables.room();
    if guess == Some(needed) && (!plan.strips_needed || strip::has_none(&linked)) {
        let patches = tables.patches(&linked)?;
        tables.write_files(&linked, &line.options)?;
        // Unmap the file before it is written to.
        drop(data);
        let (checked, filled) = both(
            || tables.check_symbols(),
            || tables.write(image.path(), &patches),
        );
        checked.and(filled)?;
        return finish(line, &tables, image).map(Linked::Done);
    }
    let architecture = linked.architecture;
    let source = Source::of(&linked)?;
    drop(data);

    // The content does not depend on the address, so it is checked while the linker runs.
    let (checked, second) = both(
        || tables.check_symbols(),
        || plan.second((needed, architecture)),
    );
    let second = second?;
    second.show(Some(&first));
    if !second.status.success() {
        return Ok(failed(&second, after.is_some()));
    }
    checked?;
    let data = Mapped::open(image.path())?;
    let linked = Image::parse(&data)?;
    if is_without_debug && linked.section(".debug_frame")?.is_some() {
        return Ok(Linked::Again(Attempt {
            after,
            room,
            keeps_debug: true,
        }));
    }
    let unmoved = tables.check_unmoved(&linked, &source);
    // A section that no script names may have another place when the tables have a size. With symbols, tables can be made of
    // what came of that.
    if unmoved.is_err() && after.is_some() && room.is_none() && plan.may_be_one {
        return again(after, Some((needed, architecture)));
    }
    unmoved?;
    let patches = tables.patches(&linked)?;
    tables.write_files(&linked, &line.options)?;
    drop(data);
    tables.write(image.path(), &patches)?;
    finish(line, &tables, image).map(Linked::Done)
}

/// The tables for what was linked, for which it has a place.
fn make(line: &CommandLine, inputs: &Found, linked: &Image<'_>) -> Result<Tables> {
    let others = match line.options.sframe {
        Some(_) => inputs.read(linked),
        None => inputs::Inputs::default(),
    };
    for line in &others.lost {
        eprintln!("sframe-link: warning: {line}");
    }
    let tables = Tables::of(linked, &line.options, others.frames)?;
    if tables.has_rows() {
        place::expect(linked, &place::SFRAME)?;
    }
    if tables.blob.is_some() {
        place::expect(linked, &place::SYMBOLS)?;
    }
    Ok(tables)
}

/// The end of a link that the linker has refused, with what to do if it refuses a place that was chosen here.
fn failed(outcome: &Outcome, is_placed: bool) -> Linked {
    if is_placed && script::is_refused(&outcome.messages) {
        eprintln!("sframe-link: note: {NAME_REGION}");
    }
    Linked::Done(exit_code(outcome.status))
}

/// The last section with code of a link that does not know the tables' symbols. `None`: it fails for another reason.
fn find_code(line: &CommandLine, linker: &Linker) -> Result<Option<String>> {
    let image = Temporary::named(&line.output, "image");
    let more = [
        "--unresolved-symbols=ignore-all".into(),
        "-o".into(),
        image.path().into(),
    ];
    let arguments = [line.linker.as_slice(), more.as_slice()].concat();
    if !linker
        .run(&arguments, line.long, &line.output)?
        .status
        .success()
    {
        return Ok(None);
    }
    let data = Mapped::open(image.path())?;
    Ok(script::last_code(&Image::parse(&data)?))
}
