//! A walk from some registers, as a report's lines without names.

use std::fmt::{self, Write};

use unwind::report::Text;
use unwind::{Event, Range, RegisterSet, Stacks, Trace, Unwinder};

use super::image::Image;
use super::memory::Memory;
use super::names;

/// How many of the first and of the last frames to show of a recursion, as a kernel does.
const SHOWN: (u32, u32) = (256, 32);

/// Walks from `registers` on the stacks in `ranges`.
pub(super) fn walk<R: RegisterSet>(
    out: &mut String,
    image: &Image,
    memory: &Memory<'_>,
    ranges: &[Range],
    registers: R,
) -> fmt::Result {
    let code = image.ranges_of_code();
    let unwinder = Unwinder::new(image.rows())
        .code(&code)
        .trap_registers(image.saved());
    let stacks = Stacks::new(ranges, |address| memory.word(address));
    let text = Text::new(None);
    let mut was_interrupted = false;
    Trace::new(unwinder.frames(registers, stacks))
        .ends(SHOWN.0, SHOWN.1)
        .tell(&mut |event| {
            if let Event::Interrupted(_) = event {
                was_interrupted = true;
                return Ok(());
            }
            if let Event::Frame(_, frame) = event
                && std::mem::take(&mut was_interrupted)
            {
                let sp = frame.registers.map_or(0, |registers| registers.sp());
                match names::stack(image, memory, sp) {
                    Some(stack) => writeln!(out, "   ----- interrupted, stack {stack} -----")?,
                    None => writeln!(out, "   ----- interrupted -----")?,
                }
            }
            text.write(out, event)
        })
        .map(|_| ())
}
