//! What the kernel tells the serial line when its report is on the screen.

/// These words, in a line with what keys do: from then on the picture is there, and keys are taken.
pub const ON_SCREEN: &str = "the report is on the screen";
