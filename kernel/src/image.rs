//! The sections of the kernel's own image, by the linker script's symbols.

use core::ops::Range;

use postmortem::{Image, Section};
use spin::Once;
use unwind::sframe::{Damage, Tables, Verified};

/// The bytes between two symbols of the linker script.
///
/// Invariant: only [`span!`] makes one, and only for symbols that the linker script defines around bytes of the image that
/// nothing writes.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    start: *const u8,
    end: *const u8,
}

impl Span {
    /// The address of the first byte.
    pub fn start(self) -> u64 {
        self.start as u64
    }

    /// The address after the last byte.
    pub fn end(self) -> u64 {
        self.end as u64
    }

    /// The bytes.
    pub fn bytes(self) -> &'static [u8] {
        let length = (self.end as usize).saturating_sub(self.start as usize);
        // SAFETY: by the type's invariant part of the image: mapped, readable and constant as long as the kernel runs.
        unsafe { core::slice::from_raw_parts(self.start, length) }
    }
}

/// A [`Span`] of constant bytes between two symbols.
macro_rules! span {
    ($start:ident, $end:ident) => {{
        // The symbols have no value, only an address.
        unsafe extern "C" {
            static $start: u8;
            static $end: u8;
        }
        Span {
            start: &raw const $start,
            end: &raw const $end,
        }
    }};
}

/// All code that runs in the high half: `__text_start` to `__text_end`.
pub fn code() -> Span {
    span!(__text_start, __text_end)
}

/// Where that code lies.
pub fn text() -> unwind::Range {
    unwind::Range::new(code().start(), code().end())
}

/// The result of verifying the unwind tables, once that is done. Reading it takes no lock.
static VERIFIED: Once<Result<Verified, Damage>> = Once::new();

/// Verifies the unwind tables, for all reports from now on. Called once, when the kernel boots, because it takes time in
/// proportion to their size. They are read-only from then on, and each trace verifies them again.
pub fn verify_tables() {
    VERIFIED.call_once(|| sframe().verify());
}

fn sframe() -> Tables<'static> {
    let span = span!(__sframe_start, __sframe_end);
    Tables::new(span.bytes(), span.start())
}

/// The parts of the image that reports need. Tables and names are empty in an image that was linked without `sframe-link`.
pub fn image() -> Image {
    Image {
        code: Section::new(code().bytes()),
        tables: sframe(),
        verified: VERIFIED.get().copied(),
        symbols: Section::new(span!(__symbols_start, __symbols_end).bytes()),
        build_id: build_id(),
    }
}

/// The build id of the image: the description in the linker's note.
fn build_id() -> &'static [u8] {
    // An ELF note: sizes of name and description, type, the name "GNU\0" (System V ABI, "Note Section").
    let note = span!(__build_id_start, __build_id_end).bytes();
    note.get(16..).unwrap_or_default()
}

/// What a page of the image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Code.
    Execute,
    /// Constants, and the tables.
    Read,
    /// Variables, and stacks.
    Write,
}

/// The image's pages: ranges of virtual addresses, all of them multiples of a page.
pub fn sections() -> [(Range<u64>, Access); 3] {
    let rodata = span!(__rodata_start, __rodata_end).start();
    let data = span!(__data_start, __data_end);
    [
        (text().start..rodata, Access::Execute),
        (rodata..data.start(), Access::Read),
        (data.start()..data.end(), Access::Write),
    ]
}
