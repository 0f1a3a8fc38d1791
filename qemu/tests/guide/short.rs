//! The kernels that get a report by one call.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use qemu::workspace;
use tempfile::TempDir;

use crate::steps;
use crate::support::outside::Outside;
use crate::support::report::Report;
use crate::support::runner::{Ran, fed, run};
use crate::support::trace;
use crate::text::{guide, part};

/// The folder of these kernels.
const GUIDE: &str = "qemu/tests/guide";

/// A kernel as somebody else writes it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub arch: Arch,
    /// Its folders in that of the guide: the later ones hold only what differs.
    folders: &'static [&'static str],
    /// Where it has mapped physical memory.
    physical: &'static str,
    /// The heading of its part of the guide.
    pub heading: &'static str,
    /// How many lines change.
    pub lines: usize,
}

pub const HANDLERS: Kind = Kind {
    arch: Arch::X86_64,
    folders: &["kernel", "handlers"],
    physical: "0",
    heading: "\n## Handlers of the convention `x86-interrupt`\n",
    lines: 8,
};

/// The same in the upper half, with nothing at low addresses.
pub const HIGHER: Kind = Kind {
    folders: &["kernel", "handlers", "higher"],
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
    folders: &["aarch64", "vectors"],
    physical: "0",
    heading: "\n## Vectors on AArch64\n",
    lines: 10,
};

/// The same, which moves itself to another address than it is linked at.
pub const MOVED: Kind = Kind {
    folders: &["aarch64", "vectors", "moved"],
    ..VECTORS
};

/// The kernels are built in one folder, one after another: cargo compares the times of their files, and they have one name.
pub fn alone() -> MutexGuard<'static, ()> {
    static BUILD: Mutex<()> = Mutex::new(());
    BUILD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A copy of these folders in that of the guide, of which the later ones hold only what differs, with the shop of all kernels.
pub fn overlaid(folders: &[&str]) -> Outside {
    let [base, rest @ ..] = folders else {
        panic!("a kernel has a folder");
    };
    let kernel = Outside::copy(&format!("{GUIDE}/{base}"));
    for folder in rest {
        kernel.add(&format!("{GUIDE}/{folder}"));
    }
    let shop = workspace::root().join(GUIDE).join("kernel/src/shop.rs");
    fs::copy(shop, kernel.folder().join("src/shop.rs")).expect("a file can be copied");
    kernel
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
            let kernel = overlaid(self.folders);
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

/// A copy of an image, which stays as it is when the next one is built.
pub struct Built {
    pub image: PathBuf,
    _folder: TempDir,
}

impl Built {
    pub fn keep(built: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let image = folder.path().join("corner-shop");
        fs::copy(built, &image).expect("the image can be copied");
        Self {
            image,
            _folder: folder,
        }
    }

    /// A file beside the image, which stays as long.
    pub fn beside(&self, name: &str) -> String {
        let path = self.image.with_file_name(name);
        path.into_os_string()
            .into_string()
            .expect("a path in UTF-8")
    }
}

/// The runner's arguments.
fn arguments(built: &Built, machine: &[&str]) -> Vec<OsString> {
    let mut arguments = vec!["--image".into(), built.image.clone().into()];
    if !machine.is_empty() {
        arguments.push("--".into());
    }
    arguments.extend(machine.iter().map(OsString::from));
    arguments
}

/// What a kernel says until it ends.
pub struct Said {
    kernel: Kernel,
    pub text: String,
    built: Built,
    /// What the runner was told.
    boot: Vec<OsString>,
    /// How far the image was moved from where it is linked.
    pub moved: u64,
}

impl Said {
    /// What an image says that is booted by this command, or by ours if that is empty, and panics.
    pub fn of(kernel: Kernel, built: Built, machine: &[&str]) -> Self {
        let boot = arguments(&built, machine);
        let ran = run(&boot);
        Self::of_run(kernel, built, machine, ran)
    }

    /// The same of one that has run already.
    pub fn of_run(kernel: Kernel, built: Built, machine: &[&str], ran: Ran) -> Self {
        Self {
            kernel,
            text: ran.expect(101).text().replace('\r', ""),
            boot: arguments(&built, machine),
            built,
            moved: 0,
        }
    }

    /// The same of an image that was moved.
    pub fn moved_by(self, moved: u64) -> Self {
        Self { moved, ..self }
    }

    /// What the runner makes of the stacks in the log.
    pub fn autopsy(&self) -> String {
        let log = self.built.image.with_extension("log");
        fs::write(&log, &self.text).expect("the file can be written");
        let words = ["autopsy".as_ref(), log.as_os_str(), "--image".as_ref()];
        run(words.into_iter().chain([self.built.image.as_os_str()]))
            .expect(0)
            .text()
    }

    /// What the runner makes of a log of it.
    pub fn decode(&self, text: &str) -> String {
        let log = self.built.image.with_extension("log");
        fs::write(&log, text).expect("the file can be written");
        let words = ["decode".as_ref(), log.as_os_str(), "--image".as_ref()];
        run(words.into_iter().chain([self.built.image.as_os_str()]))
            .expect(0)
            .text()
    }

    /// The image.
    pub fn image(&self) -> Vec<u8> {
        fs::read(&self.built.image).expect("the image can be read")
    }

    /// Bytes of one of its sections, 0 if it has none.
    pub fn section(&self, name: &str) -> u64 {
        let data = self.image();
        let file = object::File::parse(&*data).expect("the image is ELF");
        let section = file.section_by_name(name);
        section.map_or(0, |section| section.size())
    }

    /// The names of its symbols, as the compiler has made them.
    pub fn symbols(&self) -> Vec<String> {
        let data = self.image();
        let file = object::File::parse(&*data).expect("the image is ELF");
        let names = file.symbols().filter_map(|symbol| symbol.name().ok());
        names.map(str::to_owned).collect()
    }

    /// Bytes of the image that are loaded.
    pub fn loaded(&self) -> u64 {
        let data = self.image();
        let file = object::File::parse(&*data).expect("the image is ELF");
        let segments = file.segments().map(|segment| segment.file_range().1);
        segments.sum()
    }

    /// Fails unless the report that begins with this line has exactly this trace, and this end.
    #[track_caller]
    pub fn expect(&self, begin: &str, trace: &str, end: &str) {
        let report = self.report(begin);
        trace::expect_in(&self.built.image, self.kernel, &report, trace, end);
    }

    /// The report that begins with this line, as if the image had not been moved.
    #[track_caller]
    fn report(&self, begin: &str) -> Report {
        let text = &self.text;
        let at = text.find(begin);
        let at = at.unwrap_or_else(|| panic!("no {begin:?} in:\n{text}"));
        // The runner knows the words of a panic only; what else a kernel says is its own affair.
        let mut report = Report::find(["fault on cpu 0: ", &text[at..]].concat().as_bytes());
        for frame in &mut report.frames {
            frame.address -= self.moved;
        }
        report
    }

    /// Boots it once more, with gdb, which lists who has called the panic handler; and fails unless the report that begins with this
    /// line has the same callers.
    #[track_caller]
    pub fn expect_gdb_to_agree(&self, begin: &str) {
        let handler = qemu::image::panic_handler(&self.built.image).expect("the image can be read");
        let handler = handler.expect("the kernel has a panic handler");
        let script = workspace::root().join("qemu/tests/gdb/walk.py");
        let commands = format!(
            "set pagination off\nset backtrace past-main on\nsymbol-file -o {:#x} {}\nhbreak {handler}\ncontinue\n\
             set language c\nsource {}\nkill\nquit\n",
            self.moved,
            self.built.image.display(),
            script.display()
        );
        let words = std::iter::once("--gdb=run".as_ref());
        let words = words.chain(self.boot.iter().map(OsString::as_os_str));
        let ran = fed(words, &commands);
        let text = ran.text().replace('\r', "");
        let frames = text.lines().filter_map(|line| line.split_once("frame 0x"));
        let frames = frames.filter_map(|(_, frame)| frame.split(' ').next());
        let frames = frames.filter_map(|address| u64::from_str_radix(address, 16).ok());
        let gdb: Vec<_> = frames.map(|address| address - self.moved).collect();
        let report = self.report(begin);
        let own: Vec<_> = report.frames.iter().map(|frame| frame.address).collect();
        // gdb stops before the kernel takes its registers, and goes on behind the first function, whose callers it makes up.
        assert!(own.len() > 3, "{}", report.text);
        assert_eq!(
            gdb.get(1..own.len()),
            Some(&own[1..]),
            "{own:x?}\n{text}{}",
            ran.words
        );
    }
}
