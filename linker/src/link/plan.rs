//! What the linker is asked for in a link: its arguments, and whether it may be asked once only.

use std::ffi::OsString;

use anyhow::Result;

use super::arguments::CommandLine;
use super::inputs::Found;
use super::linker::{Linker, Outcome};
use super::room::{self, Room};
use super::script;
use super::strip::{self, Strip, WITHOUT_DEBUG};
use super::temporary::Temporary;
use crate::architecture::Architecture;

/// The switch for a link that lld does in one thread.
const ONE_THREAD: &str = "--threads=1";

/// The room that tables need in an image for an architecture.
pub(super) type Needed = (Room, &'static Architecture);

pub(super) struct Plan<'a> {
    line: &'a CommandLine,
    linker: &'a Linker,
    inputs: &'a Found,
    /// Those for the image that is given out.
    pub(super) arguments: Vec<OsString>,
    /// The same, but nothing is stripped.
    unstripped: Vec<OsString>,
    says_threads: bool,
    /// Debug information is kept where nothing is stripped.
    pub(super) keeps_debug: bool,
    /// The image is to be stripped of what the tables are made from, if that is there.
    pub(super) strips_needed: bool,
    /// One link may be enough: what it strips is not what the tables are made from, or is not there, which only its result tells for
    /// sure.
    pub(super) may_be_one: bool,
}

impl<'a> Plan<'a> {
    /// For a link with these arguments.
    pub(super) fn new(
        line: &'a CommandLine,
        linker: &'a Linker,
        inputs: &'a Found,
        keeps_debug: bool,
        arguments: Vec<OsString>,
    ) -> Self {
        let strip = Strip::of(&arguments);
        let strips_needed = strip == Strip::Debug && keeps_debug;
        let mut plan = Self {
            line,
            linker,
            inputs,
            unstripped: Vec::new(),
            // Whoever says how many threads there shall be has them.
            says_threads: arguments.iter().any(|argument| {
                let argument = argument.as_encoded_bytes();
                argument.starts_with(b"--threads") || argument.starts_with(b"-threads")
            }),
            arguments,
            keeps_debug,
            strips_needed,
            may_be_one: strip == Strip::Nothing
                || strip == Strip::Debug && !keeps_debug
                || strips_needed && linker.is_lld() && !inputs.may_have_debug,
        };
        if plan.is_quick(strip == Strip::Nothing) {
            plan.arguments.push(ONE_THREAD.into());
        }
        plan.unstripped = strip::unstripped(&plan.arguments);
        plan
    }

    /// Whether there is so little to link that one thread is quicker.
    fn is_quick(&self, with_debug: bool) -> bool {
        self.linker.is_lld() && !self.says_threads && self.inputs.are_little(with_debug)
    }

    /// The room to begin with, if one link may be enough: this one, or what the tables needed in the last build, but no less than the
    /// options give them.
    pub(super) fn guess(&self, room: Option<Needed>) -> Option<Needed> {
        if !self.may_be_one {
            return None;
        }
        let (output, options) = (self.line.output.as_path(), &self.line.options);
        let asked = Room::asked_for(options);
        let known = room
            .or_else(|| Room::of_file(output))
            .or_else(|| Room::of_file(&room::second_name(output)?))
            .filter(|(room, _)| room.is_for(options));
        match known {
            Some((room, architecture)) => {
                let room = asked.map_or(room, |asked| room.max(asked));
                Some((room, architecture))
            }
            None => asked.zip(self.inputs.architecture),
        }
    }

    /// The first link: with the room that is guessed, if there is a guess and the linker finds a place for it. Returns the room too, if
    /// the image has it.
    pub(super) fn first(&self, guess: Option<Needed>) -> Result<(Outcome, Option<Room>)> {
        if let Some((room, architecture)) = guess {
            let arguments = match self.strips_needed {
                true => &self.unstripped,
                false => &self.arguments,
            };
            let outcome = self.with_room(arguments, room, architecture)?;
            // The guess may be too large for the memory layout.
            if outcome.status.success() {
                return Ok((outcome, Some(room)));
            }
        }
        // It is not the image that is given out, so it has only what the tables are made from.
        let mut arguments = self.unstripped.clone();
        if !self.keeps_debug {
            arguments.push(WITHOUT_DEBUG.into());
        }
        if self.is_quick(self.keeps_debug) {
            arguments.push(ONE_THREAD.into());
        }
        let outcome = self
            .linker
            .run(&arguments, self.line.long, &self.line.output)?;
        Ok((outcome, None))
    }

    /// The second link, of the image that is given out.
    pub(super) fn second(&self, (room, architecture): Needed) -> Result<Outcome> {
        self.with_room(&self.arguments, room, architecture)
    }

    fn with_room(
        &self,
        arguments: &[OsString],
        room: Room,
        architecture: &Architecture,
    ) -> Result<Outcome> {
        let object = room.object(architecture)?;
        let object = Temporary::beside(&self.line.output, "o", &object)?;
        // Before `-b binary`, which would make bytes of it.
        let arguments = script::before([object.path().into()], arguments);
        self.linker
            .run(&arguments, self.line.long, &self.line.output)
    }
}
