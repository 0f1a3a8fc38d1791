//! A machine that stands still between any two instructions: reproducible, its memory in a file, its stub at a socket.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use tempfile::TempDir;

use super::image::Image;
use super::memory::Ram;
use crate::hardware::Arch;
use crate::machine::{Boot, Booted, GdbStub, Verdict};
use crate::scenario;
use crate::stub::{Ran, Reader, State, Stub};

/// How long a machine may take in all; one that nobody steps any more is ended by its stub.
const LIMIT: Duration = Duration::from_secs(3 * 60 * 60);

/// How long it may run up to a breakpoint.
const GO_ON: Duration = Duration::from_secs(20);

/// A machine, and its stub.
#[derive(Debug)]
pub struct Machine {
    stub: Stub,
    reader: Reader,
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
    pub fn start(emulator: &Path, file: &Path, image: &Image, word: &str) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder for a machine")?;
        let socket = folder.path().join("stub");
        let memory = folder.path().join("memory");
        let boot = thread(emulator, file, image.arch, word, &socket, &memory);
        let mut stub = Stub::connect(&socket)?;
        let reader = Reader::new(image.arch, &mut stub)?;
        let start = match image.arch {
            Arch::X86_64 => 0,
            Arch::Aarch64 => 0x4000_0000,
        };
        Ok(Self {
            stub,
            reader,
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

    /// Runs one instruction; the state after it, or `None` if the machine has ended.
    ///
    /// # Errors
    /// When the connection fails, or the instruction does not end.
    pub fn step(&mut self) -> Result<Option<State>> {
        self.ram.changed();
        match self.stub.step()? {
            Ran::Stopped => self.state().map(Some),
            Ran::Ended => Ok(None),
            Ran::StillRuns => bail!("the machine stands still in an instruction"),
        }
    }

    /// Makes an NMI due.
    ///
    /// # Errors
    /// When the machine has none.
    pub fn nmi(&mut self) -> Result<()> {
        self.stub.monitor("nmi")
    }

    /// Has [`Self::run_to`] stop at these addresses too, from now on.
    ///
    /// # Errors
    /// When the stub refuses.
    pub fn stop_at(&mut self, addresses: &[u64]) -> Result<()> {
        let mut addresses = addresses.iter();
        addresses.try_for_each(|address| self.stub.breakpoint(*address, true))
    }

    /// Runs up to this address; the state where it has stopped, or how it ended.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn run_to(&mut self, address: u64) -> Result<Result<State, Ran>> {
        self.ram.changed();
        self.stub.breakpoint(address, true)?;
        match self.stub.go_on(GO_ON)? {
            Ran::Stopped => {}
            other => return Ok(Err(other)),
        }
        self.stub.breakpoint(address, false)?;
        self.state().map(Ok)
    }
}

impl Machine {
    /// How it has ended.
    ///
    /// # Errors
    /// When QEMU could not be run.
    pub fn verdict(&mut self) -> Result<Verdict> {
        let boot = self.boot.take().context("its end is known")?;
        let booted = boot
            .join()
            .map_err(|_| anyhow!("the runner has panicked"))?;
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
    socket: &Path,
    memory: &Path,
) -> JoinHandle<Result<Booted>> {
    let (emulator, file, word): (PathBuf, PathBuf, String) =
        (emulator.into(), file.into(), word.into());
    let socket = socket.to_owned();
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
            gdb: Some(GdbStub::Socket(socket)),
            limit: Some(LIMIT),
            // Time counts instructions, so that each run is like every other one.
            guest_limit: Some(LIMIT),
            reboots: scenario::resets(&word),
            more: &more,
            ..Boot::new(arch, &file, &word)
        };
        boot.run(&emulator, &mut std::io::sink())
    })
}
