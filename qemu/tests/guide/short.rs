//! The kernels that get a report by one call.

use std::fs;
use std::path::Path;

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;

use super::builds::Sources;
use super::said::Said;
use super::steps;
use super::text::part;

/// A kernel as somebody else writes it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub arch: Arch,
    /// Its name among the kernels of the guide.
    pub name: &'static str,
    /// Where it has mapped physical memory.
    pub physical: &'static str,
    /// Its page of the guide.
    pub page: &'static str,
    /// How many lines change.
    pub lines: usize,
    /// Builds the kernel from its sources, and boots it.
    pub boot: fn(Sources, Kernel) -> Said,
}

pub const HANDLERS: Kind = Kind {
    arch: Arch::X86_64,
    name: "handlers",
    physical: "0",
    page: "multiboot.md",
    lines: 8,
    boot: |sources, kernel| Said::of(kernel, sources.build(kernel), &[]),
};

/// The same in the upper half, with nothing at low addresses.
pub const HIGHER: Kind = Kind {
    name: "higher",
    physical: "0xffff_8000_0000_0000",
    ..HANDLERS
};

/// The same kernel with the smallest report.
pub const SMALLEST: Kind = Kind {
    page: "smallest.md",
    lines: 9,
    ..HANDLERS
};

pub const VECTORS: Kind = Kind {
    arch: Arch::Aarch64,
    name: "vectors",
    page: "aarch64.md",
    lines: 9,
    ..HANDLERS
};

/// The same, which moves itself to another address than it is linked at.
pub const MOVED: Kind = Kind {
    name: "moved",
    ..VECTORS
};

impl Kind {
    /// What the kernel says before it is changed.
    pub fn says_without(self) -> String {
        self.without(Profile::Debug).text
    }

    /// The kernel before it is changed.
    pub fn without(self, profile: Profile) -> Said {
        self.changed(profile, |_| ())
    }

    /// The kernel after the changes of the guide, if `change` is made to it too.
    pub fn with(self, profile: Profile, change: impl FnOnce(&Path)) -> Said {
        self.changed(profile, |sources| {
            self.apply(sources);
            change(sources.folder());
        })
    }

    /// Makes the changes of the guide.
    pub fn apply(self, sources: &Sources) {
        let lines = steps::apply(&part(self.page), sources.folder());
        assert_eq!(lines, self.lines, "{}", self.page);
        sources.name_repository("Cargo.toml");
        if self.physical != "0" {
            tell(sources.folder(), "0", self.physical);
        }
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

    fn changed(self, profile: Profile, change: impl FnOnce(&Sources)) -> Said {
        let sources = Sources::of(self.name);
        change(&sources);
        let arch = self.arch;
        (self.boot)(sources, Kernel { arch, profile })
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
