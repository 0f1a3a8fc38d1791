//! A walk from some registers, as a report's lines without names.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use unwind::report::Text;
use unwind::{Doubt, End, Event, Frame, Range, RegisterSet, Stacks, Trace};

use super::begin::{Begin, frames};
use super::image::Image;
use super::memory::Memory;
use super::names;
use super::told::Told;

/// How many of the first and of the last frames to show of a recursion, as a kernel does.
pub(super) const SHOWN: (u32, u32) = (256, 32);

/// Why a walk ends that could go on.
const TOO_LONG: End = End::Unusable("the backtrace reached its time limit of one second");

/// The stack of a walk whose last frames a scan has found.
#[derive(Debug, Default)]
struct Scanned {
    /// The last stack pointer that was known, and the largest one.
    last: u64,
    largest: u64,
    is_scanned: bool,
}

impl Scanned {
    fn add<R: RegisterSet>(&mut self, frame: &Frame<R>) {
        match &frame.registers {
            Some(registers) => {
                self.last = registers.sp();
                self.largest = self.largest.max(self.last);
            }
            None => self.is_scanned = true,
        }
    }

    /// Where the stack ends, if the image's symbols tell, and the walk was on no stack above.
    fn end(&self, image: &Image) -> Option<u64> {
        let is_unknown = self.is_scanned && image.stacks.is_empty();
        let end = image.end_of_data(self.last).filter(|_| is_unknown)?;
        (self.largest <= end).then_some(end)
    }
}

/// Walks from `registers` on the stacks in `ranges`. Returns the registers of the user code that it has reached, if it has.
pub(super) fn walk<R: Begin>(
    out: &mut Told<'_>,
    image: &Image,
    memory: &Memory<'_>,
    ranges: &[Range],
    registers: R,
) -> Result<Option<R>, fmt::Error> {
    walk_in_doubt(out, image, memory, ranges, registers, None)
}

/// The same walk, with a doubt about all of it, which is told if the walk itself finds none.
pub(super) fn walk_in_doubt<R: Begin>(
    out: &mut Told<'_>,
    image: &Image,
    memory: &Memory<'_>,
    ranges: &[Range],
    registers: R,
    doubted: Option<Doubt>,
) -> Result<Option<R>, fmt::Error> {
    let code = image.ranges_of_code();
    let read = |address| memory.word_of::<R>(address);
    let function_at = |pc| image.function_at(pc);
    let unwinder = |rows| image.unwinder::<R>(rows, &code, &function_at);
    // Whose rows they are is known only after a walk by them.
    let walked = unwinder(image.rows());
    let (mut places, mut stack) = (BTreeSet::new(), Scanned::default());
    for frame in frames(&walked, registers, Stacks::new(ranges, read)) {
        places.insert(frame.lookup_pc());
        stack.add(&frame);
    }
    // What is behind the end of a stack was called by nobody on it.
    let end_of_stack = stack.end(image);
    let read = |address| {
        let is_there = end_of_stack.is_none_or(|end| address < end);
        is_there.then(|| read(address))?
    };
    let places = places.into_iter().filter(|pc| image.is_code(*pc));
    let same: Vec<_> = places.map(|pc| image.is_in_memory(memory, pc)).collect();
    // Of a log there is no code at all; a machine has all of it, or does not run this image.
    let is_another =
        same.contains(&Some(false)) || same.contains(&None) && same.contains(&Some(true));
    let is_verified = image.is_there() || same.contains(&Some(true));
    let is_unknown = !is_verified && !memory.is_of_image();
    let unwinder = match (is_another, is_unknown) {
        (true, _) => unwinder(image.rows().of_another()),
        (false, true) => unwinder(image.rows().of_unknown()),
        (false, false) => walked,
    };
    let text = Text::new(None);
    let (mut was_interrupted, mut last) = (false, None);
    let mut lines = String::new();
    let end = Trace::new(frames(&unwinder, registers, Stacks::new(ranges, read)))
        .ends(SHOWN.0, SHOWN.1)
        .tell(&mut |event| {
            if let Event::Interrupted(_) = event {
                was_interrupted = true;
                return Ok(());
            }
            if let Event::Frame(_, frame) = event {
                last = frame.registers;
            }
            if let Event::Frame(_, frame) = event
                && std::mem::take(&mut was_interrupted)
            {
                out.add_walk(&std::mem::take(&mut lines))?;
                let sp = frame.registers.map_or(0, |registers| registers.sp());
                match names::stack(image, memory, sp) {
                    Some(stack) => writeln!(out, "   ----- interrupted, stack {stack} -----")?,
                    None => writeln!(out, "   ----- interrupted -----")?,
                }
            }
            match *event {
                Event::End {
                    end: End::Unreadable(_),
                    doubt,
                    count,
                } if memory.is_too_long() => {
                    let end = TOO_LONG;
                    text.write::<R>(&mut lines, &Event::End { end, doubt, count })
                }
                Event::End {
                    end,
                    doubt: None,
                    count,
                } if doubted.is_some() => {
                    let is_complete = end.is_complete();
                    let end = if is_complete { End::Outermost } else { end };
                    let doubt = doubted;
                    text.write::<R>(&mut lines, &Event::End { end, doubt, count })
                }
                _ => text.write(&mut lines, event),
            }
        })?;
    out.add_walk(&lines)?;
    Ok(last.filter(|_| matches!(end, End::User { .. })))
}

/// Where the stacks begin that a walk from `registers` leads over.
pub(super) fn stacks<R: Begin>(
    image: &Image,
    memory: &Memory<'_>,
    ranges: &[Range],
    registers: R,
) -> BTreeSet<u64> {
    let code = image.ranges_of_code();
    let function_at = |pc| image.function_at(pc);
    let unwinder = image.unwinder::<R>(image.rows(), &code, &function_at);
    let memory = Stacks::new(ranges, |address| memory.word_of::<R>(address));
    let frames =
        frames(&unwinder, registers, memory).filter_map(|frame| image.stack(frame.registers?.sp()));
    frames.map(|stack| stack.range.start).collect()
}
