//! Runs a link: the tables are made from a first image, and written into a second one, which has space for them. If the link strips, they are
//! written into a third one.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::arguments::CommandLine;
use super::inputs::Found;
use super::linker::{Linker, Outcome};
use super::place::{self, NAME_REGION, PLACE_THEM};
use super::plan::{Needed, Plan};
use super::strip::Strip;
use super::tables::Tables;
use super::temporary::Temporary;
use super::unmoved::First;
use super::{exit_code, finish, inputs, loaded, script};
use crate::image::{Image, Mapped};
use crate::parallel::both;
use crate::symbols::printable;

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
pub(super) fn link_and_fill(
    line: &CommandLine,
    linker: &Linker,
    inputs: &Found,
) -> Result<ExitCode> {
    // A library that the linker looks for may have `.debug_frame`, which would be stripped unseen.
    let may_strip = inputs.names_libraries && Strip::of(&line.linker) == Strip::Debug;
    let mut attempt = Attempt {
        after: (!script::has_place(&line.linker)).then(|| script::TEXT.to_owned()),
        room: None,
        keeps_debug: line.options.reads_debug() || inputs.has_debug_frame || may_strip,
    };
    // Once more if there is no `.text`, if other code lies behind it, if the tables have moved code, and if `.debug_frame` comes from a
    // library that is not among the inputs.
    for _ in 0..5 {
        match link(line, linker, inputs, attempt)? {
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
    let is_placed = after.is_some();
    let image = Temporary::absent(output, "image")?;
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
    if after.is_some()
        && script::has_no_such_section(&first.messages)
        && let after @ Some(_) = find_code(line, linker)?
    {
        return again(after, room);
    }
    if !first.status.success() {
        first.show(None);
        return Ok(failed(&first, is_placed));
    }
    // As with `--target-help` after the inputs.
    if !image.path().exists() {
        first.show(None);
        first.pass_on();
        return Ok(Linked::Done(exit_code(first.status)));
    }
    let data = Mapped::open(image.path())?;
    let linked = Image::parse(&data)?;
    let last = script::last_code(&linked);
    if after.is_some() && last.is_some() && after != last {
        return again(last, room);
    }
    first.show(None);
    let tables = make(line, inputs, &linked)?;
    let needed = (tables.room(), linked.architecture);
    if guess == Some(needed.0) {
        drop(data);
        let (checked, filled) = both(
            || tables.check_symbols(),
            || fill(&plan, &tables, needed, &image, &first),
        );
        checked?;
        return end(line, &tables, image, &filled?.unwrap_or(first), is_placed);
    }
    let code = First::of(&linked)?;
    drop(data);

    // The content does not depend on the address, so it is checked while the linker runs.
    let (checked, second) = both(|| tables.check_symbols(), || plan.checked(needed));
    let second = second?;
    second.show(Some(&first));
    if !second.status.success() {
        return Ok(failed(&second, is_placed));
    }
    checked?;
    let data = Mapped::open(image.path())?;
    let linked = Image::parse(&data)?;
    if guess.is_none() && !keeps_debug && linked.section(".debug_frame")?.is_some() {
        return Ok(Linked::Again(Attempt {
            after,
            room,
            keeps_debug: true,
        }));
    }
    let unmoved = tables.check_unmoved(&linked, &code);
    // A section that no script names may have another place when the tables have a size. Tables can be made of what came of that.
    if unmoved.is_err() && after.is_some() && room.is_none() {
        return again(after, Some(needed));
    }
    unmoved?;
    drop(data);
    let last = fill(&plan, &tables, needed, &image, &second)?.unwrap_or(second);
    end(line, &tables, image, &last, is_placed)
}

/// Ends a link whose last run of the linker was this one.
fn end(
    line: &CommandLine,
    tables: &Tables,
    image: Temporary,
    last: &Outcome,
    is_placed: bool,
) -> Result<Linked> {
    if !last.status.success() {
        return Ok(failed(last, is_placed));
    }
    let code = finish(line, tables, image)?;
    last.pass_on();
    Ok(Linked::Done(code))
}

/// Writes the tables into the image that they were checked against. If the link strips, writes them into the stripped image, which must load
/// the same bytes. Returns the run of the linker for the stripped image, which may have failed. `last` is the run before.
fn fill(
    plan: &Plan<'_>,
    tables: &Tables,
    needed: Needed,
    image: &Temporary,
    last: &Outcome,
) -> Result<Option<Outcome>> {
    let mut stripped = None;
    if !plan.is_final(&Image::parse(&Mapped::open(image.path())?)?) {
        // Linkers write to the same name in each link, because that name may come into a map file.
        let checked = Temporary::named(&plan.line.output, "full");
        std::fs::rename(image.path(), checked.path())
            .with_context(|| format!("cannot write {}", checked.path().display()))?;
        let outcome = plan.stripped(needed)?;
        outcome.show(Some(last));
        if !outcome.status.success() {
            return Ok(Some(outcome));
        }
        stripped = Some(outcome);
        let (checked, image) = (Mapped::open(checked.path())?, Mapped::open(image.path())?);
        loaded::check_same(&Image::parse(&checked)?, &Image::parse(&image)?)?;
    }
    let data = Mapped::open(image.path())?;
    let linked = Image::parse(&data)?;
    let has_build_id = plan.line.has_build_id();
    if let Some(section) = loaded::hidden_build_id(&linked)?.filter(|_| has_build_id) {
        eprintln!(
            "sframe-link: warning: no build id in the tables: section {} has it, which is no section of notes: give \
             .note.gnu.build-id an output section of its own in the linker script",
            printable(&section),
        );
    }
    let patches = tables.patches(&linked)?;
    tables.write_files(&linked, &plan.line.options)?;
    // Unmap the file before it is written to.
    drop(data);
    tables.write(image.path(), &patches)?;
    Ok(stripped)
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
    outcome.pass_on();
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
