//! What becomes of each line of a log.

use std::io;

use linker::symbols::{short, without_others};
use unwind::symbols::are_of_one_function;

use super::json::{self, Found};
use super::line::{Line, Named, begins_report};
use super::moved::Moved;
use super::style::Style;
use super::symbolizer::{Answer, Source, Symbolizer};
use crate::report::{self, Frame};
use crate::words::say;

/// Decodes lines, one after the other.
#[derive(Debug)]
pub struct Lines<'a> {
    symbolizer: &'a Symbolizer,
    style: Style,
    /// Of which image the frames are.
    build: Build,
    /// The last frame was decoded, so the device's lines about its outlined parts are redundant.
    after_frame: bool,
    /// What was printed with that frame of the functions into which its code is inlined: the device's lines about these are redundant.
    printed: Vec<Source>,
    /// The name of that frame's function, the one that has code of its own.
    function: String,
    /// Frames of another image are decoded, too.
    pub any_build: bool,
    /// Where the image lies.
    pub moved: Moved,
    /// In JSON style the objects of the line, each with a line feed.
    objects: String,
    /// What was decoded so far.
    pub summary: Summary,
}

/// Of which image a report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    /// Nobody says.
    Unknown,
    /// Of this one, by its build id: until a report has another one, or none.
    Same,
    /// Of another one, by its build id: until a report has another one, or none.
    Other,
    /// Of another one, as it has other names: until another report begins.
    Contradicted,
}

/// How much was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Lines.
    pub lines: u64,
    /// Frames that were decoded.
    pub frames: u64,
    /// Frames that were left alone because their report is of another image.
    pub foreign: u64,
}

/// How much of a line is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// All of it, but its beginning is written already.
    Shown,
    /// Its end: it was too long to be kept.
    End,
}

/// A decoded line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// It stays as it is.
    Same,
    /// It is left out, because what it says is in another line.
    Removed,
    /// It is replaced by these lines, without the last line feed.
    Text(String),
    /// JSON objects in place of the log, each with a line feed.
    Objects(String),
}

impl<'a> Lines<'a> {
    /// Decodes lines of this image's log.
    pub fn new(symbolizer: &'a Symbolizer, style: Style) -> Self {
        Self {
            symbolizer,
            style,
            build: Build::Unknown,
            after_frame: false,
            printed: Vec::new(),
            function: String::new(),
            any_build: false,
            moved: Moved::default(),
            objects: String::new(),
            summary: Summary::default(),
        }
    }

    /// Whether there are JSON objects in place of lines.
    pub const fn is_json(&self) -> bool {
        matches!(self.style, Style::Json)
    }

    /// Decodes a line, which has no line feed and no escape sequences.
    ///
    /// # Errors
    /// When an object cannot be written as JSON.
    pub fn decode(&mut self, text: &str, part: Part) -> io::Result<Decoded> {
        self.summary.lines += 1;
        let line = Line::parse(text);
        self.moved.begin(text, &line);
        if self.build == Build::Contradicted && begins_report(text) {
            self.build = Build::Unknown;
        }
        let decoded = match line {
            Line::Build(build) if part != Part::End => {
                self.build(build);
                Decoded::Same
            }
            _ if part != Part::Whole => Decoded::Same,
            Line::Frame(before, frame) => self.frame(before, &frame)?,
            // Other lines may be between the frame and this one.
            Line::Inlined(source) => self.inlined(&source),
            Line::TailCall { before, address } if self.after_frame => {
                self.tail_call(before, address)
            }
            Line::Named(named) => self.named(&named)?,
            Line::Addresses { before, addresses } => self.addresses(before, &addresses)?,
            Line::Build(_) | Line::TailCall { .. } | Line::Other => Decoded::Same,
        };
        Ok(match self.is_json() {
            true => Decoded::Objects(std::mem::take(&mut self.objects)),
            false => decoded,
        })
    }

    /// Removes the device's line about a function into which a frame's code is inlined, if it was printed with the last frame. Other lines stay:
    /// they may be of a frame whose own line is torn.
    fn inlined(&mut self, source: &report::Source<'_>) -> Decoded {
        let name = short(source.name);
        let line = source.place.map(|(_, line)| line);
        let is_it = |printed: &Source| {
            let printed_line = printed.place.as_ref().map(|(_, line, _)| *line);
            let is_line = line
                .zip(printed_line)
                .is_none_or(|(one, other)| one == other);
            is_line && are_of_one_function(name.bytes(), short(&printed.name).bytes())
        };
        match self.printed.iter().position(is_it) {
            Some(at) => {
                self.printed.remove(at);
                Decoded::Removed
            }
            None => Decoded::Same,
        }
    }

    /// Decodes a frame of a report.
    fn frame(&mut self, before: &str, frame: &Frame<'_>) -> io::Result<Decoded> {
        if !self.is_foreign() || self.any_build {
            let is_of_image = self.build == Build::Same;
            self.moved.learn(frame, self.symbolizer, is_of_image);
        }
        self.printed.clear();
        let exact = frame.letter == 'p';
        let found = Found {
            number: frame.number.trim_start().parse().ok(),
            how: Some(frame.letter),
            ..self.at(frame.address)
        };
        let named = frame.named.as_ref();
        let is_contradicted =
            named.is_some_and(|named| self.is_contradicted(frame.address, named, exact));
        if is_contradicted && self.build == Build::Same {
            self.after_frame = false;
            self.tell(found, &Answer::default())?;
            return Ok(Decoded::Same);
        }
        let answer = self.ask(found, exact)?;
        self.after_frame = answer.is_some();
        let Some(answer) = answer else {
            return Ok(Decoded::Same);
        };
        self.function = answer.outermost().to_owned();
        self.printed = answer.sources.get(1..).unwrap_or_default().to_vec();
        Ok(Decoded::Text(format!(
            "{}{}: {:#018x} {}{}{}",
            before,
            frame.number,
            frame.address,
            frame.letter,
            self.style
                .answer(&answer, self.moved.linked(frame.address), before),
            frame.after,
        )))
    }

    /// Whether the device has named another function than the image has there. The device is nearer to the truth: if no build id says
    /// that the report is of this image, it is of another one.
    fn is_contradicted(&mut self, address: u64, named: &report::Named<'_>, exact: bool) -> bool {
        let linked = self.moved.linked(address);
        if self.is_foreign() || !self.symbolizer.is_code(linked) {
            return false;
        }
        let looked_up = linked.saturating_sub(u64::from(!exact));
        let answer = self.symbolizer.answer(looked_up);
        let (name, offset, size) = (named.source.name, named.offset, named.size);
        if (self.symbolizer).agrees(linked, &answer, name, offset, size) {
            return false;
        }
        let line = self.summary.lines;
        let found = match answer.outermost() {
            "" => "no function",
            name => name,
        };
        let result = match (self.build, self.any_build) {
            (Build::Same, _) => format!("line {line} was not changed"),
            (_, true) => {
                "the report is from another image, so the names in the report may be wrong".to_owned()
            }
            (_, false) => {
                "the report is from another image and was not decoded; use --any-build to decode the report anyway".to_owned()
            }
        };
        say(format_args!(
            "line {line} contains {name}+{offset:#x}/{size:#x}, but the image has {found} at the address in this line; {result}"
        ));
        if self.build == Build::Unknown {
            self.build = Build::Contradicted;
        }
        true
    }

    /// Whether the report is of another image, as far as is known.
    const fn is_foreign(&self) -> bool {
        matches!(self.build, Build::Other | Build::Contradicted)
    }

    /// Names the function that made a tail call. The line is removed if that is an outlined part of the frame's own function,
    /// which a device without names cannot know.
    fn tail_call(&self, before: &str, address: u64) -> Decoded {
        let answer = self.symbolizer.answer(self.moved.linked(address));
        let name = answer.outermost();
        if name.is_empty() {
            Decoded::Same
        } else if are_of_one_function(
            without_others(name).bytes(),
            without_others(&self.function).bytes(),
        ) {
            Decoded::Removed
        } else {
            Decoded::Text(format!("{before}{name}"))
        }
    }

    fn named(&mut self, named: &Named<'_>) -> io::Result<Decoded> {
        let Some(function) = self.symbolizer.find(named.name, named.size) else {
            return Ok(Decoded::Same);
        };
        let address = function.start.saturating_add(named.offset);
        let place = address.saturating_sub(u64::from(!named.exact));
        if self.symbolizer.answer(place).function.as_ref() != Some(&function) {
            return Ok(Decoded::Same);
        }
        let answer = self.ask(self.at(self.moved.lies_at(address)), named.exact)?;
        let indent = " ".repeat(named.before.len() - named.before.trim_start().len());
        Ok(answer.map_or(Decoded::Same, |answer| {
            let text = self.style.answer(&answer, address, &indent);
            // The answer begins with a space, which the line has already.
            Decoded::Text(format!("{}{}{}", named.before, &text[1..], named.after))
        }))
    }

    fn addresses(&mut self, before: &str, all: &[u64]) -> io::Result<Decoded> {
        let mut lines = Vec::new();
        let mut known = false;
        let indent = " ".repeat(before.len() - before.trim_start().len());
        for (at, address) in all.iter().enumerate() {
            let before = if at == 0 { before } else { &indent };
            let mut line = format!("{before}{address:#018x}");
            if let Some(answer) = self.ask(self.at(*address), false)? {
                known = true;
                line += &self
                    .style
                    .answer(&answer, self.moved.linked(*address), &indent);
            }
            lines.push(line);
        }
        Ok(match known {
            true => Decoded::Text(lines.join("\n")),
            false => Decoded::Same,
        })
    }

    const fn at(&self, address: u64) -> Found {
        Found {
            log_line: self.summary.lines,
            number: None,
            address,
            how: None,
        }
    }

    /// Looks up an address, or the call before it unless it is `exact`. In JSON style the answer is an object.
    fn ask(&mut self, found: Found, exact: bool) -> io::Result<Option<Answer>> {
        let linked = self.moved.linked(found.address);
        let code = self.symbolizer.is_code(linked);
        let foreign = self.is_foreign() && !self.any_build;
        self.summary.foreign += u64::from(code && foreign);
        let looked_up = linked.saturating_sub(u64::from(!exact));
        let answer = (code && !foreign).then(|| self.symbolizer.answer(looked_up));
        let answer = answer.filter(|answer| !answer.sources.is_empty());
        self.summary.frames += u64::from(answer.is_some());
        // An address outside of the image is a frame only in a report.
        if answer.is_some() || found.number.is_some() {
            self.tell(found, answer.as_ref().unwrap_or(&Answer::default()))?;
        }
        Ok(answer)
    }

    /// In JSON style, adds the object of an address.
    fn tell(&mut self, found: Found, answer: &Answer) -> io::Result<()> {
        if self.is_json() {
            let linked = self.moved.linked(found.address);
            let object = json::object(found, linked, answer).map_err(io::Error::other)?;
            self.objects.push_str(&object);
            self.objects.push('\n');
        }
        Ok(())
    }

    /// Compares the build id of a report with that of the image.
    fn build(&mut self, build: &str) {
        if build.is_empty() {
            self.build = Build::Unknown;
            return;
        }
        self.build = match self.symbolizer.build_id() {
            Some(id) if id == build => Build::Same,
            Some(_) => Build::Other,
            None => Build::Unknown,
        };
        let line = self.summary.lines;
        match self.symbolizer.build_id() {
            None => say(format_args!(
                "the image has no build id, so the build id {build} in line {line} of the log cannot be checked"
            )),
            Some(id) if id != build => say(format_args!(
                "the report in line {line} is from build {build}, but the image has build id {id}, so {result}",
                result = if self.any_build {
                    "the names in the report may be wrong"
                } else {
                    "the report was not decoded; use --any-build to decode the report anyway"
                }
            )),
            Some(_) => {}
        }
    }
}
