//! The runner: builds the kernel, boots it in QEMU, shows its serial line and judges how it ended.
//!
//! ```text
//! cli ─► setup ─► build ─► machine ─► judge ─► exit status
//!        QEMU,    sframe-  boots,     verdict and
//!        `core`   link,    copies     serial text against
//!                 kernel   serial     the scenario's outcome
//! ```
//!
//! Serial text goes to standard output, byte for byte unless that is a terminal or a CI system's log. The runner's own words go to standard error, so that
//! `cargo run > log` holds what the kernel said and nothing else.

pub mod autopsy;
pub mod build;
pub mod cli;
pub mod decode;
mod disassemble;
pub mod dump;
pub mod frames;
pub mod hardware;
mod held;
pub mod image;
pub mod judge;
pub mod lines;
pub mod machine;
pub mod oracle;
pub mod output;
pub mod outside;
pub mod profile;
mod program;
pub mod raspi;
pub mod report;
pub mod results;
pub mod run;
pub mod scenario;
pub mod serial;
pub mod stacks;
pub mod status;
pub mod stub;
pub mod template;

pub use ::setup;
pub use setup::{words, workspace};
