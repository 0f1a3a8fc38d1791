//! The runner.
