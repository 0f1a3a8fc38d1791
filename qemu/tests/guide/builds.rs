//! Builds the kernels of the guide, each once: tests that change a kernel in the same way get the same image.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use qemu::build::{Kernel, Profile};

use super::parts;
use crate::support::built::target;
use crate::support::outside::{Outside, alone};

/// The folder in the target folder where cargo builds these kernels.
pub const PLACE: &str = "guide";

/// The name of an image.
const IMAGE: &str = "corner-shop";

/// An image, which stays as it is when the next one is built.
#[derive(Clone)]
pub struct Built {
    pub image: PathBuf,
}

impl Built {
    /// A file that was made with the image.
    pub fn beside(&self, name: &str) -> String {
        let path = self.image.with_file_name(name);
        path.into_os_string()
            .into_string()
            .expect("a path in UTF-8")
    }
}

/// The sources of a kernel. Until they are built or dropped, no other sources are written: all of these kernels have one name, and cargo
/// compares the times of their files.
pub struct Sources {
    kernel: Outside,
    _alone: MutexGuard<'static, ()>,
}

impl Deref for Sources {
    type Target = Outside;

    fn deref(&self) -> &Outside {
        &self.kernel
    }
}

impl Sources {
    /// Writes the sources of the kernel of the guide with this name.
    pub fn of(name: &str) -> Self {
        let alone = alone();
        Self {
            kernel: outside(name),
            _alone: alone,
        }
    }

    /// Builds the kernel.
    pub fn build(self, kernel: Kernel) -> Built {
        self.once(kernel.profile, |sources, to| {
            compile(sources, kernel.arch.triple(), kernel.profile, to);
        })
    }

    /// Has `make` build the kernel, and write the image and what else its boot needs to a folder, unless the same files were built before.
    /// A kernel is always built by the same `make`.
    pub fn once(self, profile: Profile, make: impl FnOnce(&Outside, &Path)) -> Built {
        type Key = (Profile, BTreeMap<PathBuf, Vec<u8>>);
        static BUILT: LazyLock<Mutex<HashMap<Key, Built>>> = LazyLock::new(Mutex::default);
        let mut files = BTreeMap::new();
        read(self.folder(), self.folder(), &mut files);
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        let number = built.len();
        let built = built.entry((profile, files)).or_insert_with(|| {
            let folder = images().join(number.to_string());
            fs::create_dir_all(&folder).expect("a folder can be made");
            make(&self.kernel, &folder);
            let image = folder.join(IMAGE);
            Built { image }
        });
        built.clone()
    }
}

/// The files of the kernel of the guide with this name.
pub fn outside(name: &str) -> Outside {
    Outside::of(|folder| parts::write(name, folder))
}

/// Builds a kernel for this target with cargo, and copies the image to a folder.
pub fn compile(kernel: &Outside, triple: &str, profile: Profile, to: &Path) {
    let status = kernel.command(PLACE, profile).status();
    assert!(status.expect("cargo starts").success(), "it is built");
    let folder = target().join(PLACE).join(triple).join(profile.name());
    fs::copy(folder.join(IMAGE), to.join(IMAGE)).expect("the image can be copied");
}

/// Reads all files below a folder, whose paths are those below `root`.
fn read(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() {
            read(root, &path, files);
        } else {
            let bytes = fs::read(&path).expect("a file can be read");
            let name = path.strip_prefix(root).expect("it is below the folder");
            files.insert(name.to_owned(), bytes);
        }
    }
}

/// The folder of all images, which stay until the next test program starts. Test programs that run at the same time have a folder each.
fn images() -> &'static Path {
    static IMAGES: OnceLock<(PathBuf, File)> = OnceLock::new();
    let (folder, _) = IMAGES.get_or_init(|| {
        let mut folders = (0..).map(|number| target().join(format!("{PLACE}/images-{number}")));
        let free = folders.find_map(|folder| {
            fs::create_dir_all(&folder).expect("a folder can be made");
            let lock = File::create(folder.with_extension("lock")).expect("a file can be made");
            lock.try_lock().is_ok().then_some((folder, lock))
        });
        let (folder, lock) = free.expect("numbers do not end");
        fs::remove_dir_all(&folder).expect("old images can be removed");
        (folder, lock)
    });
    folder
}
