//! Text of the kernel. Its `Display` may return an error, which must not end the report.

use core::fmt::{self, Display};

/// A text of the kernel, whose `Display` may fail.
pub(crate) struct KernelText<'a>(pub &'a dyn Display);

impl Display for KernelText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.fmt(f) {
            // If the error is the writer's, the writer returns it again.
            Err(fmt::Error) => f.write_str("(text incomplete: its Display failed)"),
            Ok(()) => Ok(()),
        }
    }
}
