//! Runs a link: the tables are made from a first image, and written into a second one, which has space for them. If the link strips, they are
//! written into a third one.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::arguments::CommandLine;
use super::inputs::Found;
use super::linker::{Linker, Outcome};
use super::place::{self, PLACE_THEM};
use super::plan::{Needed, Plan};
use super::strip::Strip;
use super::tables::Tables;
use super::temporary::{Names, Temporary};
use super::unmoved::First;
use super::{exit_code, finish, inputs, loaded, script, untabled};
use crate::image::{self, Image, Mapped};
use crate::parallel::both;
use crate::symbols::printable;

/// How a link ended.
enum Linked {
    /// With this status.
    Done(ExitCode),
    /// Not: it has to be tried again in this way.
    Again(Attempt),
}

/// The place of the tables in a link.
#[derive(Clone, PartialEq, Eq)]
enum Place {
    /// The one of a linker script.
    Script,
    /// Within the section in which a linker script has constants: a kernel that maps its own sections one by one maps it.
    Within,
    /// Sections of their own after this one.
    After(String),
}

/// How a link is tried.
#[derive(Clone)]
struct Attempt {
    place: Place,
    /// After the place behind all code was refused: the other ones that are left, and what the linker complained about first.
    left: Option<(Vec<String>, String)>,
    /// The room that they need.
    room: Option<Needed>,
    /// The first link keeps debug information, though the tables need only `.debug_frame` of it.
    keeps_debug: bool,
}

/// Links with a place for the tables: that of the linker scripts, or one within their constants, or one after all code.
pub(super) fn link_and_fill(
    line: &CommandLine,
    linker: &Linker,
    names: &Names,
    inputs: &Found,
) -> Result<ExitCode> {
    // A library that the linker looks for may have `.debug_frame`, which would be stripped unseen.
    let may_strip = inputs.names_libraries && Strip::of(&line.linker) == Strip::Debug;
    let has_tables = line.options.sframe.is_some() || line.options.symbols.is_some();
    let is_possible = has_tables && inputs.architecture.is_some();
    let place = match script::has_place(&line.linker) {
        true => Place::Script,
        false if is_possible && script::has_sections(&line.linker) => Place::Within,
        false => Place::After(script::TEXT.to_owned()),
    };
    let mut attempt = Attempt {
        place,
        left: None,
        room: None,
        keeps_debug: line.options.reads_debug() || inputs.has_debug_frame || may_strip,
    };
    // Once more if constants are no place, if there is no `.text`, if other code lies behind it, if the tables have moved code, and if `.debug_frame` comes from a
    // library that is not among the inputs; and for each other place if one is refused.
    for _ in 0..16 {
        match link(line, linker, names, inputs, attempt)? {
            Linked::Done(code) => return Ok(code),
            Linked::Again(other) => attempt = other,
        }
    }
    let why = format!(
        "sframe-link found no place for the unwind tables after the last section with code: {PLACE_THEM}"
    );
    untabled::link(line, linker, names, &why)
}

/// The linker writes to a temporary file, which gets its final name when it has its tables: if the link is killed, there is no
/// image with empty tables, or without.
fn link(
    line: &CommandLine,
    linker: &Linker,
    names: &Names,
    inputs: &Found,
    attempt: Attempt,
) -> Result<Linked> {
    let refused = |outcome: &Outcome, why| refused(line, linker, names, &attempt, outcome, why);
    let Attempt {
        place,
        left,
        room,
        keeps_debug,
    } = attempt.clone();
    let is_within = place == Place::Within;
    let after = match &place {
        Place::After(after) => Some(after),
        Place::Script | Place::Within => None,
    };
    let image = Temporary::absent(names, "image")?;
    let inserted =
        |after: &String| Temporary::written(names, "ld", script::inserted(after).as_bytes());
    let inserted = after.map(inserted).transpose()?;
    let arguments: Vec<OsString> = match &inserted {
        // GNU ld inserts only into the scripts that follow.
        Some(script) => script::before(["-T".into(), script.path().into()], &line.linker),
        None => line.linker.clone(),
    };
    // The last one holds.
    let arguments = [arguments, vec!["-o".into(), image.path().into()]].concat();
    let kind = (keeps_debug, is_within);
    let plan = Plan::new(line, linker, names, inputs, kind, arguments);
    let again = |place, room| {
        Ok(Linked::Again(Attempt {
            place,
            left: left.clone(),
            room,
            keeps_debug,
        }))
    };
    let not_within = || again(Place::After(script::TEXT.to_owned()), None);
    let (first, guess) = plan.first(plan.guess(room))?;
    if after.is_some()
        && left.is_none()
        && script::has_no_such_section(&first.messages)
        && let Some(found) = find_code(line, linker, names)?
        // GNU ld refuses a section that no script names. Another attempt with the same section would fail, too.
        && after != Some(&found)
    {
        return again(Place::After(found), room);
    }
    if is_within && !first.status.success() {
        return not_within();
    }
    if !first.status.success() {
        return refused(&first, None);
    }
    // As with `--target-help` after the inputs.
    if !image.path().exists() {
        first.show(None);
        first.pass_on();
        return Ok(Linked::Done(exit_code(first.status)));
    }
    let data = Mapped::open(image.path())?;
    // A linker script can choose the format, too (`OUTPUT_FORMAT`).
    if !data.is_empty() && !image::is_elf(&data) {
        let why = "the output file is not an ELF file, so it cannot contain unwind tables";
        return Ok(Linked::Done(untabled::link(line, linker, names, why)?));
    }
    let linked = match Image::parse(&data) {
        Err(why) if line.options.links_unsupported && image::is_unsupported(&data) => {
            let why = format!("{why:#}");
            return Ok(Linked::Done(untabled::link(line, linker, names, &why)?));
        }
        Err(why) if image::is_unsupported(&data) => {
            bail!("{why:#}; to link without unwind tables, pass --sframe-unsupported=link")
        }
        other => other?,
    };
    let last = script::last_code(&linked);
    if after.is_some()
        && left.is_none()
        && let Some(last) = last
        && after != Some(&last)
    {
        return again(Place::After(last), room);
    }
    if is_within && place::within(&linked, &line.options).is_none() {
        return not_within();
    }
    if let Err(why) = linked.check_no_overlays() {
        let why = format!("{why:#}");
        return Ok(Linked::Done(untabled::link(line, linker, names, &why)?));
    }
    first.show(None);
    let tables = make(line, inputs, &linked)?;
    let needed = (tables.room(), linked.architecture);
    // A script can leave sections out of all segments, and those that are inserted after them.
    let unloaded = |image: &Image<'_>| after.and_then(|_| place::unloaded(image, needed.0));
    if guess == Some(needed.0) {
        if let Some(why) = unloaded(&linked) {
            return refused(&first, Some(why));
        }
        drop(data);
        let (checked, filled) = both(
            || tables.check_symbols(),
            || fill(&plan, &tables, needed, &image, &first),
        );
        checked?;
        return end(&plan, &tables, image, &filled?.unwrap_or(first));
    }
    let code = First::of(&linked)?;
    drop(data);

    // The content does not depend on the address, so it is checked while the linker runs.
    let (checked, second) = both(|| tables.check_symbols(), || plan.checked(needed));
    let second = second?;
    if is_within && !second.status.success() {
        return not_within();
    }
    if !second.status.success() {
        return refused(&second, None);
    }
    second.show(Some(&first));
    checked?;
    let data = Mapped::open(image.path())?;
    let linked = Image::parse(&data)?;
    if guess.is_none() && !keeps_debug && linked.section(".debug_frame")?.is_some() {
        return Ok(Linked::Again(Attempt {
            keeps_debug: true,
            ..attempt.clone()
        }));
    }
    if let Some(why) = unloaded(&linked) {
        return refused(&second, Some(why));
    }
    let unmoved = tables.check_unmoved(&linked, &code);
    // A section that no script names may have another place when the tables have a size. Tables can be made of what came of that.
    if unmoved.is_err() && after.is_some() && room.is_none() {
        return again(place, Some(needed));
    }
    if unmoved.is_err() && is_within {
        return not_within();
    }
    unmoved?;
    drop(data);
    let last = fill(&plan, &tables, needed, &image, &second)?.unwrap_or(second);
    end(&plan, &tables, image, &last)
}

/// Ends a link whose last run of the linker was this one.
fn end(plan: &Plan<'_>, tables: &Tables, image: Temporary, last: &Outcome) -> Result<Linked> {
    if !last.status.success() {
        last.pass_on();
        return Ok(Linked::Done(exit_code(last.status)));
    }
    let is_standard_output =
        plan.line.is_dash() && plan.linker.writes_to_standard_output(plan.names)?;
    let code = finish(plan.line, tables, image, is_standard_output)?;
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
    let within = match plan.is_within {
        true => place::within(
            &Image::parse(&Mapped::open(image.path())?)?,
            &plan.line.options,
        ),
        false => None,
    };
    if !plan.is_final(&Image::parse(&Mapped::open(image.path())?)?) {
        // Linkers write to the same name in each link, because that name may come into a map file.
        let checked = Temporary::named(plan.names, "full");
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
            "sframe-link: warning: the unwind tables contain no build ID, because the build ID is in section {name}, which is not a note section: give \
             .note.gnu.build-id its own output section in the linker script",
            name = printable(&section),
        );
    }
    let patches = tables.patches(&linked, within)?;
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

/// Handles a link that the linker has refused, or in which the tables are not loaded, as `why` reports. If the linker refuses the link without
/// tables too, shows its messages. Otherwise, tries another place for the tables. If no place is left, links without tables.
fn refused(
    line: &CommandLine,
    linker: &Linker,
    names: &Names,
    attempt: &Attempt,
    outcome: &Outcome,
    why: Option<String>,
) -> Result<Linked> {
    let Place::After(place) = &attempt.place else {
        outcome.show(None);
        outcome.pass_on();
        return Ok(Linked::Done(exit_code(outcome.status)));
    };
    let (mut left, complaint) = match &attempt.left {
        Some(left) => left.clone(),
        None => {
            let image = Temporary::absent(names, "image")?;
            let output = vec!["-o".into(), image.path().into()];
            let alone = untabled::run(line, linker, names, output)?;
            if !alone.status.success() {
                alone.show(None);
                alone.pass_on();
                return Ok(Linked::Done(exit_code(alone.status)));
            }
            let data = Mapped::open(image.path())?;
            let mut places = script::places(&Image::parse(&data)?);
            if !script::has_sections(&line.linker) {
                places.extend(script::of_linker(&places));
            }
            let complaint = why.unwrap_or_else(|| script::first_error(&outcome.messages));
            (
                places,
                format!("the linker cannot place unwind tables after section {place}: {complaint}"),
            )
        }
    };
    if left.is_empty() {
        let code = untabled::link(line, linker, names, &complaint)?;
        if let Some(advice) = script::advice(&line.linker) {
            eprintln!("sframe-link: note: {advice}");
        }
        return Ok(Linked::Done(code));
    }
    Ok(Linked::Again(Attempt {
        place: Place::After(left.remove(0)),
        left: Some((left, complaint)),
        room: None,
        keeps_debug: attempt.keeps_debug,
    }))
}

/// The last section with code of a link that does not know the tables' symbols. `None`: it fails for another reason.
fn find_code(line: &CommandLine, linker: &Linker, names: &Names) -> Result<Option<String>> {
    let image = Temporary::named(names, "image");
    let more = [
        "--unresolved-symbols=ignore-all".into(),
        "-o".into(),
        image.path().into(),
    ];
    let arguments = [line.linker.as_slice(), more.as_slice()].concat();
    if !linker.run(&arguments, line.long, names)?.status.success() {
        return Ok(None);
    }
    let data = Mapped::open(image.path())?;
    Ok(script::last_code(&Image::parse(&data)?))
}
