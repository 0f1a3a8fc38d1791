//! A PC that stands at the kernel's first instruction, before any of its code has run: what firmware and the boot loader have left
//! in memory can be changed there.

use std::time::Duration;

use object::{Object, ObjectSymbol};
use qemu::build::Kernel;
use qemu::machine::{Arch, Boot, Booted, GdbStub};
use qemu::stub::{Ran, Stub, bytes};

use super::built::{emulator, image};

/// How long a boot may take.
const LIMIT: Duration = Duration::from_secs(300);

/// Memory by physical address: paging is off.
#[derive(Debug)]
pub struct Memory(Stub);

/// Ends the machine, also if a test has failed that would have let it go on.
impl Drop for Memory {
    fn drop(&mut self) {
        self.0.kill();
    }
}

impl Memory {
    /// Bytes.
    pub fn read(&mut self, address: u64, length: usize) -> Vec<u8> {
        let mut read = Vec::new();
        while read.len() < length {
            let (at, count) = (address + read.len() as u64, (length - read.len()).min(1024));
            let digits = self.0.ask(&format!("m{at:x},{count:x}"));
            read.extend(bytes(&digits.expect("memory can be read")));
        }
        read
    }

    /// The register ebx: the address of what the boot loader passes.
    pub fn start_info(&mut self) -> u64 {
        let registers = bytes(&self.0.ask("g").expect("there are registers"));
        let word = registers.get(8..).and_then(<[u8]>::first_chunk);
        u64::from_le_bytes(*word.expect("eight bytes of rbx"))
    }

    /// Presses the machine's NMI button.
    pub fn nmi(&mut self) {
        self.0.monitor("nmi").expect("the monitor has it");
    }

    /// A word of 32 bits.
    pub fn word(&mut self, address: u64) -> u64 {
        let word = self.read(address, 4);
        u64::from(u32::from_le_bytes(word.try_into().expect("four bytes")))
    }

    /// Changes bytes.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let answer = self
            .0
            .ask(&format!("M{address:x},{:x}:{digits}", bytes.len()));
        assert_eq!(answer.expect("memory can be written"), b"OK");
    }

    /// The address of what begins with these bytes, at a multiple of 16 in these addresses.
    pub fn find(&mut self, start: u64, end: u64, what: &[u8]) -> u64 {
        let all = self.read(start, (end - start) as usize);
        let mut places = (0..all.len()).step_by(16);
        let place = places.find(|at| all[*at..].starts_with(what));
        start + place.expect("it is there") as u64
    }
}

/// Boots a PC with these CPUs and more arguments up to the kernel's first instruction, calls `change`, and lets it go on.
pub fn boot(
    kernel: Kernel,
    command_line: &str,
    more: &[&str],
    change: impl FnOnce(&mut Memory),
) -> Booted {
    run(kernel, "pvh_entry", command_line, more, None, change)
}

/// The same, with a limit of the machine's own time, which does not depend on the host.
pub fn boot_within(
    limit: Duration,
    kernel: Kernel,
    command_line: &str,
    more: &[&str],
    change: impl FnOnce(&mut Memory),
) -> Booted {
    run(kernel, "pvh_entry", command_line, more, Some(limit), change)
}

/// The same as [`boot`] up to the first instruction of another function of the kernel.
pub fn boot_to(
    kernel: Kernel,
    function: &str,
    command_line: &str,
    more: &[&str],
    change: impl FnOnce(&mut Memory),
) -> Booted {
    run(kernel, function, command_line, more, None, change)
}

fn run(
    kernel: Kernel,
    function: &str,
    command_line: &str,
    more: &[&str],
    guest_limit: Option<Duration>,
    change: impl FnOnce(&mut Memory),
) -> Booted {
    assert_eq!(kernel.arch, Arch::X86_64);
    let image = image(kernel);
    let data = std::fs::read(&image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    let entry = file.symbol_by_name(function).expect("it has the function");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let socket = folder.path().join("stub");
    let boot = Boot {
        gdb: Some(GdbStub::at_socket(&socket).expect("a socket can be made")),
        limit: Some(LIMIT),
        guest_limit,
        more,
        ..Boot::new(Arch::X86_64, &image, command_line)
    };
    std::thread::scope(|scope| {
        let running = scope.spawn(|| boot.run(&emulator(Arch::X86_64), &mut std::io::sink()));
        let mut stub = Stub::connect(&socket).expect("the stub listens");
        stub.breakpoint(entry.address(), true)
            .expect("it takes a breakpoint");
        assert_eq!(stub.go_on(LIMIT).expect("it runs"), Ran::Stopped);
        stub.breakpoint(entry.address(), false)
            .expect("it takes it back");
        let mut memory = Memory(stub);
        change(&mut memory);
        let ran = memory.0.go_on(LIMIT).expect("it runs");
        assert_eq!(ran, Ran::Ended);
        let booted = running.join().expect("no panic here");
        booted.expect("QEMU starts")
    })
}
