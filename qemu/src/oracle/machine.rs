//! A machine that stands still between any two instructions: reproducible, its memory in a file, its stub at a socket.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use tempfile::TempDir;

use super::aarch64;
use super::image::Image;
use super::memory::Ram;
use crate::hardware::Arch;
use crate::machine::{Boot, Booted, GdbStub, Verdict};
use crate::scenario;
use crate::stub::{Reader, State, Stub};

/// How long a machine may take in all; one that nobody steps any more is ended by its stub.
pub(super) const LIMIT: Duration = Duration::from_secs(3 * 60 * 60);

/// A machine, and its stub.
#[derive(Debug)]
pub struct Machine {
    arch: Arch,
    pub(super) stub: Stub,
    reader: Reader,
    /// Where it always stops.
    pub(super) stops: HashSet<u64>,
    /// Where it does unless it is to pass.
    pub(super) waits: Vec<u64>,
    /// Its memory.
    pub ram: Ram,
    boot: Option<JoinHandle<Result<Booted>>>,
    /// Held as long as QEMU uses it.
    _folder: TempDir,
}

impl Machine {
    /// Starts it, stopped before its first instruction.
    ///
    /// # Errors
    /// When QEMU does not start.
    pub fn start(
        emulator: &Path,
        file: &Path,
        image: &Image,
        word: &str,
        cpus: u32,
    ) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder for QEMU")?;
        let socket = folder.path().join("stub");
        let memory = folder.path().join("memory");
        let stub = GdbStub::at_socket(&socket)?;
        let boot = thread(emulator, file, image.arch, word, cpus, stub, &memory);
        let mut stub = Stub::connect(&socket)?;
        let reader = Reader::new(image.arch.processor(), &mut stub)?;
        let start = match image.arch {
            Arch::X86_64 => 0,
            Arch::Aarch64 => 0x4000_0000,
        };
        Ok(Self {
            arch: image.arch,
            stub,
            reader,
            stops: HashSet::new(),
            waits: Vec::new(),
            ram: Ram::open(&memory, image.mapped(start))?,
            boot: Some(boot),
            _folder: folder,
        })
    }

    /// The registers now.
    ///
    /// # Errors
    /// When the machine is gone.
    pub fn state(&mut self) -> Result<State> {
        self.reader.read(&mut self.stub)
    }

    /// Has this CPU alone run from now on.
    ///
    /// # Errors
    /// When there is none.
    pub fn turn_to(&mut self, cpu: usize) -> Result<()> {
        self.stub.choose(cpu)
    }

    /// Has this function run next, with an address as its argument. Returns the registers.
    ///
    /// # Errors
    /// Returns an error if the stub refuses.
    pub fn go_to(&mut self, function: u64, argument: u64) -> Result<State> {
        // The stub writes registers only if its description was read.
        self.stub.document("target.xml")?;
        // The stub's numbers of the first argument's register and of the program counter.
        let [first, counter] = match self.arch {
            Arch::X86_64 => [0x5, 0x10],
            Arch::Aarch64 => [0x0, 0x20],
        };
        for (register, value) in [(first, argument), (counter, function)] {
            let answer = self
                .stub
                .ask(&format!("P{register:x}={:016x}", value.swap_bytes()))?;
            ensure!(
                answer == b"OK",
                "QEMU's gdb stub cannot write to a register"
            );
        }
        self.state()
    }

    /// Makes an NMI due, or leaves one due that is.
    ///
    /// # Errors
    /// When the stub refuses.
    pub fn nmi(&mut self) -> Result<()> {
        match self.arch {
            Arch::X86_64 => self.stub.monitor("nmi"),
            Arch::Aarch64 => aarch64::press_button(&mut self.stub),
        }
    }

    /// How it has ended.
    ///
    /// # Errors
    /// When QEMU could not be run.
    pub fn verdict(&mut self) -> Result<Verdict> {
        let boot = self.boot.take().context("its end is known")?;
        let booted = boot.join().map_err(|_| anyhow!("the runner panicked"))?;
        Ok(booted?.verdict)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stub.kill();
        if let Some(boot) = self.boot.take() {
            let _ = boot.join();
        }
    }
}

fn thread(
    emulator: &Path,
    file: &Path,
    arch: Arch,
    word: &str,
    cpus: u32,
    stub: GdbStub,
    memory: &Path,
) -> JoinHandle<Result<Booted>> {
    let (emulator, file, word): (PathBuf, PathBuf, String) =
        (emulator.into(), file.into(), word.into());
    // QEMU's option parser unescapes a doubled comma.
    let path = memory.display().to_string().replace(',', ",,");
    let object = format!("memory-backend-file,id=ram,size=256M,share=on,mem-path={path}");
    std::thread::spawn(move || {
        let more = [
            "-object",
            &object,
            "-machine",
            "memory-backend=ram",
            "-icount",
            "sleep=on",
        ];
        let boot = Boot {
            gdb: Some(stub),
            limit: Some(LIMIT),
            // Time counts instructions: with one CPU, each run is like every other one.
            guest_limit: Some(LIMIT),
            cpus,
            reboots: scenario::resets(&word),
            more: &more,
            ..Boot::new(arch, &file, &word)
        };
        boot.run(&emulator, &mut std::io::sink())
    })
}
