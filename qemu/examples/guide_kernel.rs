//! Writes a kernel of the guide to a folder: `cargo run -p unwind-qemu --example guide_kernel NAME FOLDER`.

use std::path::Path;
use std::process::ExitCode;

#[path = "../tests/guide/parts.rs"]
mod parts;
#[path = "../tests/guide/steps.rs"]
mod steps;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let names = parts::KERNELS.map(|(name, _)| name);
    match &arguments[..] {
        [kernel, folder] if names.contains(&kernel.as_str()) => {
            parts::write(kernel, Path::new(folder));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!(
                "usage: guide_kernel NAME FOLDER, NAME is one of: {}",
                names.join(" ")
            );
            ExitCode::FAILURE
        }
    }
}
