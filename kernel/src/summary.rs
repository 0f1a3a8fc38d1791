//! The first failure in one line, repeated as the last line.

use postmortem::FirstFailure;

/// The first line of the first report.
pub static FIRST_FAILURE: FirstFailure = FirstFailure::new();
