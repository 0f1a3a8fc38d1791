//! A machine that stands still between any two instructions.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use unwind::arm::Registers;

use super::image::Image;
use crate::machine::Board;
use crate::oracle::machine::LIMIT;
use crate::oracle::memory::Ram;
use crate::stub::{Ran, Stub, bytes};

/// The number by which the stub has the state of the processor, its bit for Thumb code, and its mode, which of a program's code is this.
const STATE: &str = "p19";
const THUMB: u32 = 1 << 5;
const MODE: u32 = 0x1f;
const USER: u32 = 0x10;

/// Registers between two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// `r0` to `r15`.
    pub(super) core: [u32; 16],
    pub(super) is_thumb: bool,
    /// A program runs, not the kernel.
    pub(super) is_user: bool,
}

impl State {
    pub(super) fn pc(&self) -> u64 {
        self.core[15].into()
    }

    pub(super) fn sp(&self) -> u64 {
        self.core[13].into()
    }

    pub(super) fn link(&self) -> u64 {
        self.core[14].into()
    }

    pub(super) fn registers(&self) -> Registers {
        Registers::of(&self.core)
    }
}

/// A machine, and its stub.
pub(super) struct Machine {
    stub: Stub,
    pub(super) ram: Ram,
    child: Child,
    /// Held as long as QEMU uses it.
    _folder: TempDir,
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Machine {
    /// Starts it, stopped before its first instruction.
    pub(super) fn start(emulator: &Path, file: &Path, image: &Image, word: &str) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder for QEMU")?;
        let memory = folder.path().join("memory");
        // QEMU has the stub's end as its standard input, so that no socket has to be waited for.
        let (ours, theirs) = UnixStream::pair().context("cannot create a socket pair")?;
        let object = format!(
            "memory-backend-file,id=ram,size=256M,share=on,mem-path={}",
            memory.display()
        );
        let child = Command::new(emulator)
            .args(Board::Virt32.arguments())
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(["-serial", "null"])
            .args(["-monitor", "none", "-no-reboot", "-S"])
            .args(["-object", &object, "-machine", "memory-backend=ram"])
            // Time counts instructions: each run is like every other one.
            .args(["-icount", "sleep=on"])
            .args(["-chardev", "socket,id=gdb,fd=0", "-gdb", "chardev:gdb"])
            .arg("-kernel")
            .arg(file)
            .args(["-append", word])
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", emulator.display()))?;
        let mut stub = Stub::stepping(ours)?;
        // It tells single registers only to who has read its description.
        stub.document("target.xml")?;
        Ok(Self {
            stub,
            ram: Ram::open(&memory, image.mapped())?,
            child,
            _folder: folder,
        })
    }

    /// The registers now.
    pub(super) fn state(&mut self) -> Result<State> {
        let answers = self.stub.ask_all(&["g", STATE])?;
        let [general, state] = [0, 1].map(|at| bytes(&answers[at]));
        let mut core = [0; 16];
        for (register, word) in core.iter_mut().zip(general.as_chunks().0) {
            *register = u32::from_le_bytes(*word);
        }
        let state = state
            .first_chunk()
            .context("QEMU's gdb stub did not report the register CPSR")?;
        let state = u32::from_le_bytes(*state);
        Ok(State {
            core,
            is_thumb: state & THUMB != 0,
            is_user: state & MODE == USER,
        })
    }

    /// The word at this address of memory.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let both = self.ram.word(address & !7)?;
        Some(both >> (8 * (address & 4)) & 0xffff_ffff)
    }

    /// Runs one instruction; `None` if the machine has ended.
    pub(super) fn step(&mut self) -> Result<Option<State>> {
        self.ram.changed();
        let ran = self.stub.step();
        or_ended(ran.and_then(|ran| self.after(ran)))
    }

    /// Runs up to one of these addresses; `None` if the machine has ended, or does not come there.
    pub(super) fn run_to(&mut self, addresses: &[u64]) -> Result<Option<State>> {
        self.ram.changed();
        let ran = self.go_on_to(addresses);
        or_ended(ran.and_then(|ran| self.after(ran)))
    }

    fn go_on_to(&mut self, addresses: &[u64]) -> Result<Ran> {
        for address in addresses {
            self.stub.breakpoint(*address, true)?;
        }
        let ran = self.stub.go_on(LIMIT)?;
        if ran == Ran::Stopped {
            for address in addresses {
                self.stub.breakpoint(*address, false)?;
            }
        }
        Ok(ran)
    }

    fn after(&mut self, ran: Ran) -> Result<Option<State>> {
        match ran {
            Ran::Stopped => self.state().map(Some),
            Ran::Ended => Ok(None),
            Ran::StillRuns => bail!("the machine did not stop"),
        }
    }

    /// How it has ended.
    pub(super) fn verdict(&mut self) -> Result<ExitStatus> {
        self.child.wait().context("cannot wait for QEMU")
    }
}

/// A machine that has reset itself is gone, perhaps between two things that it was asked.
fn or_ended(ran: Result<Option<State>>) -> Result<Option<State>> {
    let is_gone = |error: &anyhow::Error| {
        let error = error.downcast_ref::<std::io::Error>();
        error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    };
    match ran {
        Err(error) if is_gone(&error) => Ok(None),
        ran => ran,
    }
}
