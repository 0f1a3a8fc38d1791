//! The single lines of a report: a frame's line, the last line, a build id.

use core::fmt::{self, Write};

use crate::symbols::{Answer, SymbolTable};
use crate::text::{self, texts};
use crate::verdict::{Doubt, End, How};
use crate::walk::Frame;

/// The line after the last one, if the walk ended at a return address that no call has pushed.
const START_HINT: &str =
    "hint: if a stack starts in the last function, link with --sframe-outermost=NAME\n";

/// Writes a frame's line, and the lines of the functions that it is inlined into, without the last newline.
///
/// # Errors
/// The errors of `out`.
pub fn write_frame<R>(
    out: &mut dyn Write,
    number: u32,
    frame: &Frame<R>,
    symbols: Option<&SymbolTable<'_>>,
) -> fmt::Result {
    write_address(out, number, frame)?;
    match symbols {
        Some(symbols) => write_names(out, frame.pc, frame.lookup_pc(), symbols),
        None => Ok(()),
    }
}

/// Writes a frame's line up to its letter.
pub(super) fn write_address<R>(out: &mut dyn Write, number: u32, frame: &Frame<R>) -> fmt::Result {
    text::padded_decimal(out, u64::from(number), 4)?;
    text::fill(out, ": @ ", &[frame.pc])?;
    out.write_char(frame.letter())
}

/// Writes the names of the code at `pc`, which is looked up at `lookup_pc`, if they are known.
#[inline(never)]
pub(super) fn write_names(
    out: &mut dyn Write,
    pc: u64,
    lookup_pc: u64,
    symbols: &SymbolTable<'_>,
) -> fmt::Result {
    let mut answer = Answer::empty(symbols);
    if symbols.resolve_into(lookup_pc, &mut answer).is_none() {
        return Ok(());
    }
    let mut innermost = true;
    for source in answer.frames() {
        if innermost {
            out.write_str(" ")?;
            source.name.write(out)?;
            let offset = pc.wrapping_sub(answer.start);
            text::fill(out, "+~/~", &[offset, answer.size])?;
        } else {
            out.write_str("\n        inlined into ")?;
            source.name.write(out)?;
        }
        if let Some((file, line)) = source.place() {
            out.write_str(" at ")?;
            file.write(out)?;
            text::fill(out, ":#", &[line.into()])?;
        }
        innermost = false;
    }
    Ok(())
}

/// Writes the line that ends a report, with its newline; after some ends, a line with a hint follows.
///
/// # Errors
/// The errors of `out`.
#[inline(never)]
pub fn write_end(out: &mut dyn Write, end: End, doubt: Option<Doubt>, count: u32) -> fmt::Result {
    out.write_str("end of backtrace: ")?;
    if !matches!(end, End::Complete | End::Outermost | End::User(_)) {
        out.write_str("incomplete: ")?;
    }
    end.write(out)?;
    if let Some(doubt) = doubt {
        text::fill(out, ", from frame # on ", &[doubt.frame.into()])?;
        let how = texts! { doubt.how, [0; 2];
            How::Analysis => "by its callee's code",
            How::FramePointer => "by frame pointer",
            How::LinkRegister => "by link register",
            How::Scan => "by scanning",
            _ => "in doubt",
        };
        how.write(out)?;
        if !doubt.reason.is(&end) {
            out.write_str(" (")?;
            doubt.reason.write(out)?;
            out.write_str(")")?;
        }
    } else if let End::User(_) = end {
        out.write_str(", complete for the kernel")?;
    }
    text::fill(out, ", # frames\n", &[count.into()])?;
    // A function that was started without a call, such as a task's, looks the same as an overwritten return address. If a guess
    // led there, the address is probably no return address at all.
    let is_guess = doubt.is_some_and(|doubt| !matches!(doubt.how, How::SFrame));
    match end {
        End::NoCall(_) | End::BadReturnAddress(_) if !is_guess => out.write_str(START_HINT),
        _ => Ok(()),
    }
}

/// Writes the line for frames that the list leaves out, with its newline.
#[inline(never)]
pub(super) fn write_left_out(out: &mut dyn Write, count: u32) -> fmt::Result {
    text::fill(out, "   ----- # frames left out -----\n", &[count.into()])
}

/// Writes bytes as hexadecimal digits, two for each: a build id.
///
/// # Errors
/// The errors of `out`.
pub fn write_bytes(out: &mut dyn Write, bytes: &[u8]) -> fmt::Result {
    bytes
        .iter()
        .try_for_each(|&byte| text::plain_hex(out, u64::from(byte), 2))
}
