//! The text of an exception, with what is known in addition to the trap frame: a machine check.

use core::fmt;

use crate::arch::TrapFrame;
use crate::platform::Platform;
use crate::stacks::Stacks;
use crate::x86_64::LastMachineCheck;

/// An exception; as text, what happened.
pub(crate) struct Words<'a> {
    stacks: Stacks<'a>,
    noted: &'a LastMachineCheck,
    frame: &'a TrapFrame,
}

impl<'a> Words<'a> {
    pub(crate) const fn new(
        platform: &'a dyn Platform,
        noted: &'a LastMachineCheck,
        frame: &'a TrapFrame,
    ) -> Self {
        Self {
            stacks: Stacks::of(platform),
            noted,
            frame,
        }
    }
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.frame.words(&self.stacks).fmt(f)?;
        match self.noted.get() {
            Some(error) if self.frame.is_machine_check() => error.fmt(f),
            _ => Ok(()),
        }
    }
}
