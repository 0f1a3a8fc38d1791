//! The single lines of a report: a frame's line, the last line, a build id.

use core::fmt::{self, Write};

use crate::symbols::{Answer, SymbolTable};
use crate::text::{self, texts};
use crate::verdict::{Doubt, End, How};
use crate::walk::Frame;

/// Writes the line of a frame, and the lines of the functions into which its code is inlined, without the last newline.
///
/// # Errors
/// Returns an error if `out` does.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// # use unwind::{Stacks, Unwinder, report, sframe::Tables, x86_64::Registers};
/// # let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000));
/// # let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
/// let frame = frames.next().expect("a frame");
/// let mut line = String::new();
/// report::write_frame(&mut line, 0, &frame, None)?;
/// assert_eq!(line, "   0: 0x0000000000001018 p");
/// # Ok::<(), std::fmt::Error>(())
/// ```
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

/// Writes the line of a frame up to its letter.
pub(super) fn write_address<R>(out: &mut dyn Write, number: u32, frame: &Frame<R>) -> fmt::Result {
    text::padded_decimal(out, u64::from(number), 4)?;
    text::fill(out, ": @ ", &[frame.pc])?;
    out.write_char(frame.letter())
}

/// Writes the names of the code at `pc`, which is looked up with `lookup_pc`, if they are known.
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

/// Writes the last line of a backtrace, with its newline.
///
/// # Errors
/// Returns an error if `out` does.
///
/// ```
/// use unwind::{End, report};
///
/// let mut line = String::new();
/// report::write_end(&mut line, End::Unreadable(0x8000), None, 3)?;
/// let expected = "end of backtrace: incomplete: the stack word at address 0x0000000000008000 cannot be read, 3 frames\n";
/// assert_eq!(line, expected);
/// # Ok::<(), std::fmt::Error>(())
/// ```
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
    text::fill(out, ", # frames\n", &[count.into()])
}

/// Writes the line for frames that the list leaves out, with its newline.
#[inline(never)]
pub(super) fn write_left_out(out: &mut dyn Write, count: u32) -> fmt::Result {
    text::fill(out, "   ----- # frames left out -----\n", &[count.into()])
}

/// Writes bytes as hexadecimal digits, two for each byte: a build id, for example.
///
/// # Errors
/// Returns an error if `out` does.
pub fn write_bytes(out: &mut dyn Write, bytes: &[u8]) -> fmt::Result {
    bytes
        .iter()
        .try_for_each(|&byte| text::plain_hex(out, u64::from(byte), 2))
}
