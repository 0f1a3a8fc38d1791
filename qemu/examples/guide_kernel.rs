//! Writes a kernel of the guide to a folder, without the guide's changes: `cargo run -p unwind-qemu --example guide_kernel NAME FOLDER`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use qemu::template::{KERNELS, write};

fn main() -> Result<ExitCode> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let names = KERNELS.map(|(name, _)| name);
    match &arguments[..] {
        [kernel, folder] if names.contains(&kernel.as_str()) => {
            write(kernel, Path::new(folder))?;
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprintln!(
                "usage: guide_kernel NAME FOLDER, NAME is one of: {}",
                names.join(" ")
            );
            Ok(ExitCode::FAILURE)
        }
    }
}
