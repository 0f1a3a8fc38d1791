//! Uses every public function of `unwind` on bytes that may be anything, and checks what must hold for any bytes. Shared by the
//! mutation tests and the fuzz targets; the test `fuzzed` of `qemu` fails if there is a public function that nothing here calls.
#![allow(
    dead_code,
    unused_imports,
    reason = "each of the targets that include this uses its part"
)]

mod ehabi;
mod forms;
mod map;
mod registers;
mod sections;
mod start;
mod symbols;
mod values;
mod vouched;
mod walk;

pub use ehabi::{exception_tables, walk_by_exception_tables};
pub use map::{map, with_map_checksum};
pub use sections::sections;
pub use start::Start;
pub use symbols::{symbols, with_checksum};
pub use values::values;
pub use walk::walk;

/// The first `N` little-endian words of fuzzer input, and the rest; words are copied, as nothing is aligned.
#[must_use]
pub fn words<const N: usize>(data: &[u8]) -> Option<([u64; N], &[u8])> {
    let (head, rest) = data.split_at_checked(N * 8)?;
    let (chunks, _) = head.as_chunks::<8>();
    Some((
        std::array::from_fn(|index| u64::from_le_bytes(chunks[index])),
        rest,
    ))
}
