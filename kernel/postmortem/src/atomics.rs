//! The atomics of the rendezvous. `tests/rendezvous.rs` replaces them with the atomics of `loom`.

pub(crate) use core::hint::spin_loop;
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
