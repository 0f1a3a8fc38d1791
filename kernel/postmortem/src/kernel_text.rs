//! Text of the kernel. Its `Display` may return an error, which must not end the report.

use core::fmt::{self, Display};

/// The text that follows a text whose `Display` has failed.
pub(crate) const INCOMPLETE: &str = "(text incomplete, because its `Display` returned an error)";

/// A text of the kernel, whose `Display` may fail.
pub(crate) struct KernelText<'a>(pub &'a dyn Display);

impl Display for KernelText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.fmt(f) {
            // If the error is the writer's, the writer returns it again.
            Err(fmt::Error) => f.write_str(INCOMPLETE),
            Ok(()) => Ok(()),
        }
    }
}
