//! The kernels that get a report by one call.

use std::fs;
use std::path::Path;

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;

use super::said::{Built, Said};
use super::text::{guide, part};
use super::{parts, steps};
use crate::support::outside::{Outside, alone};

/// A kernel as somebody else writes it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub arch: Arch,
    /// Its name among the kernels of the guide.
    name: &'static str,
    /// Where it has mapped physical memory.
    physical: &'static str,
    /// The heading of its part of the guide.
    pub heading: &'static str,
    /// How many lines change.
    pub lines: usize,
}

pub const HANDLERS: Kind = Kind {
    arch: Arch::X86_64,
    name: "handlers",
    physical: "0",
    heading: "\n## Handlers of the convention `x86-interrupt`\n",
    lines: 8,
};

/// The same in the upper half, with nothing at low addresses.
pub const HIGHER: Kind = Kind {
    name: "higher",
    physical: "0xffff_8000_0000_0000",
    ..HANDLERS
};

/// The same kernel with the smallest report.
pub const SMALLEST: Kind = Kind {
    heading: "
## The smallest form
",
    lines: 9,
    ..HANDLERS
};

pub const VECTORS: Kind = Kind {
    arch: Arch::Aarch64,
    name: "vectors",
    physical: "0",
    heading: "\n## Vectors on AArch64\n",
    lines: 10,
};

/// The same, which moves itself to another address than it is linked at.
pub const MOVED: Kind = Kind {
    name: "moved",
    ..VECTORS
};

/// The sources of the kernel of the guide with this name.
pub fn kernel_of(name: &str) -> Outside {
    Outside::of(|folder| parts::write(name, folder))
}

impl Kind {
    /// What the kernel says before it is changed.
    pub fn says_without(self) -> String {
        self.without(Profile::Debug).text
    }

    /// The kernel before it is changed.
    pub fn without(self, profile: Profile) -> Said {
        self.boot(profile, |_| ())
    }

    /// The kernel after the changes of the guide, if `change` is made to it too.
    pub fn with(self, profile: Profile, change: impl FnOnce(&Path)) -> Said {
        let guide = guide();
        self.boot(profile, |kernel| {
            let lines = steps::apply(part(&guide, self.heading), kernel.folder());
            assert_eq!(lines, self.lines, "{}", self.heading);
            kernel.name_repository("Cargo.toml");
            if self.arch == Arch::X86_64 {
                tell(kernel.folder(), "0", self.physical);
            }
            change(kernel.folder());
        })
    }

    /// The same, of a kernel that tells another address of physical memory than its own.
    pub fn with_wrong(self, address: &str, change: impl FnOnce(&Path)) -> Said {
        self.with(Profile::Debug, |folder| {
            tell(folder, self.physical, address);
            change(folder);
        })
    }

    /// The same, of the kernel whose shop goes wrong in this way.
    pub fn with_shop(self, profile: Profile, shop: &str) -> Said {
        self.with(profile, |folder| write_shop(folder, shop))
    }

    fn boot(self, profile: Profile, change: impl FnOnce(&Outside)) -> Said {
        let built = {
            let _alone = alone();
            let kernel = kernel_of(self.name);
            change(&kernel);
            let built = kernel.build(self.arch, "guide", profile, "corner-shop");
            Built::keep(&built)
        };
        let kernel = Kernel {
            arch: self.arch,
            profile,
        };
        Said::of(kernel, built, &[])
    }
}

/// Makes the kernel tell another address of physical memory.
fn tell(folder: &Path, before: &str, address: &str) {
    let [old, new] = [before, address].map(|at| format!("physical_memory_at({at})"));
    replace(&folder.join("src/main.rs"), &old, &new);
}

/// Changes a file, which has that text.
#[track_caller]
pub fn replace(file: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(file).expect("it is there");
    assert!(text.contains(old), "no {old} in {text}");
    fs::write(file, text.replace(old, new)).expect("it can be written");
}

/// What goes wrong.
pub fn write_shop(folder: &Path, shop: &str) {
    fs::write(folder.join("src/shop.rs"), shop).expect("the file can be written");
}
