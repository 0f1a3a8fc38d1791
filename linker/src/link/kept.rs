//! Keeps the inputs of a link, so that it can be made again with other options: rustc removes its objects after the link.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{self, Path};

use anyhow::{Context, Result};

use super::{CommandLine, response};

/// The environment variable with the name of the folder in which the inputs of a link are kept. A relative name counts from the folder of
/// the output file, so that links at the same time keep their inputs apart.
pub const KEEP_VARIABLE: &str = "SFRAME_LINK_KEEP";

/// The response file in that folder with the arguments of the link. It is written last.
pub const KEPT_ARGUMENTS: &str = "arguments";

/// Replaces the content of the folder `name` by the inputs and the arguments of this link. Linker scripts stay where they are.
pub(super) fn keep(name: &Path, line: &CommandLine, arguments: &[OsString]) -> Result<()> {
    let (mut arguments, _) = response::expand(arguments)?;
    let folder = &line.output.with_file_name(name);
    let mut keep = || {
        let folder = &path::absolute(folder)?;
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        let inputs = arguments.iter_mut().enumerate();
        for (number, input) in inputs.filter(|(_, it)| Path::new(it) != line.output) {
            keep_input(folder, number, input)?;
        }
        fs::write(folder.join(KEPT_ARGUMENTS), response::join(&arguments))
    };
    keep().with_context(|| format!("cannot keep inputs in {}", folder.display()))
}

/// Keeps an argument that is a file, and replaces it by the path of what was kept.
fn keep_input(folder: &Path, number: usize, input: &mut OsString) -> io::Result<()> {
    let file = Path::new(input);
    let Some(name) = file.file_name().filter(|_| file.is_file()) else {
        return Ok(());
    };
    let mut numbered = OsString::from(format!("{number}-"));
    numbered.push(name);
    let kept = folder.join(numbered);
    // Compilers replace their outputs by new files, so that a second name keeps this one.
    if fs::hard_link(file, &kept).is_err() {
        fs::copy(file, &kept)?;
    }
    *input = kept.into_os_string();
    Ok(())
}
