//! The sections of the kernel's own image, by the linker script's symbols.

use core::ops::Range;

use postmortem::{Image, Section};

/// The addresses of symbols of the linker script, which have no value.
macro_rules! addresses {
    ($($symbol:ident),*) => {{
        unsafe extern "C" {
            $(static $symbol: u8;)*
        }
        [$(&raw const $symbol),*]
    }};
}

/// The parts of the image that reports need. Tables and names are empty in an image that was linked without `sframe-link`.
pub fn image() -> Image {
    Image {
        build_id: build_id(),
        ..postmortem::image!()
    }
}

/// All code that runs in the high half: `__text_start` to `__text_end`.
pub fn code() -> Section {
    postmortem::image!().code
}

/// The build id of the image: the description in the linker's note.
fn build_id() -> &'static [u8] {
    // An ELF note: sizes of name and description, type, the name "GNU\0" (System V ABI, "Note Section").
    let [start, end] = addresses!(__build_id_start, __build_id_end);
    // SAFETY: the linker script puts the note between these symbols, with the constants.
    let note = unsafe { Section::between(start, end) };
    note.bytes.get(16..).unwrap_or_default()
}

/// The statics that are not zero in the image: tasks and locks are among them.
pub fn data() -> postmortem::Range {
    let [start, end] = addresses!(__data_start, __bss_start);
    postmortem::Range::new(start as u64, end as u64)
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
    let symbols = addresses!(__text_start, __rodata_start, __data_start, __data_end);
    let [text, rodata, data, end] = symbols.map(|symbol| symbol as u64);
    [
        (text..rodata, Access::Execute),
        (rodata..data, Access::Read),
        (data..end, Access::Write),
    ]
}
