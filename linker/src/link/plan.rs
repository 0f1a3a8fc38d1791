//! The arguments for each run of the linker in a link, and which runs are needed.

use std::ffi::OsString;

use anyhow::Result;

use super::arguments::CommandLine;
use super::inputs::Found;
use super::linker::{Linker, Outcome};
use super::place;
use super::room::{self, Room};
use super::script;
use super::strip::{self, Strip, WITHOUT_DEBUG};
use super::temporary::{Names, Temporary};
use crate::architecture::Architecture;
use crate::image::Image;

/// The switch for a link that lld does in one thread. It saves processor time in a large link, too, but such a link takes longer: 56 ms
/// instead of 35 ms for a release kernel.
const ONE_THREAD: &str = "--threads=1";

/// The room that tables need in an image for an architecture.
pub(super) type Needed = (Room, &'static Architecture);

pub(super) struct Plan<'a> {
    pub(super) line: &'a CommandLine,
    pub(super) linker: &'a Linker,
    pub(super) names: &'a Names,
    inputs: &'a Found,
    /// The arguments for the final image.
    arguments: Vec<OsString>,
    /// The arguments for the image that the tables are checked against: the same, except that nothing is stripped that the tables are
    /// made from.
    checked: Vec<OsString>,
    says_threads: bool,
    strip: Strip,
    /// The tables need debug information.
    keeps_debug: bool,
    /// The tables are within a section of the script.
    pub(super) is_within: bool,
}

impl<'a> Plan<'a> {
    /// Plans a link with these arguments.
    pub(super) fn new(
        line: &'a CommandLine,
        linker: &'a Linker,
        names: &'a Names,
        inputs: &'a Found,
        (keeps_debug, is_within): (bool, bool),
        mut arguments: Vec<OsString>,
    ) -> Self {
        if is_within {
            // Otherwise `--gc-sections` drops what nothing refers to.
            let starts = [place::SFRAME.start, place::SYMBOLS.start];
            arguments.extend(starts.map(|start| format!("--undefined={start}").into()));
        }
        let mut plan = Self {
            line,
            linker,
            names,
            inputs,
            checked: Vec::new(),
            // Whoever says how many threads there shall be has them.
            says_threads: arguments.iter().any(|argument| {
                let argument = argument.as_encoded_bytes();
                argument.starts_with(b"--threads") || argument.starts_with(b"-threads")
            }),
            strip: Strip::of(&arguments),
            arguments,
            keeps_debug,
            is_within,
        };
        plan.checked = match plan.strips_needed() {
            true => strip::unstripped(&plan.arguments, linker.is_lld()),
            false => plan.arguments.clone(),
        };
        plan
    }

    /// Whether the final image is stripped of what the tables are made from or checked against.
    fn strips_needed(&self) -> bool {
        match self.strip {
            Strip::Nothing => false,
            Strip::Debug => self.keeps_debug,
            Strip::Symbols => true,
        }
    }

    /// Whether the image that the tables are checked against is the final one: it contains nothing that the link strips.
    pub(super) fn is_final(&self, checked: &Image<'_>) -> bool {
        let has_none = || self.linker.is_lld() && strip::has_none(checked);
        !self.strips_needed() || self.strip == Strip::Debug && has_none()
    }

    /// The room to begin with: this one, or what the tables needed in the last build, but no less than the options give them.
    pub(super) fn guess(&self, room: Option<Needed>) -> Option<Needed> {
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
            let outcome = self.checked((room, architecture))?;
            // The guess may be too large for the memory layout.
            if outcome.status.success() {
                return Ok((outcome, Some(room)));
            }
        }
        // It is not the image that is given out, so it has only what the tables are made from.
        let more = (!self.keeps_debug).then(|| WITHOUT_DEBUG.into());
        let arguments: Vec<OsString> = self.checked.iter().cloned().chain(more).collect();
        let outcome = match self.inputs.architecture.filter(|_| self.is_within) {
            Some(architecture) => {
                let little = Room::little(&self.line.options);
                self.with_room(&arguments, self.keeps_debug, (little, architecture))?
            }
            None => self.run(&arguments, self.keeps_debug)?,
        };
        Ok((outcome, None))
    }

    /// The link of the image that the tables are checked against.
    pub(super) fn checked(&self, needed: Needed) -> Result<Outcome> {
        let with_debug = self.strip != Strip::Debug || self.keeps_debug;
        self.with_room(&self.checked, with_debug, needed)
    }

    /// The link of the final image, if that is another one.
    pub(super) fn stripped(&self, needed: Needed) -> Result<Outcome> {
        self.with_room(&self.arguments, self.strip == Strip::Nothing, needed)
    }

    fn with_room(
        &self,
        arguments: &[OsString],
        with_debug: bool,
        (room, architecture): Needed,
    ) -> Result<Outcome> {
        let object = room.object(architecture, self.is_within)?;
        let object = Temporary::written(self.names, "o", &object)?;
        let arguments = script::behind(object.path().into(), arguments);
        self.run(&arguments, with_debug)
    }

    /// Runs the linker, in one thread if there is so little to link that this is quicker.
    fn run(&self, arguments: &[OsString], with_debug: bool) -> Result<Outcome> {
        let is_quick =
            self.linker.is_lld() && !self.says_threads && self.inputs.are_little(with_debug);
        let one_thread = is_quick.then(|| ONE_THREAD.into());
        let arguments: Vec<OsString> = arguments.iter().cloned().chain(one_thread).collect();
        self.linker.run(&arguments, self.line.long, self.names)
    }
}
