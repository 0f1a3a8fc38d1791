//! A program that runs in QEMU, one instruction after the other.

use std::process::{Child, Command, Stdio};

use qemu::stub::{Ran, Stub, bytes};
use tempfile::TempDir;
use unwind::Range;

use crate::big_endian::program::Program;
use crate::big_endian::target::Target;
use crate::support::user_mode;

/// Registers between two instructions.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub pc: u64,
    pub sp: u64,
    pub fp: u64,
    pub link: u64,
    /// In DWARF's order; zeros where rows name none of them.
    pub floating: [u64; 16],
}

/// The words of a stack, from the stack pointer on.
pub struct Words {
    pub range: Range,
    words: Vec<u64>,
}

impl Words {
    /// The word at this address.
    pub fn word(&self, address: u64) -> u64 {
        assert!(address.is_multiple_of(8), "unaligned read at {address:#x}");
        assert!(self.range.holds(address, 8), "stray read at {address:#x}");
        self.words[((address - self.range.start) / 8) as usize]
    }
}

pub struct Machine<'a> {
    target: &'a Target,
    stack: Range,
    stub: Stub,
    qemu: Child,
    _folder: TempDir,
}

impl<'a> Machine<'a> {
    /// Starts the program, and stops it before its first instruction.
    pub fn start(target: &'a Target, program: &Program) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let socket = folder.path().join("socket");
        let mut qemu = Command::new(target.emulator())
            .arg("-g")
            .arg(&socket)
            .arg(&program.path)
            .stdin(Stdio::null())
            .spawn()
            .expect("QEMU starts");
        let mut stub = user_mode::connect(&mut qemu, &socket);
        // Only who has asked for the description is told of single registers.
        stub.document("target.xml")
            .expect("QEMU describes registers");
        Self {
            target,
            stack: program.stack,
            stub,
            qemu,
            _folder: folder,
        }
    }

    /// Runs one instruction. `None`: it was the program's last.
    pub fn step(&mut self) -> Option<State> {
        match self.stub.step().expect("QEMU steps") {
            Ran::Stopped => Some(self.state()),
            Ran::Ended => None,
            Ran::StillRuns => panic!("an instruction does not end"),
        }
    }

    /// The registers now.
    pub fn state(&mut self) -> State {
        let general = self.words("g");
        let mut floating = [0; 16];
        if let Some(numbers) = self.target.floating {
            floating = numbers.map(|number| self.words(&format!("p{number:x}"))[0]);
        }
        let [pc, sp, fp, link] = self.target.registers.map(|index| general[index]);
        State {
            pc,
            sp,
            fp,
            link,
            floating,
        }
    }

    /// The words of an answer, which are in the program's byte order. One question at a time: QEMU for programs waits for each
    /// answer to be acknowledged, and would take the next question for that.
    fn words(&mut self, question: &str) -> Vec<u64> {
        let answer = bytes(&self.stub.ask(question).expect("QEMU answers"));
        assert!(!answer.is_empty(), "QEMU does not know {question}");
        let words = answer.as_chunks().0.iter();
        words.map(|word| u64::from_be_bytes(*word)).collect()
    }

    /// The program's stack now.
    pub fn stack(&mut self, state: &State) -> Words {
        const AT_ONCE: u64 = 1024;
        let range = Range::new(state.sp, self.stack.end);
        assert!(self.stack.start <= range.start, "the stack is too small");
        let mut words = Vec::new();
        for start in (range.start..range.end).step_by(AT_ONCE as usize) {
            let size = AT_ONCE.min(range.end - start);
            words.extend(self.words(&format!("m{start:x},{size:x}")));
        }
        assert_eq!(
            words.len() as u64 * 8,
            range.end - range.start,
            "the whole stack"
        );
        Words { range, words }
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        // It has ended, unless a test has failed.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}
