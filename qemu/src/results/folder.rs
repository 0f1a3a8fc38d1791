//! The folder in which a run keeps serial lines: its own, as long as it runs.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// More runs at once than any machine has: a folder that says of all numbers that they are taken is broken.
const MOST: u32 = 1000;

/// A folder, locked until this is dropped or the program ends, however it ends.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The lock is the system's, on the folder itself, so that no file is left behind.
    _lock: Option<File>,
}

impl Folder {
    /// The first of `folder`, `folder/2`, `folder/3` and so on in which no other run keeps its own. Numbers of processes, or by chance,
    /// would do without a lock; but then a scenario's last log would not be found by its name.
    pub(super) fn claim(folder: &Path) -> Self {
        for number in 1..MOST {
            let path = match number {
                1 => folder.to_owned(),
                _ => folder.join(number.to_string()),
            };
            // Writing to it says what is wrong with it.
            let Some(lock) = fs::create_dir_all(&path)
                .and_then(|()| File::open(&path))
                .ok()
            else {
                return Self { path, _lock: None };
            };
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) => {}
                // Some file systems have no locks.
                Ok(()) | Err(TryLockError::Error(_)) => {
                    let _lock = Some(lock);
                    return Self { path, _lock };
                }
            }
        }
        let path = folder.to_owned();
        Self { path, _lock: None }
    }

    /// A file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_shares_a_folder() {
        let parent = tempfile::tempdir().expect("a folder can be made");
        let first = parent.path().join("serial");
        let claim = || Folder::claim(&first);
        let (one, two, three) = (claim(), claim(), claim());
        let files = [&one, &two, &three].map(|folder| folder.file("a"));
        assert_eq!(files, ["a", "2/a", "3/a"].map(|name| first.join(name)));
        drop(two);
        assert_eq!(claim().file("a"), files[1]);
        drop(one);
        assert_eq!(claim().file("a"), files[0]);
        let names: Vec<_> = fs::read_dir(&first).expect("a folder").collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn a_folder_that_cannot_be_is_no_reason_to_fail() {
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        let folder = Folder::claim(&file.path().join("serial"));
        assert!(folder.file("a").starts_with(file.path()));
    }
}
