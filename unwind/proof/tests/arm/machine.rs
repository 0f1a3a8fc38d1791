//! A program that runs in QEMU, one instruction after the other.

use std::process::{Child, Command, Stdio};

use qemu::stub::{Ran, Stub, bytes};
use tempfile::TempDir;
use unwind::Range;

use crate::arm::program::Program;
use crate::support::user_mode;

/// `r0` to `r15`.
pub type Core = [u32; 16];

/// The words of a stack, from the stack pointer on.
pub struct Words {
    pub range: Range,
    words: Vec<u32>,
}

impl Words {
    /// The word at this address.
    pub fn word(&self, address: u64) -> u64 {
        assert!(address.is_multiple_of(4), "unaligned read at {address:#x}");
        assert!(self.range.holds(address, 4), "stray read at {address:#x}");
        self.words[((address - self.range.start) / 4) as usize].into()
    }
}

pub struct Machine {
    stack: Range,
    stub: Stub,
    qemu: Child,
    _folder: TempDir,
}

impl Machine {
    /// Starts the program, and stops it where its stack is set.
    pub fn start(program: &Program) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let socket = folder.path().join("socket");
        let target = setup::workspace::target_folder().expect("the target folder");
        let emulator = setup::program("qemu-arm", "qemu-user", &target);
        let mut qemu = Command::new(emulator.expect("QEMU is to be had"))
            .arg("-g")
            .arg(&socket)
            .arg(&program.path)
            .stdin(Stdio::null())
            .spawn()
            .expect("QEMU starts");
        let stub = user_mode::connect(&mut qemu, &socket);
        let mut machine = Self {
            stack: program.stack,
            stub,
            qemu,
            _folder: folder,
        };
        // Only who has asked for the description gets registers without those of old floating point between them.
        machine
            .stub
            .document("target.xml")
            .expect("QEMU describes registers");
        while u64::from(machine.core()[15]) != program.stack_is_set {
            assert!(machine.step(), "the program sets its stack");
        }
        machine
    }

    /// Runs one instruction. `false`: it was the program's last.
    pub fn step(&mut self) -> bool {
        match self.stub.step().expect("QEMU steps") {
            Ran::Stopped => true,
            Ran::Ended => false,
            Ran::StillRuns => panic!("an instruction does not end"),
        }
    }

    /// The registers now.
    pub fn core(&mut self) -> Core {
        *self.words("g").first_chunk().expect("all registers")
    }

    fn words(&mut self, question: &str) -> Vec<u32> {
        let answer = bytes(&self.stub.ask(question).expect("QEMU answers"));
        assert!(!answer.is_empty(), "QEMU does not know {question}");
        let words = answer.as_chunks().0.iter();
        words.map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// The program's stack now.
    pub fn stack(&mut self, sp: u32) -> Words {
        const AT_ONCE: u64 = 1024;
        let range = Range::new(sp.into(), self.stack.end);
        assert!(self.stack.start <= range.start, "the stack is too small");
        let mut words = Vec::new();
        for start in (range.start..range.end).step_by(AT_ONCE as usize) {
            let size = AT_ONCE.min(range.end - start);
            words.extend(self.words(&format!("m{start:x},{size:x}")));
        }
        assert_eq!(words.len() as u64 * 4, range.end - range.start);
        Words { range, words }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It has ended, unless a test has failed.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}
