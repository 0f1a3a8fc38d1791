//! What a kernel says until it ends, and what its image, the runner and gdb say of that.

use std::ffi::OsString;
use std::fs;

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use qemu::build::Kernel;
use qemu::workspace;

use super::builds::Built;
use crate::support::boots::boot_image;
use crate::support::report::Report;
use crate::support::runner::{Ran, fed, run};
use crate::support::trace;

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
        let ran = match machine {
            [] => boot_image(&built.image, ""),
            _ => run(arguments(&built, machine)),
        };
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
        self.read("autopsy", &self.text)
    }

    /// What the runner makes of a log of it.
    pub fn decode(&self, log: &str) -> String {
        self.read("decode", log)
    }

    /// What this subcommand of the runner makes of a log.
    fn read(&self, subcommand: &str, log: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("corner-shop.log");
        fs::write(&file, log).expect("the file can be written");
        let words = [subcommand.as_ref(), file.as_os_str(), "--image".as_ref()];
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
