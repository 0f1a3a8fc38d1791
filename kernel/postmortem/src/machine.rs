//! The line about the machine: what runs, and what its tables are worth.

use core::fmt;

use unwind::report::write_bytes;

use crate::arch::NAME;
use crate::image::Image;
use crate::tables::{Outcome, moved_by, write_outcome};

/// The architecture, the build and the state of the tables; as text, without a newline.
pub(crate) struct Machine {
    build_id: &'static [u8],
    verified: Outcome,
    /// How far the image lies above the addresses that it was linked for, modulo 2^64.
    moved_by: u64,
}

impl Machine {
    /// Verifies the tables of an image, which know the outcome from then on. When a report begins, because memory may be damaged
    /// at any time; not for each trace again, because it takes time in proportion to the tables' size.
    pub(crate) fn verify(image: &mut Image) -> Self {
        let verified = image
            .tables
            .verify_code(image.code.bytes, image.code.address);
        image.tables = image.tables.verified(verified);
        Self {
            build_id: image.build_id,
            verified,
            moved_by: moved_by(&image.tables, &verified).unwrap_or(0),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}, ")?;
        if self.build_id.is_empty() {
            f.write_str("no build id, ")?;
        } else {
            f.write_str("build ")?;
            write_bytes(f, self.build_id)?;
            f.write_str(", ")?;
        }
        write_outcome(f, &self.verified)?;
        match self.moved_by {
            0 => Ok(()),
            by => write!(f, ", moved by {by:#x}"),
        }
    }
}
