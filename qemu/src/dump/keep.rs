//! Makes dumps, whole or not at all.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::about::{About, Content, Cpu, FORMAT};
use super::words::size;
use super::{ABOUT, HOW_TO, IMAGE, MEMORY, SENT};
use crate::decode::Symbolizer;
use crate::machine::{Source, Stopped};
use crate::program::{called, word};
use crate::words::say;

/// Keeps dumps in a folder.
#[derive(Clone, Debug)]
pub struct Keeper {
    folder: PathBuf,
    name: String,
}

/// A dump that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its folder.
    pub path: PathBuf,
    /// How large it is.
    pub bytes: u64,
}

/// Says where it is, and how it is asked; or that there is none, which changes nothing of what else came of a machine.
pub fn say_kept(kept: Result<Kept>) {
    match kept {
        Ok(kept) => {
            let (path, size) = (word(&kept.path), size(kept.bytes));
            say(format_args!(
                "saved a dump of {size}; to read the dump, type: {program} autopsy {path}",
                program = called()
            ));
        }
        Err(error) => say(format_args!("error: no dump was written: {error:#}")),
    }
}

impl Keeper {
    /// Dumps of this name, in `folder`. The second has a number.
    #[must_use]
    pub fn new(folder: &Path, name: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Keeps a machine that was asked where it is for this reason, and runs the `image` with this build id.
    ///
    /// # Errors
    /// When the machine does not answer, or a file cannot be written; then nothing is left of it.
    pub fn keep(
        &self,
        stopped: &mut Stopped<'_>,
        image: &Path,
        build: Option<&str>,
        reason: &str,
    ) -> Result<Kept> {
        self.fill(|folder| fill(folder, stopped, image, build, reason))
    }

    /// Keeps the lines that a kernel with this image has sent.
    ///
    /// # Errors
    /// When a file cannot be written; then nothing is left of it.
    pub fn keep_sent(&self, lines: &str, image: &Path) -> Result<Kept> {
        self.fill(|folder| {
            let copy = folder.join(IMAGE);
            let copied = fs::copy(image, &copy);
            let copied = copied.with_context(|| {
                let (image, copy) = (image.display(), copy.display());
                format!("cannot copy {image} to {copy}")
            })?;
            let how_to = how_to_sent();
            for (name, text) in [(SENT, lines), (HOW_TO, &*how_to)] {
                let path = folder.join(name);
                let written = fs::write(&path, text);
                written.with_context(|| format!("cannot write {}", path.display()))?;
            }
            Ok(copied + (lines.len() + how_to.len()) as u64)
        })
    }

    /// Makes a dump of what `fill` writes to a folder, and says to have written in bytes.
    fn fill(&self, fill: impl FnOnce(&Path) -> Result<u64>) -> Result<Kept> {
        let folder = &self.folder;
        let made = fs::create_dir_all(folder).and_then(|()| {
            // QEMU writes there too, wherever it was started.
            let folder = fs::canonicalize(folder)?;
            let mut builder = tempfile::Builder::new();
            // As for any new folder, less what the process takes away (`umask`).
            let builder = builder.permissions(Permissions::from_mode(0o777));
            let _parent = locked(&folder)?;
            let made = builder.prefix(UNFINISHED).tempdir_in(&folder)?;
            let lock = locked(made.path())?;
            Ok((made, lock))
        });
        let (unfinished, _lock) =
            made.with_context(|| format!("cannot write {}", folder.display()))?;
        let bytes = fill(unfinished.path())?;
        let path = self.name_it(unfinished.path());
        let path = path.with_context(|| format!("cannot write {}", folder.display()))?;
        // It has another name by now.
        let _ = unfinished.keep();
        Ok(Kept { path, bytes })
    }

    /// Gives it the first name that is free.
    fn name_it(&self, unfinished: &Path) -> io::Result<PathBuf> {
        let mut number = 1;
        loop {
            let name = match number {
                1 => self.name.clone(),
                _ => format!("{}-{number}", self.name),
            };
            let path = self.folder.join(name);
            // To rename it would replace an empty folder.
            if !path.try_exists()? {
                match fs::rename(unfinished, &path) {
                    Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                    renamed => return renamed.map(|()| path),
                }
            }
            number += 1;
        }
    }
}

/// How the name of a folder begins while its files are written.
const UNFINISHED: &str = ".unfinished-";

/// Makes the folder for dumps, before there is anything to lose, and removes what a runner has left there that was killed.
///
/// # Errors
/// When it cannot be made.
pub fn prepare(folder: &Path) -> Result<()> {
    let made = fs::create_dir_all(folder).and_then(|()| remove_unfinished(folder));
    made.with_context(|| format!("cannot write dumps to {folder}", folder = folder.display()))
}

fn remove_unfinished(folder: &Path) -> io::Result<()> {
    // Between the begin of a folder and its lock nobody looks.
    let _parent = locked(folder)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Whoever writes there still has locked it.
        if name.starts_with(UNFINISHED) && File::open(&path)?.try_lock().is_ok() {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

/// The folder, which nobody else has locked until this is dropped or the program ends, however it ends.
fn locked(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    match file.lock() {
        // Some file systems have no locks.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        locked => locked.map(|()| file),
    }
}

/// Writes all files; returns how many bytes they have.
fn fill(
    folder: &Path,
    stopped: &mut Stopped<'_>,
    image: &Path,
    build: Option<&str>,
    reason: &str,
) -> Result<u64> {
    let halted = stopped.cpus()?;
    let cpus = halted.into_iter().enumerate().map(|(number, is_halted)| {
        let answers = stopped.answers(number)?;
        Ok(Cpu { is_halted, answers })
    });
    let cpus = cpus.collect::<Result<Vec<_>>>()?;
    let memory = folder.join(MEMORY);
    // QEMU would let nobody else read it.
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o666);
    let made = file.open(&memory);
    made.with_context(|| format!("cannot write {}", memory.display()))?;
    // QEMU does not say why it could not, of which a full disk is the likeliest.
    let written = stopped.write_memory(&memory);
    written.with_context(|| format!("cannot write {}", memory.display()))?;
    let copy = folder.join(IMAGE);
    let copied = fs::copy(image, &copy);
    copied.with_context(|| {
        let (image, copy) = (image.display(), copy.display());
        format!("cannot copy {image} to {copy}")
    })?;
    // The file may have been built anew since the machine began to run it.
    let copied = Symbolizer::open(&copy)?;
    if copied.build_id() != build {
        bail!(
            "{image} was replaced after the boot: its build id is {found}, expected {build}",
            image = image.display(),
            found = copied.build_id().unwrap_or("unknown"),
            build = build.unwrap_or("unknown")
        );
    }
    let about = About {
        format: FORMAT,
        reason: reason.to_owned(),
        build: build.map(str::to_owned),
        image: Content::of(&copy)?,
        memory: Content::of(&memory)?,
        cpus,
        crc32: 0,
    };
    let about = About {
        crc32: about.sum()?,
        ..about
    };
    let json = serde_json::to_string_pretty(&about)? + "\n";
    let how_to = how_to(&about);
    for (name, text) in [(ABOUT, &json), (HOW_TO, &how_to)] {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let text = json.len() + how_to.len();
    Ok(about.image.bytes + about.memory.bytes + text as u64)
}

fn how_to(about: &About) -> String {
    let build = match &about.build {
        Some(id) => format!("build {id}"),
        None => "without build id".to_owned(),
    };
    format!(
        "The state of a machine, saved because {reason}.

{MEMORY}     compressed memory in the flattened format of `makedumpfile`, which `crash` reads, too
{ABOUT}  the registers of each CPU, from QEMU's gdb stub
{IMAGE}  the image that ran, {build}

This command prints the backtraces of all CPUs again; pass this folder's path:

    {program} autopsy FOLDER
",
        reason = about.reason,
        program = called()
    )
}

/// What is in the folder of a dump that a kernel has sent.
fn how_to_sent() -> String {
    format!(
        "The state of a machine, sent by the kernel when the kernel failed.

dump.log     registers and stack memory
image.elf    the image that ran

This command prints the backtraces of all CPUs; pass this folder's path. With -i it takes commands:

    {program} autopsy FOLDER
",
        program = called()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_runner_has_left_is_removed() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let [left, written, whole] =
            [".unfinished-a", ".unfinished-b", "panic"].map(|name| folder.path().join(name));
        for path in [&left, &written, &whole] {
            fs::create_dir(path).expect("a folder can be made");
            fs::write(path.join(MEMORY), "all of it").expect("a file can be written");
        }
        let lock = locked(&written).expect("a folder can be locked");
        prepare(folder.path()).expect("it is there already");
        let there = || [&left, &written, &whole].map(|path| path.join(MEMORY).exists());
        assert_eq!(there(), [false, true, true]);
        drop(lock);
        prepare(folder.path()).expect("it is there already");
        assert_eq!(there(), [false, false, true]);
    }
}
