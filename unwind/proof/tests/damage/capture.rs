//! A live situation: a kernel that was stopped in the middle of a report, as bytes.

use object::{File, Object, ObjectSection, ObjectSymbol};
use qemu::build::Kernel;
use qemu::machine::{Arch, Boot};
use unwind::Range;

use crate::support::symbols::words;
use crate::support::{built, gdb};

/// A part of an image: its bytes, and where they lie.
#[derive(Clone)]
pub struct Section {
    pub bytes: Vec<u8>,
    pub address: u64,
}

/// Everything that a walk and its names need.
pub struct Situation {
    pub name: String,
    pub arch: Arch,
    pub kernel: Kernel,
    pub scenario: String,
    /// The instruction before which the kernel was stopped.
    pub stop: u64,
    /// pc, sp, the frame pointer; on AArch64 the link register.
    pub registers: [u64; 4],
    pub code: Section,
    pub tables: Section,
    pub symbols: Section,
    /// The stacks of the first CPU and of tasks, and their words.
    pub stacks: Vec<Range>,
    pub words: Vec<Vec<u64>>,
}

impl Situation {
    /// Boots a kernel, and stops it where a report is about to walk: behind that there is all of the report, and what it is
    /// about.
    /// The stacks are those of the first CPU, and of so many tasks that were spawned.
    #[track_caller]
    pub fn capture(kernel: Kernel, scenario: &str, spawned: u64) -> Self {
        let path = built::image(kernel);
        let data = std::fs::read(&path).expect("the image can be read");
        let file = File::parse(&*data).expect("the image is ELF");
        let stop = file.symbols().find(|symbol| {
            let name = rustc_demangle::demangle(symbol.name().unwrap_or_default());
            format!("{name:#}").ends_with("::walk::Walk>::new")
        });
        let stop = stop.expect("a report makes a walk").address();
        let arrays: &[&str] = match kernel.arch {
            Arch::X86_64 => &["STACKS_BOOT", "STACKS_INTERRUPT", "STACKS_NMI"],
            Arch::Aarch64 => &["STACKS_BOOT", "STACKS_EXCEPTION", "STACKS_OVERFLOW"],
        };
        let range = |name: &str, index: u64| {
            let [first, _, stride, guard, size] = words(&file, name);
            let start = first + index * stride + guard;
            Range::new(start, start + size)
        };
        let mut stacks: Vec<_> = arrays.iter().map(|name| range(name, 0)).collect();
        let [_, tasks, ..]: [u64; 5] = words(&file, "STACKS_TASK");
        stacks.extend((0..tasks.min(spawned)).map(|index| range("STACKS_TASK", index)));
        let registers = match kernel.arch {
            Arch::X86_64 => "$rip, $rsp, $rbp, 0",
            Arch::Aarch64 => "$pc, $sp, $x29, $x30",
        };
        let folder = tempfile::tempdir().expect("a folder can be made");
        let dump = |index: usize| folder.path().join(index.to_string());
        let mut commands = vec![
            "set language c".to_owned(),
            format!("break *{stop:#x}"),
            "continue".to_owned(),
            format!("printf \"at 0x%lx 0x%lx 0x%lx 0x%lx\\n\", {registers}"),
        ];
        for (index, range) in stacks.iter().enumerate() {
            let (start, end) = (range.start, range.end);
            let to = dump(index);
            commands.push(format!(
                "dump binary memory {} {start:#x} {end:#x}",
                to.display()
            ));
        }
        commands.push("kill".to_owned());
        let session = gdb::session(Boot::new(kernel.arch, &path, scenario), commands);
        session.expect_stop();
        let said = session
            .said
            .lines()
            .find_map(|line| line.strip_prefix("at "));
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16);
        let registers: Result<Vec<_>, _> = said.expect("registers").split(' ').map(hex).collect();
        let words = (0..stacks.len()).map(|index| {
            let bytes = std::fs::read(dump(index)).expect("gdb has written the stack");
            let words = bytes.as_chunks().0.iter();
            words.map(|word| u64::from_le_bytes(*word)).collect()
        });
        let section = |name: &str| {
            let section = file.section_by_name(name).expect("the section is there");
            Section {
                bytes: section.data().expect("its bytes").to_vec(),
                address: section.address(),
            }
        };
        Self {
            name: format!(
                "{}_{}, {scenario}",
                kernel.arch.name(),
                kernel.profile.name()
            ),
            arch: kernel.arch,
            kernel,
            scenario: scenario.to_owned(),
            stop,
            registers: registers
                .expect("numbers")
                .try_into()
                .expect("four registers"),
            code: section(".text"),
            tables: section(".sframe"),
            symbols: section(".symbols"),
            words: words.collect(),
            stacks,
        }
    }

    /// The word at an address of a stack.
    #[track_caller]
    pub fn word(&self, address: u64) -> u64 {
        let stack = self.stacks.iter().position(|range| range.holds(address, 8));
        let stack = stack.expect("the address is in a stack");
        self.words[stack][((address - self.stacks[stack].start) / 8) as usize]
    }
}
