//! What the two architectures call things.

use std::path::PathBuf;

use unwind::sframe::{Base, Rule};
use unwind::{aarch64, s390x};

use crate::big_endian::machine::{State, Words};
use crate::big_endian::program::Program;
use crate::big_endian::walk::{Section, Walked, walk};

/// An architecture: its compiler, its emulator, its registers.
pub struct Target {
    pub name: &'static str,
    /// The file with its first function.
    pub source: &'static str,
    /// The compiler and its package, the emulator.
    compiler: [&'static str; 2],
    emulator: &'static str,
    /// Options of the compiler: always, and one set after the other.
    pub always: &'static [&'static str],
    pub options: &'static [&'static str],
    /// Where the stub's answer to `g` has pc, sp, the frame pointer and the link register, in words.
    pub registers: [usize; 4],
    /// The stub's numbers of the floating-point registers, in DWARF's order, if rows name them.
    pub floating: Option<[u32; 16]>,
}

/// Big-endian, with return addresses that are signed, too. The assembler makes tables of its own.
pub const AARCH64: Target = Target {
    name: "aarch64_be",
    source: "aarch64",
    compiler: ["aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"],
    emulator: "qemu-aarch64_be",
    always: &["-mbig-endian", "-march=armv8.3-a", "-Wa,--gsframe"],
    options: &[
        "-O0",
        "-O1",
        "-O2",
        "-Os -fomit-frame-pointer",
        "-O2 -mbranch-protection=pac-ret+leaf",
    ],
    registers: [32, 31, 29, 30],
    floating: None,
};

/// Leaf functions keep general registers in floating-point ones from z10 on.
pub const S390X: Target = Target {
    name: "s390x",
    source: "s390x",
    compiler: ["s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu"],
    emulator: "qemu-s390x",
    always: &["-march=z10"],
    options: &["-O1", "-O2", "-Os", "-O2 -mbackchain"],
    // After the mask and the address of the program status word.
    registers: [1, 2 + 15, 2 + 11, 2 + 14],
    floating: Some(FLOATING),
};

/// QEMU counts 18 general registers, 16 access registers and a control register before them. DWARF's order: "ELF Application
/// Binary Interface, s390x Supplement", section "DWARF Register Number Mapping".
const FLOATING: [u32; 16] = {
    let order = [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15];
    let mut numbers = [0; 16];
    let mut index = 0;
    while index < numbers.len() {
        numbers[index] = 18 + 16 + 1 + order[index];
        index += 1;
    }
    numbers
};

/// All bits above those of an address, the half's left out: QEMU's signed addresses have their code in some of them.
const AUTHENTICATION_BITS: u64 = 0xff7f << 48;

impl Target {
    /// The compiler.
    pub fn compiler(&self) -> PathBuf {
        let [program, package] = self.compiler;
        tool(program, package)
    }

    /// The emulator of programs.
    pub fn emulator(&self) -> PathBuf {
        tool(self.emulator, "qemu-user")
    }

    /// Walks from this state.
    pub fn walk(
        &self,
        tables: &Section,
        program: &Program,
        state: &State,
        stack: &Words,
    ) -> Walked {
        let &State {
            pc, sp, fp, link, ..
        } = state;
        match self.floating {
            None => {
                let registers = aarch64::Registers::new(pc, sp, fp, link);
                let registers = registers.with_authentication_bits(AUTHENTICATION_BITS);
                walk(tables, program, registers, stack)
            }
            Some(_) => {
                let mut registers = s390x::Registers::new(pc, sp, fp, link);
                registers.floating = Some(state.floating);
                walk(tables, program, registers, stack)
            }
        }
    }

    /// Whether the row at this address finds a register in a floating-point one.
    pub fn saves_in_registers(&self, tables: &Section, pc: u64) -> bool {
        let row = tables.tables().lookup(pc);
        let is_floating = |rule| match rule {
            Rule::Value {
                base: Base::Register(number),
                ..
            } => (s390x::F0..s390x::F0 + 16).contains(&number),
            _ => false,
        };
        self.floating.is_some()
            && row.is_ok_and(|(_, row)| {
                is_floating(row.return_address) || is_floating(row.frame_pointer)
            })
    }

    /// Whether so many rows like that were met: some where the architecture has them, else none.
    pub fn is_right_share(&self, count: u32) -> bool {
        (count > 0) == self.floating.is_some()
    }
}

fn tool(program: &str, package: &str) -> PathBuf {
    let target = setup::workspace::target_folder().expect("the target folder");
    setup::program(program, package, &target).expect("a tool is to be had")
}
