//! Keeps the inputs of a link, so that it can be made again with other options: rustc removes its objects after the link.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{self, Path};

use anyhow::{Context, Result, ensure};

use super::switches::{Role, roles};
use super::{CommandLine, response};

/// The environment variable with the name of the folder in which the inputs of a link are kept. A relative name counts from the folder of
/// the output file, so that links at the same time keep their inputs apart.
pub const KEEP_VARIABLE: &str = "SFRAME_LINK_KEEP";

/// The response file in that folder with the arguments of the link. It is written last.
pub const KEPT_ARGUMENTS: &str = "arguments";

/// An empty file in that folder, written first: a link replaces only a folder of its own.
const MARK: &str = ".kept-by-sframe-link";

/// Switches whose value is a file that the linker reads.
const FILES: [&str; 7] = [
    "T",
    "default-script",
    "dynamic-list",
    "just-symbols",
    "retain-symbols-file",
    "script",
    "version-script",
];

/// Replaces the content of the folder `name` by the inputs and the arguments of this link. Files that linker scripts include stay where they
/// are.
pub(super) fn keep(name: &Path, line: &CommandLine, arguments: &[OsString]) -> Result<()> {
    let (arguments, _) = response::expand(arguments)?;
    let folder = &line.output.with_file_name(name);
    let keep = || {
        let folder = &path::absolute(folder)?;
        if folder.exists() {
            let has = |name| folder.join(name).is_file();
            let is_empty = fs::read_dir(folder)?.next().is_none();
            let is_ours = is_empty || has(MARK) || has(KEPT_ARGUMENTS);
            ensure!(
                is_ours,
                "the folder for linker inputs contains files that sframe-link did not write: pass an empty folder"
            );
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        fs::write(folder.join(MARK), "")?;
        let mut kept = Vec::with_capacity(arguments.len());
        for (number, (argument, role)) in roles(&arguments).enumerate() {
            let is_read = match role {
                Role::Input => true,
                Role::ValueOf(switch) => FILES.contains(&switch),
                Role::Switch => false,
            };
            kept.push(match is_read {
                true => keep_input(folder, number, argument)?,
                false => argument.to_owned(),
            });
        }
        fs::write(folder.join(KEPT_ARGUMENTS), response::join(&kept))?;
        Ok(())
    };
    keep().with_context(|| {
        format!(
            "cannot copy the linker inputs to {path}",
            path = folder.display()
        )
    })
}

/// Keeps an input that is a file, and returns the path of what was kept; that of anything else stays.
fn keep_input(folder: &Path, number: usize, input: &OsStr) -> io::Result<OsString> {
    let file = Path::new(input);
    let Some(name) = file.file_name().filter(|_| file.is_file()) else {
        return Ok(input.to_owned());
    };
    let mut numbered = OsString::from(format!("{number}-"));
    numbered.push(name);
    let kept = folder.join(numbered);
    // Not a second name of the same file: `ar` writes into the archive that is there.
    fs::copy(file, &kept)?;
    Ok(kept.into_os_string())
}
