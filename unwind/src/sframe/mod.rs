//! The SFrame section: how it is laid out, and how a row is found in it.

pub mod format;
