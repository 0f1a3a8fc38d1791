//! Builds the kernel in C, by its own Makefile, with and without the changes of the guide.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

use qemu::build::{FOLDER, Kernel, Profile};
use qemu::machine::Arch;
use qemu::{setup, workspace};

use crate::guide::steps;
use crate::guide::text::part;
use crate::support::boots::Request;
use crate::support::built::target;
use crate::support::log::{self, Kind};
use crate::support::outside::{Outside, as_others_call_it};
use crate::support::report::Report;
use crate::support::trace;

/// A compiler and its linker, for an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tools {
    pub arch: Arch,
    llvm: bool,
}

pub const GCC: Tools = Tools::new(Arch::X86_64, false);
pub const CROSS_GCC: Tools = Tools::new(Arch::Aarch64, false);
pub const CLANG: Tools = Tools::new(Arch::X86_64, true);
pub const CROSS_CLANG: Tools = Tools::new(Arch::Aarch64, true);

impl Tools {
    const fn new(arch: Arch, llvm: bool) -> Self {
        Self { arch, llvm }
    }

    /// The programs, each with its package.
    const fn programs(self) -> [(&'static str, &'static str); 3] {
        let make = ("make", "make");
        match (self.llvm, self.arch) {
            (true, _) => [make, ("clang", "clang"), ("ld.lld", "lld")],
            (false, Arch::X86_64) => [make, ("gcc", "gcc"), ("ld", "binutils")],
            (false, Arch::Aarch64) => [
                make,
                ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
                ("aarch64-linux-gnu-ld", "binutils-aarch64-linux-gnu"),
            ],
        }
    }

    /// The section of the guide for this architecture, and how many lines change with it and the section for both.
    const fn steps(self) -> (&'static str, usize) {
        match self.arch {
            Arch::X86_64 => ("c.md#x86-64", 12),
            Arch::Aarch64 => ("c.md#AArch64", 12),
        }
    }

    /// What the kernel says before it is changed.
    pub fn without(self) -> Said {
        self.boot(|_| ())
    }

    /// What it says after the changes of the guide, if `change` is made to it too.
    pub fn with(self, change: impl FnOnce(&Path)) -> Said {
        let library = library();
        let (own, expected) = self.steps();
        self.boot(|kernel| {
            let folder = kernel.folder();
            let both = steps::apply(&part("c.md#Both architectures"), folder);
            let lines = both + steps::apply(&part(own), folder);
            assert_eq!(lines, expected, "{self:?}");
            replace(folder, "Makefile", "SFRAME/target", path(library));
            kernel.name_repository("Makefile");
            change(folder);
        })
    }

    fn boot(self, change: impl FnOnce(&Outside)) -> Said {
        let target = target();
        for (program, package) in self.programs() {
            setup::program(program, package, &target).expect("a compiler is to be had");
        }
        let kernel = Outside::copy("qemu/tests/c_kernel/kernel");
        change(&kernel);
        let mut make = Command::new("make");
        make.current_dir(kernel.folder())
            .args(["--quiet", &format!("ARCH={}", self.arch)])
            .args(self.llvm.then_some("LLVM=1"))
            .env("PATH", kernel.path());
        let begun = Instant::now();
        let output = make.output().expect("make starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{self:?}: {said}");
        let image = kernel.folder().join("kernel.elf");
        log::add(Kind::Build, begun, &log::image_name(&image), "", None);
        // A kernel need not start the second one.
        let ran = Request::of(&image, "").cpus(2).run().expect(101);
        Said {
            tools: self,
            text: ran.text().replace('\r', ""),
            warnings: said,
            image,
            kernel,
        }
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Replaces the one place of a file that has this text.
pub fn replace(folder: &Path, file: &str, old: &str, new: &str) {
    let path = folder.join(file);
    let text = fs::read_to_string(&path).expect("the file is there");
    assert_eq!(text.matches(old).count(), 1, "{old:?} in {file}");
    fs::write(path, text.replace(old, new)).expect("the file can be written");
}

/// Builds the library as the guide says, but in the target folder of what is for bare metal, which is returned.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let page = part("c.md");
        let commands = page.lines();
        let mut build = commands.filter(|line| line.starts_with("cd SFRAME"));
        let build = build.next().expect("the guide says how");
        let target = target().join(FOLDER);
        let mut shell = Command::new("sh");
        as_others_call_it(&mut shell);
        let begun = Instant::now();
        let output = shell
            .args(["-ec", &build.replace("SFRAME", path(workspace::root()))])
            .env("CARGO_TARGET_DIR", &target)
            .output()
            .expect("sh starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        log::add(Kind::Build, begun, &log::image_name(&target), "", None);
        target
    })
}

/// What a kernel says until it ends.
pub struct Said {
    tools: Tools,
    pub text: String,
    /// What make wrote on standard error.
    pub warnings: String,
    pub image: PathBuf,
    kernel: Outside,
}

impl Said {
    /// The folder of its sources.
    pub fn folder(&self) -> &Path {
        self.kernel.folder()
    }

    /// Fails unless the report that begins with this line has exactly this trace, and is complete.
    #[track_caller]
    pub fn expect(&self, begin: &str, trace: &str) -> Report {
        self.expect_end(begin, trace, "complete, ")
    }

    /// The same of a report with this end.
    #[track_caller]
    pub fn expect_end(&self, begin: &str, trace: &str, end: &str) -> Report {
        let text = &self.text;
        let at = text.find(begin);
        let at = at.unwrap_or_else(|| panic!("no {begin:?} in:\n{text}"));
        // The runner knows the words of a panic in Rust only.
        let report = Report::find(["fault on cpu 0: ", &text[at..]].concat().as_bytes());
        let kernel = Kernel {
            arch: self.tools.arch,
            profile: Profile::Release,
        };
        trace::expect_in(&self.image, kernel, &report, trace, end);
        report
    }
}
