//! The kernels that get a report by one call.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use qemu::workspace;
use tempfile::TempDir;

use crate::steps;
use crate::support::outside::Outside;
use crate::support::report::Report;
use crate::support::runner::run;
use crate::support::trace;
use crate::text::{guide, part};

/// A kernel as somebody else writes it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub arch: Arch,
    /// Its folder; what is not there is as in the other one.
    folder: &'static str,
    base: &'static str,
    /// The heading of its part of the guide.
    heading: &'static str,
    /// How many lines change.
    lines: usize,
}

pub const HANDLERS: Kind = Kind {
    arch: Arch::X86_64,
    folder: "qemu/tests/guide/handlers",
    base: "qemu/tests/guide/kernel",
    heading: "\n## Handlers of the convention `x86-interrupt`\n",
    lines: 8,
};

pub const VECTORS: Kind = Kind {
    arch: Arch::Aarch64,
    folder: "qemu/tests/guide/vectors",
    base: "qemu/tests/guide/aarch64",
    heading: "\n## Vectors on AArch64\n",
    lines: 10,
};

/// The kernels are built in one folder, one after another: cargo compares the times of their files, and they have one name.
pub fn alone() -> MutexGuard<'static, ()> {
    static BUILD: Mutex<()> = Mutex::new(());
    BUILD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kind {
    /// The kernel before all changes.
    fn kernel(self) -> Outside {
        let kernel = Outside::copy(self.base);
        let root = workspace::root();
        let own = fs::read_dir(root.join(self.folder).join("src")).expect("the folder is there");
        let shop = root.join("qemu/tests/guide/kernel/src/shop.rs");
        let own = own.map(|entry| entry.expect("it can be read").path());
        for file in own.chain([shop]) {
            let name = file.file_name().expect("a file has a name");
            let to = kernel.folder().join("src").join(name);
            fs::copy(&file, to).expect("a file can be copied");
        }
        kernel
    }

    /// What the kernel says before it is changed.
    pub fn says_without(self) -> String {
        self.boot(Profile::Debug, |_| ()).text
    }

    /// The kernel after the changes of the guide, if `change` is made to it too.
    pub fn with(self, profile: Profile, change: impl FnOnce(&Path)) -> Said {
        let guide = guide();
        self.boot(profile, |kernel| {
            let lines = steps::apply(part(&guide, self.heading), kernel.folder());
            assert_eq!(lines, self.lines, "{}", self.heading);
            kernel.name_repository("Cargo.toml");
            change(kernel.folder());
        })
    }

    /// The same, of the kernel whose shop goes wrong in this way.
    pub fn with_shop(self, profile: Profile, shop: &str) -> Said {
        self.with(profile, |folder| write_shop(folder, shop))
    }

    fn boot(self, profile: Profile, change: impl FnOnce(&Outside)) -> Said {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let image = folder.path().join("corner-shop");
        {
            let _alone = alone();
            let kernel = self.kernel();
            change(&kernel);
            let built = kernel.build(self.arch, "guide", profile, "corner-shop");
            fs::copy(built, &image).expect("the image can be copied");
        }
        let ran = run(["--image".as_ref(), image.as_os_str()]).expect(101);
        Said {
            kernel: Kernel {
                arch: self.arch,
                profile,
            },
            text: ran.text().replace('\r', ""),
            image,
            _folder: folder,
        }
    }
}

/// What goes wrong.
pub fn write_shop(folder: &Path, shop: &str) {
    fs::write(folder.join("src/shop.rs"), shop).expect("the file can be written");
}

/// What a kernel says until it ends.
pub struct Said {
    kernel: Kernel,
    pub text: String,
    image: PathBuf,
    _folder: TempDir,
}

impl Said {
    /// Fails unless the report that begins with this line has exactly this trace, and this end.
    #[track_caller]
    pub fn expect(&self, begin: &str, trace: &str, end: &str) {
        let text = &self.text;
        let at = text.find(begin);
        let at = at.unwrap_or_else(|| panic!("no {begin:?} in:\n{text}"));
        // The runner knows the words of a panic only; what else a kernel says is its own affair.
        let report = Report::find(["fault on cpu 0: ", &text[at..]].concat().as_bytes());
        trace::expect_in(&self.image, self.kernel, &report, trace, end);
    }
}
