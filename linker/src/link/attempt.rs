//! A link: tables are made from a first one, and come into a second one, which has room for them.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Result, bail};

use super::arguments::CommandLine;
use super::inputs::Found;
use super::linker::{Linker, Outcome};
use super::place::{self, NAME_REGION, PLACE_THEM};
use super::room::{self, Room};
use super::strip::{self, Strip, WITHOUT_DEBUG};
use super::tables::Tables;
use super::temporary::Temporary;
use super::{exit_code, finish, inputs, script};
use crate::architecture::Architecture;
use crate::cfi::Source;
use crate::image::{Image, Mapped};
use crate::parallel::both;

/// The switch for a link that lld does in one thread.
const ONE_THREAD: &str = "--threads=1";

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
    room: Option<(Room, &'static Architecture)>,
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
    let mut arguments = [arguments, vec!["-o".into(), image.path().into()]].concat();
    let strip = Strip::of(&arguments);
    // Whoever says how many threads there shall be has them.
    let says_threads = arguments.iter().any(|argument| {
        let argument = argument.as_encoded_bytes();
        argument.starts_with(b"--threads") || argument.starts_with(b"-threads")
    });
    let is_quick = |with_debug| linker.is_lld() && !says_threads && inputs.are_little(with_debug);
    if is_quick(strip == Strip::Nothing) {
        arguments.push(ONE_THREAD.into());
    }
    let unstripped = strip::unstripped(&arguments);
    // One link is enough where what it strips is not what the tables are made from, or is not there, which only its result tells for sure.
    let strips_needed = strip == Strip::Debug && keeps_debug;
    let may_be_one = strip == Strip::Nothing
        || strip == Strip::Debug && !keeps_debug
        || strips_needed && linker.is_lld() && !inputs.may_have_debug;
    // Guess that the tables need the same room as in the last build, or no more than the options give them.
    let asked = Room::asked_for(&line.options);
    let asked = || asked.zip(inputs.architecture);
    let guess = room
        .or_else(|| Room::of_file(output))
        .or_else(|| Room::of_file(&room::second_name(output)?))
        .filter(|(room, _)| room.is_for(&line.options));
    let guess = match guess {
        Some((room, architecture)) => {
            let least = asked().map_or(room, |(asked, _)| asked);
            Some((room.max(least), architecture))
        }
        None => asked(),
    };
    let guess = guess.filter(|_| may_be_one);
    let mut guessed = match guess {
        Some((room, architecture)) => {
            let arguments = if strips_needed {
                &unstripped
            } else {
                &arguments
            };
            let outcome = link_with_room(line, arguments, linker, room, architecture)?;
            Some((outcome, room))
        }
        None => None,
    };
    // The guess may be too large for the memory layout.
    guessed.take_if(|(outcome, _)| !outcome.status.success());
    let (first, guess) = match guessed {
        Some((outcome, room)) => (outcome, Some(room)),
        None => {
            // It is not the image that is given out, so it has only what the tables are made from.
            let mut arguments = unstripped;
            if !keeps_debug {
                arguments.push(WITHOUT_DEBUG.into());
            }
            if is_quick(keeps_debug) {
                arguments.push(ONE_THREAD.into());
            }
            (linker.run(&arguments, line.long, output)?, None)
        }
    };
    let is_without_debug = guess.is_none() && !keeps_debug;
    if after.is_some()
        && script::has_no_such_section(&first.messages)
        && let after @ Some(_) = find_code(line, linker)?
    {
        return Ok(Linked::Again(Attempt {
            after,
            room,
            keeps_debug,
        }));
    }
    if !first.status.success() {
        first.show(None);
        return Ok(failed(&first, after.is_some()));
    }
    let data = Mapped::open(image.path())?;
    let linked = Image::parse(&data)?;
    let last = script::last_code(&linked);
    if after.is_some() && last.is_some() && after != last {
        return Ok(Linked::Again(Attempt {
            after: last,
            room,
            keeps_debug,
        }));
    }
    first.show(None);
    let options = &line.options;
    let others = match options.sframe {
        Some(_) => inputs.read(&linked),
        None => inputs::Inputs::default(),
    };
    for line in &others.lost {
        eprintln!("sframe-link: warning: {line}");
    }
    let tables = Tables::of(&linked, options, others.frames)?;
    if tables.has_rows() {
        place::expect(&linked, &place::SFRAME)?;
    }
    if tables.blob.is_some() {
        place::expect(&linked, &place::SYMBOLS)?;
    }
    let needed = tables.room();
    if guess == Some(needed) && (!strips_needed || strip::has_none(&linked)) {
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
        || link_with_room(line, &arguments, linker, needed, architecture),
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
    if unmoved.is_err() && after.is_some() && room.is_none() && may_be_one {
        let room = Some((needed, architecture));
        return Ok(Linked::Again(Attempt {
            after,
            room,
            keeps_debug,
        }));
    }
    unmoved?;
    let patches = tables.patches(&linked)?;
    tables.write_files(&linked, &line.options)?;
    drop(data);
    tables.write(image.path(), &patches)?;
    finish(line, &tables, image).map(Linked::Done)
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

fn link_with_room(
    line: &CommandLine,
    arguments: &[OsString],
    linker: &Linker,
    room: Room,
    architecture: &Architecture,
) -> Result<Outcome> {
    let object = room.object(architecture)?;
    let object = Temporary::beside(&line.output, "o", &object)?;
    // Before `-b binary`, which would make bytes of it.
    let arguments = script::before([object.path().into()], arguments);
    linker.run(&arguments, line.long, &line.output)
}
