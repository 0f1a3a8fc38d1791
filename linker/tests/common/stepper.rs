//! Single-steps a process, and keeps its call stack: the ground truth about every frame.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use iced_x86::{Decoder, DecoderOptions, FlowControl};
use nix::libc::user_regs_struct;
use nix::sys::ptrace;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::oracle::Caller;

/// What an instruction does to the call stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallEffect {
    /// It may leave a frame: a return, or an indirect jump.
    Leaves,
    /// A call, of so many bytes.
    Calls(u64),
    Other,
}

/// A process that is stopped before an instruction.
pub struct Stepper {
    process: Pid,
    memory: File,
    /// By the instruction's address.
    kinds: HashMap<u64, CallEffect>,
    pub registers: user_regs_struct,
    /// The calls that have not returned, outermost first.
    pub callers: Vec<Caller>,
}

impl Stepper {
    /// Starts a program, up to its first instruction.
    #[expect(
        clippy::zombie_processes,
        reason = "`waitpid` waits for it, here and at each step"
    )]
    pub fn start(command: &mut Command) -> Self {
        let trace = || ptrace::traceme().map_err(Into::into);
        // SAFETY: between fork and exec only async-signal-safe code may run. `trace` makes one system call, and converts its
        // error number without allocation or locks.
        unsafe { command.pre_exec(trace) };
        let child = command.spawn().unwrap_or_else(|error| {
            panic!("{command:?}: {error}; this test runs a program under ptrace, which has to be permitted")
        });
        let process = Pid::from_raw(child.id().cast_signed());
        let stopped = waitpid(process, None).unwrap();
        assert!(matches!(stopped, WaitStatus::Stopped(..)), "{stopped:?}");
        Self {
            process,
            memory: File::open(format!("/proc/{process}/mem")).unwrap(),
            kinds: HashMap::new(),
            registers: ptrace::getregs(process).unwrap(),
            callers: Vec::new(),
        }
    }

    /// The word at an address.
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory.read_exact_at(&mut bytes, address).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Runs an instruction. `None`: the program has exited successfully.
    pub fn step(&mut self) -> Option<()> {
        let before = self.registers;
        let kind = self.kind(before.rip);
        ptrace::step(self.process, None).unwrap();
        match waitpid(self.process, None).unwrap() {
            WaitStatus::Stopped(_, nix::sys::signal::Signal::SIGTRAP) => {}
            WaitStatus::Exited(_, 0) => return None,
            other => panic!("{other:?}, at {:#x}", before.rip),
        }
        self.registers = ptrace::getregs(self.process).unwrap();
        let sp = self.registers.rsp;
        match kind {
            CallEffect::Calls(length) => self.callers.push(Caller {
                stack_pointer: before.rsp,
                return_address: before.rip + length,
                frame_pointer: before.rbp,
            }),
            CallEffect::Leaves => self.callers.retain(|caller| caller.stack_pointer > sp),
            CallEffect::Other => {}
        }
        Some(())
    }

    fn kind(&mut self, address: u64) -> CallEffect {
        if let Some(kind) = self.kinds.get(&address) {
            return *kind;
        }
        let mut code = [0; 15];
        let length = self.memory.read_at(&mut code, address).unwrap();
        let instruction = Decoder::new(64, &code[..length], DecoderOptions::NONE).decode();
        let kind = match instruction.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => {
                CallEffect::Calls(instruction.len() as u64)
            }
            FlowControl::Return | FlowControl::IndirectBranch => CallEffect::Leaves,
            _ => CallEffect::Other,
        };
        // `syscall` is none that anything is to be remembered of.
        let kind = match instruction.mnemonic() {
            iced_x86::Mnemonic::Syscall => CallEffect::Other,
            _ => kind,
        };
        self.kinds.insert(address, kind);
        kind
    }
}
