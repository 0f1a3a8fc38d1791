//! A backtrace in the symbolizer markup: elements in three braces, which tools on a host replace with names, files and lines.
//!
//! For a kernel without symbols, and for tools that read this markup: `llvm-symbolizer --filter-markup`, and Fuchsia's, for example. Source:
//! LLVM's documentation, "Symbolizer Markup Format".
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
//! # use example::*;
//! use unwind::{Stacks, Unwinder, markup, report::Text, sframe::Tables, x86_64::Registers};
//!
//! let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000));
//! let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
//! let (mut log, text) = (String::new(), Text::new(None));
//! markup::write_context(&mut log, "kernel", &[0x48, 0x18], &[])?;
//! frames.tell(&mut |event| markup::write(&mut log, &text, event))?;
//! let lines: Vec<&str> = log.lines().collect();
//! assert_eq!(lines[..2], ["{{{reset}}}", "{{{module:0:kernel:elf:4818}}}"]);
//! assert_eq!(lines[2], "{{{bt:0:0x0000000000001018:pc}}}");
//! # Ok::<(), std::fmt::Error>(())
//! ```

use core::fmt::{Result, Write};

use crate::report::{Text, write_bytes};
use crate::text;
use crate::trace::Event;
use crate::walk::FrameKind;

/// A segment of an image in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Segment<'a> {
    /// The address of the first byte in memory.
    pub start: u64,
    /// The size in bytes.
    pub size: u64,
    /// The permitted accesses: letters of `rwx`.
    pub access: &'a str,
    /// The address of the first byte in the ELF file.
    pub file_address: u64,
}

/// Writes the elements that map a report's addresses to an ELF file: `reset`, which removes all modules, one `module`, and an `mmap` for each
/// of its segments.
///
/// # Errors
/// Returns an error if `out` does.
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

/// Writes the line of an event, with its newline: a `bt` element for a frame, and the text form `text` for all other events.
///
/// An address is marked as exact (`pc`) or as a return address (`ra`). The markup does not contain how a frame was found.
///
/// # Errors
/// Returns an error if `out` does.
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
