//! Steps a process of this host with `ptrace`.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::libc::{self, user_regs_struct};
use nix::sys::personality::{self, Persona};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::machine::{Decoded, Kind, Machine, Mapped, Memory, REGISTERS, State, Step};
use crate::modules::{Library, Modules};
use crate::x86_64;

/// Longest instruction, in bytes.
const INSTRUCTION: usize = 15;
/// Bytes read at once: a row mostly needs two adjacent words.
const WINDOW: u64 = 64;

/// A process that is stopped before an instruction.
#[derive(Debug)]
pub struct Process {
    id: Pid,
    memory: File,
    /// Registers at the current instruction.
    state: State,
    /// Signal to deliver with the next step.
    pending: Option<Signal>,
    /// Bytes read since the last step, and their address.
    window: Cell<Option<(u64, [u8; WINDOW as usize])>>,
}

impl Process {
    /// Starts a program with fixed addresses, up to its first instruction. Standard input and output are `/dev/null`.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started or traced.
    pub fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let prepare = || -> io::Result<()> {
            personality::set(Persona::ADDR_NO_RANDOMIZE)?;
            ptrace::traceme()?;
            Ok(())
        };
        // SAFETY: between fork and exec only async-signal-safe code may run. `prepare` makes two system calls, and converts
        // their error numbers without allocation or locks.
        unsafe { command.pre_exec(prepare) };
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {command:?} under ptrace"))?;
        let id = Pid::from_raw(child.id().cast_signed());
        match waitpid(id, None)? {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
            other => bail!("{command:?} did not stop at its first instruction: {other:?}"),
        }
        ptrace::setoptions(id, ptrace::Options::PTRACE_O_EXITKILL)?;
        Ok(Self {
            id,
            memory: File::open(format!("/proc/{id}/mem"))?,
            state: state(&ptrace::getregs(id)?),
            pending: None,
            window: Cell::new(None),
        })
    }

    /// Runs the dynamic loader, up to the program's entry.
    ///
    /// # Errors
    /// Returns an error if the entry is unknown or not reached.
    pub fn run_to_entry(&mut self) -> Result<()> {
        let auxiliary = fs::read(format!("/proc/{}/auxv", self.id))?;
        let word = |bytes: &[u8]| {
            bytes
                .first_chunk()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let mut pairs = auxiliary
            .chunks(16)
            .map(|pair| (word(pair), word(&pair[8..])));
        let (_, entry) = pairs
            .find(|(kind, _)| *kind == libc::AT_ENTRY)
            .context("no entry")?;
        if entry == self.state.pc {
            return Ok(());
        }
        match self.run_until(entry, 0)? {
            Step::Executed => Ok(()),
            other => bail!("the program did not reach its entry {entry:#x}: {other:?}"),
        }
    }

    /// Runs to a breakpoint at this address, with at least this stack pointer.
    fn run_until(&mut self, pc: u64, sp: u64) -> Result<Step> {
        self.window.set(None);
        let place = std::ptr::with_exposed_provenance_mut::<libc::c_void>(pc as usize);
        let code = ptrace::read(self.id, place)?;
        let mut signal = self.pending.take();
        loop {
            ptrace::write(self.id, place, code & !0xff | 0xcc)?;
            ptrace::cont(self.id, signal.take())?;
            match waitpid(self.id, None)? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
                WaitStatus::Stopped(_, other) => {
                    signal = Some(other);
                    continue;
                }
                WaitStatus::Exited(_, code) => {
                    return Ok(Step::Ended(format!("exit status {code}")));
                }
                other => return Ok(Step::Ended(format!("{other:?}"))),
            }
            let mut registers = ptrace::getregs(self.id)?;
            if registers.rip != pc + 1 {
                return Ok(Step::Ended(format!(
                    "the program hit a breakpoint of its own at {:#x}",
                    registers.rip
                )));
            }
            ptrace::write(self.id, place, code)?;
            registers.rip = pc;
            ptrace::setregs(self.id, registers)?;
            if registers.rsp >= sp {
                self.state = state(&registers);
                return Ok(Step::Executed);
            }
            // An inner call from the same place. Its return continues with the next instruction.
            ptrace::step(self.id, None)?;
            match waitpid(self.id, None)? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
                WaitStatus::Stopped(_, other) => signal = Some(other),
                other => return Ok(Step::Ended(format!("{other:?}"))),
            }
        }
    }

    fn after_signal(&mut self, before: &State, signal: Signal, status: WaitStatus) -> Result<Step> {
        match status {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
            WaitStatus::Stopped(_, other) => self.pending = Some(other),
            WaitStatus::Exited(_, code) => return Ok(Step::Ended(format!("exit status {code}"))),
            other => return Ok(Step::Ended(format!("{signal}: {other:?}"))),
        }
        self.state = state(&ptrace::getregs(self.id)?);
        match self.is_in_handler(before, signal) {
            true => Ok(Step::Handler(signal as i32)),
            false => Ok(Step::Executed),
        }
    }

    /// Whether a signal has made the program enter its handler: the first argument is the signal's number, and the kernel has
    /// stored more than the red zone.
    fn is_in_handler(&self, before: &State, signal: Signal) -> bool {
        let [rdi, rsi, rdx] = [5, 4, 1].map(|number| self.state.registers[number]);
        let near = |address: u64| address.wrapping_sub(self.state.sp) < 0x2000;
        rdi == signal as u64 && self.state.pc != before.pc && near(rsi) && near(rdx)
    }
}

impl Machine for Process {
    fn state(&self) -> State {
        self.state
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> usize {
        self.memory.read_at(bytes, address).unwrap_or(0)
    }

    fn decode(&self) -> Option<Decoded> {
        let mut bytes = [0; INSTRUCTION];
        let length = self.read(self.state.pc, &mut bytes);
        x86_64::decode(&bytes[..length], self.state.pc)
    }

    fn step(&mut self, instruction: Option<Decoded>) -> Result<Step> {
        let is_breakpoint = instruction.is_some_and(|one| one.kind == Kind::Breakpoint);
        let before = self.state;
        let delivered = self.pending.take();
        self.window.set(None);
        ptrace::step(self.id, delivered)?;
        loop {
            match waitpid(self.id, None)? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => break,
                WaitStatus::Stopped(_, signal) => {
                    // The instruction was not executed. The signal is delivered with the next step.
                    if delivered == Some(signal) && signal == Signal::SIGSEGV {
                        bail!("the program got {signal} twice at {:#x}", before.pc);
                    }
                    ptrace::step(self.id, signal)?;
                    let status = waitpid(self.id, None)?;
                    return self.after_signal(&before, signal, status);
                }
                WaitStatus::Exited(_, code) => {
                    return Ok(Step::Ended(format!("exit status {code}")));
                }
                WaitStatus::Signaled(_, signal, _) => {
                    return Ok(Step::Ended(format!("killed by {signal}")));
                }
                _ => {}
            }
        }
        self.state = state(&ptrace::getregs(self.id)?);
        if is_breakpoint && self.state.pc == before.pc + 1 {
            self.pending = Some(Signal::SIGTRAP);
        }
        match delivered {
            Some(signal) if self.is_in_handler(&before, signal) => Ok(Step::Handler(signal as i32)),
            _ => Ok(Step::Executed),
        }
    }

    fn run_to(&mut self, pc: u64, sp: u64) -> Result<Option<Step>> {
        self.run_until(pc, sp).map(Some)
    }

    fn modules(&mut self, library: &Library) -> Result<Modules> {
        // Another program has another memory.
        self.memory = File::open(format!("/proc/{}/mem", self.id))?;
        Modules::read(self.id.as_raw(), library)
    }

    fn mapped(&self, before: &State) -> Mapped {
        let [rax, rsi, rdi] = [0, 4, 5].map(|number| before.registers[number]);
        match rax.cast_signed() {
            libc::SYS_execve | libc::SYS_execveat if self.state.pc != before.pc + 2 => {
                Mapped::Other
            }
            libc::SYS_munmap => Mapped::Less(rdi, rdi.wrapping_add(rsi)),
            libc::SYS_mmap | libc::SYS_mprotect => Mapped::More,
            _ => Mapped::Same,
        }
    }

    fn pushes(&self) -> bool {
        true
    }
}

impl Memory for Process {
    fn word(&self, address: u64) -> Option<u64> {
        let mut window = self
            .window
            .get()
            .filter(|(start, _)| address.wrapping_sub(*start) <= WINDOW - 8);
        if window.is_none() {
            let mut bytes = [0; WINDOW as usize];
            let start = address.wrapping_sub(WINDOW - 8 - 16);
            if self.memory.read_exact_at(&mut bytes, start).is_ok() {
                window = Some((start, bytes));
                self.window.set(window);
            }
        }
        match window {
            Some((start, bytes)) => {
                let at = (address - start) as usize;
                Some(u64::from_le_bytes(*bytes[at..].first_chunk()?))
            }
            None => {
                let mut bytes = [0; 8];
                self.memory.read_exact_at(&mut bytes, address).ok()?;
                Some(u64::from_le_bytes(bytes))
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if ptrace::kill(self.id).is_ok() {
            let _ = waitpid(self.id, None);
        }
    }
}

fn state(from: &user_regs_struct) -> State {
    let mut registers = [0; REGISTERS];
    // The order of the System V ABI's figure 3.36.
    let named = [
        from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi, from.rbp, from.rsp, from.r8,
        from.r9, from.r10, from.r11, from.r12, from.r13, from.r14, from.r15,
    ];
    registers[..named.len()].copy_from_slice(&named);
    State {
        pc: from.rip,
        sp: from.rsp,
        fp: from.rbp,
        registers,
    }
}
