//! Temporary files of a link: deleted at its end, or given their final name.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The part of a temporary file's name between the name of the other file and the extension. Behind it comes a number if another link
/// of the same file has the names without it.
const MARK: &str = ".sframe-link";

/// The extensions of what a link makes for its linker to read.
const INPUTS: [&str; 2] = ["o", "ld"];

/// The most bytes of a file's name, and those that our names and a linker add to it: lld writes to `NAME.tmp0123456` first.
const MOST: usize = 255;
const ADDED: usize = 40;

/// The error for a temporary file that cannot be written.
#[derive(Debug)]
pub(super) struct Unwritable(PathBuf);

impl std::fmt::Display for Unwritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write {}", self.0.display())
    }
}

/// The names of a link's temporary files, which no other link has until this is dropped. They are the same in every build, unless two links
/// of a file run at once, because a linker may write them to its output (a map file).
#[derive(Debug)]
pub(super) struct Names {
    /// The file that the link writes.
    file: PathBuf,
    /// What the names begin with.
    base: PathBuf,
    lock: PathBuf,
    /// Locked as long as it is open. A link that is killed leaves the file behind, and no lock. Where nothing can be written there is none,
    /// and the linker finds out.
    _file: Option<File>,
}

impl Names {
    /// Those for the link of a file.
    pub(super) fn of(file: &Path) -> Self {
        let first = base(file);
        let mut number = 1;
        loop {
            let mut base = first.clone();
            if number > 1 {
                base.push(format!("-{number}"));
            }
            let base = PathBuf::from(base);
            let lock = with_extension(&base, "lock");
            match locked(&lock) {
                Ok(None) => number += 1,
                opened => {
                    return Self {
                        file: file.to_owned(),
                        base,
                        lock,
                        _file: opened.ok().flatten(),
                    };
                }
            }
        }
    }

    /// Names for the same file in the folder for temporary files, for a link that cannot write next to the file.
    pub(super) fn elsewhere(&self) -> Self {
        let name = self.file.file_name().unwrap_or_default();
        Self::of(&std::env::temp_dir().join(name))
    }

    pub(super) fn path(&self, extension: &str) -> PathBuf {
        with_extension(&self.base, extension)
    }

    /// Replaces the name of the temporary image in the linker's messages with the name that the user passed.
    pub(super) fn shown(&self, messages: &[u8]) -> Vec<u8> {
        let temporary = self.path("image").into_os_string();
        let mut shown = Vec::with_capacity(messages.len());
        let mut rest = messages;
        while let [first, after @ ..] = rest {
            if let Some(after) = rest.strip_prefix(temporary.as_encoded_bytes()) {
                shown.extend_from_slice(self.file.as_os_str().as_encoded_bytes());
                rest = after;
            } else {
                shown.push(*first);
                rest = after;
            }
        }
        shown
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        // Before the lock is lost, so that nobody else's is removed.
        let _ = fs::remove_file(&self.lock);
    }
}

/// Where the names of temporary files begin: beside the file, with its name before them if that leaves room.
fn base(file: &Path) -> OsString {
    let name = file.file_name().unwrap_or_default();
    let known = fs::metadata(file);
    let mut base = match name.len() + ADDED <= MOST {
        true => name.to_owned(),
        false => format!(".{:08x}", crc32fast::hash(name.as_encoded_bytes())).into(),
    };
    base.push(MARK);
    // Nobody writes beside a device, nor to a file whose name begins like a switch.
    match known {
        Ok(known) if !known.is_file() && !known.is_dir() => std::env::temp_dir().join(base),
        _ if file == Path::new(name) && name.as_encoded_bytes().starts_with(b"-") => {
            Path::new(".").join(base)
        }
        _ => file.with_file_name(base),
    }
    .into_os_string()
}

fn with_extension(base: &Path, extension: &str) -> PathBuf {
    let mut name = OsString::from(base);
    name.push(".");
    name.push(extension);
    name.into()
}

/// Opens a file that no other link can open meanwhile, and that is gone when it is closed. `None` if another link has opened it.
#[cfg(windows)]
fn locked(path: &Path) -> std::io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt;

    const DELETE_ON_CLOSE: u32 = 0x0400_0000;
    const SHARING_VIOLATION: i32 = 32;
    let opened = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .share_mode(0)
        .custom_flags(DELETE_ON_CLOSE)
        .open(path);
    match opened {
        Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Opens and locks a file. `None` if somebody else has locked it.
#[cfg(unix)]
fn locked(path: &Path) -> std::io::Result<Option<File>> {
    use std::fs::TryLockError;
    use std::os::unix::fs::MetadataExt;

    loop {
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Some file systems have no locks, and then nobody else has one.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // Whoever had the lock before has removed the file, perhaps after it was opened here.
        let number = |known: fs::Metadata| (known.dev(), known.ino());
        let own = file.metadata().map(number)?;
        match fs::metadata(path).map(number) {
            Ok(named) if named == own => return Ok(Some(file)),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
}

/// A file that is deleted when this is dropped. If the link is killed, it is left behind, and the next one writes it again.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// A file that somebody else writes.
    pub(super) fn named(names: &Names, extension: &str) -> Self {
        let path = names.path(extension);
        Self { path }
    }

    /// [`Self::named`], where nothing is yet: a link that was killed may have left its file behind.
    pub(super) fn absent(names: &Names, extension: &str) -> Result<Self> {
        let this = Self::named(names, extension);
        match fs::remove_file(&this.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| Unwritable(this.path.clone()))
            }
            _ => Ok(this),
        }
    }

    /// Whether a path is that of a file which a link makes for its linker to read.
    pub(super) fn is_input(path: &[u8]) -> bool {
        let path = String::from_utf8_lossy(path);
        let name = Path::new(&*path).file_name().and_then(OsStr::to_str);
        let Some((_, end)) = name.and_then(|name| name.rsplit_once(MARK)) else {
            return false;
        };
        let number = end.split('.').next().unwrap_or_default();
        let is_number = |number: &str| number.bytes().all(|digit| digit.is_ascii_digit());
        let is_ours = number.is_empty() || number.strip_prefix('-').is_some_and(is_number);
        let extension = end[number.len()..].strip_prefix('.');
        is_ours && extension.is_some_and(|extension| INPUTS.contains(&extension))
    }

    /// Writes a file.
    pub(super) fn written(names: &Names, extension: &str, content: &[u8]) -> Result<Self> {
        let this = Self::named(names, extension);
        fs::write(&this.path, content).with_context(|| Unwritable(this.path.clone()))?;
        Ok(this)
    }

    /// Gives it its final name, in one step.
    pub(super) fn rename(self, to: &Path) -> Result<()> {
        fs::rename(&self.path, to).with_context(|| format!("cannot write {}", to.display()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Somebody else may have removed it, and a file that is left behind does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_links_of_a_file_have_different_names() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("image");
        let first = Names::of(&file);
        assert_eq!(first.path("o"), folder.path().join("image.sframe-link.o"));
        let second = Names::of(&file);
        assert_eq!(
            second.path("o"),
            folder.path().join("image.sframe-link-2.o")
        );
        drop(first);
        // Nobody has the names then, whatever a killed link has left behind.
        fs::write(folder.path().join("image.sframe-link.lock"), "").unwrap();
        let third = Names::of(&file);
        assert_eq!(third.path("o"), folder.path().join("image.sframe-link.o"));
        drop((second, third));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn names_are_beside_the_file_and_short_enough() {
        let base = |file: &str| base(file.as_ref()).into_string().unwrap();
        assert_eq!(base("out/image"), "out/image.sframe-link");
        assert_eq!(base("-"), "./-.sframe-link");
        assert_eq!(base("/nowhere/-"), "/nowhere/-.sframe-link");
        let long = "x".repeat(255);
        assert_eq!(
            base(&format!("out/{long}")).len(),
            "out/".len() + 9 + MARK.len()
        );
        assert!(Path::new(&base("/dev/null")).starts_with(std::env::temp_dir()));
    }

    #[test]
    fn inputs_of_a_link_are_known_by_their_names() {
        for name in [
            "a.sframe-link.o",
            "out/a.sframe-link.ld",
            ".01234567.sframe-link-12.o",
        ] {
            assert!(Temporary::is_input(name.as_bytes()), "{name}");
        }
        for name in [
            "a.o",
            "a.sframe-link.image",
            "a.sframe-linked.o",
            "a.sframe-link-x.o",
        ] {
            assert!(!Temporary::is_input(name.as_bytes()), "{name}");
        }
    }
}
