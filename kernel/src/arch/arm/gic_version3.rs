//! There is no version 3 of the GIC here: its interface are registers of processors that came later.

use crate::arch::arms::interrupts::{Gic, Registers};

/// That the GIC is of this version, which it never is.
#[derive(Clone, Copy)]
pub enum Version3 {}

impl Version3 {
    /// None.
    pub const fn found() -> Option<Self> {
        None
    }

    /// Is never called, as there is no value.
    pub const fn own(self) -> Option<Registers> {
        match self {}
    }

    /// Is never called.
    pub const fn init(self, _: Registers) {
        match self {}
    }

    /// Is never called.
    pub const fn find_own(self, _: Registers) {
        match self {}
    }

    /// Is never called.
    pub const fn init_interface(self) {
        match self {}
    }

    /// Is never called.
    pub const fn take(self, _: bool) -> u32 {
        match self {}
    }

    /// Is never called.
    pub const fn route(self, _: &Gic, _: u32, _: u64) {
        match self {}
    }

    /// Is never called.
    pub const fn send(self, _: u32, _: u64) {
        match self {}
    }
}
