//! A trace in the symbolizer markup: elements in three braces, which `llvm-symbolizer --filter-markup`, Fuchsia's and other
//! tools on a host replace by names, files and lines. For a kernel without a `.symbols` of its own, and for those whose
//! tools know this markup already. Source: LLVM's documentation, "Symbolizer Markup Format".

use core::fmt::{Result, Write};

use crate::report::{Text, write_bytes};
use crate::text;
use crate::trace::Event;
use crate::walk::FrameKind;

/// A segment of an image in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Segment<'a> {
    /// Address of the first byte.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// The permitted accesses: letters of `rwx`.
    pub access: &'a str,
    /// The address that the ELF file has for the first byte.
    pub file_address: u64,
}

/// Writes the context of a report's addresses: `reset`, which removes all modules, one `module`, and an `mmap` for each of its
/// segments.
///
/// # Errors
/// The errors of `out`.
pub fn write_context(
    out: &mut dyn Write,
    name: &str,
    build_id: &[u8],
    segments: &[Segment<'_>],
) -> Result {
    out.write_str("{{{reset}}}\n{{{module:0:")?;
    out.write_str(name)?;
    out.write_str(":elf:")?;
    write_bytes(out, build_id)?;
    out.write_str("}}}\n")?;
    for segment in segments {
        out.write_str("{{{mmap:")?;
        text::hex(out, segment.start, 1)?;
        out.write_str(":")?;
        text::hex(out, segment.size, 1)?;
        out.write_str(":load:0:")?;
        out.write_str(segment.access)?;
        out.write_str(":")?;
        text::hex(out, segment.file_address, 1)?;
        out.write_str("}}}\n")?;
    }
    Ok(())
}

/// Writes the line of an event, with its newline: a `bt` element for a frame, and text by `text` for all other events. A
/// frame's address is marked as exact (`pc`) or as a return address (`ra`); the markup cannot say how a frame was found.
///
/// # Errors
/// The errors of `out`.
pub fn write<R>(out: &mut dyn Write, text: &Text<'_>, event: &Event<'_, R>) -> Result {
    let Event::Frame(number, frame) = *event else {
        return text.write(out, event);
    };
    out.write_str("{{{bt:")?;
    text::decimal(out, u64::from(number))?;
    out.write_str(":")?;
    text::hex(out, frame.pc, 16)?;
    out.write_str(match frame.kind {
        FrameKind::Exact => ":pc}}}\n",
        FrameKind::ReturnAddress => ":ra}}}\n",
    })
}
