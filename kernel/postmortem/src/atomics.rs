//! The atomics that the rendezvous uses. `tests/rendezvous.rs` replaces them by those of `loom`.

pub(crate) use core::hint::spin_loop;
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
