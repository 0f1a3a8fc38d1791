//! The words on the serial line when the kernel's report is on the screen.

/// The words, in a line with the actions of keys. After this line, the picture is complete, and keys are accepted.
pub const ON_SCREEN: &str = "the report is on the screen";
