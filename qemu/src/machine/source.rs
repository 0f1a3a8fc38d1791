//! What a walk from outside asks a machine for, whether it stands still or only its dump is left.

use std::fmt::Debug;

use anyhow::Result;

use crate::stub::State;

/// Bytes of the smallest page.
pub const PAGE: u64 = 4096;
/// Bytes of memory that are read at once: what QEMU's stub gives.
pub const PIECE: u64 = PAGE / 2;

/// Registers and memory of a machine that does not run.
pub trait Source: Debug {
    /// The CPUs, each with whether it is halted: it waits for an interrupt, or has not been started.
    ///
    /// # Errors
    /// When the machine does not answer.
    fn cpus(&mut self) -> Result<Vec<bool>>;

    /// The registers of a CPU.
    ///
    /// # Errors
    /// When the machine does not answer.
    fn state(&mut self, cpu: usize) -> Result<State>;

    /// The piece of memory with this address, as this CPU's page tables have it now. None if it is not mapped, or no memory: to
    /// read a device would change it.
    fn piece(&mut self, cpu: usize, address: u64) -> Option<Box<[u8; PIECE as usize]>>;

    /// Whether the word of so many bytes at this address of a piece is known. Of memory that somebody has read or sent in parts, the rest of a piece is
    /// not, and zeros there would be made up.
    fn knows(&self, address: u64, bytes: u64) -> bool {
        let _ = (address, bytes);
        true
    }

    /// How far the image lies above the addresses that it was linked for, modulo 2^64, if whoever has read or sent this says so.
    fn moved_by(&self) -> Option<u64> {
        None
    }

    /// Whether this has said which build it is of, and that is the image's.
    fn is_of_image(&self) -> bool {
        false
    }

    /// Whether its code is the machine's, not a copy of the image's.
    fn has_own_code(&self) -> bool {
        true
    }
}
