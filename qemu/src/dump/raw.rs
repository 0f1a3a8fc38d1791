//! What somebody's debugger has read of a machine: files of memory, and registers as text.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::segments::Segments;
use crate::hardware::Processor;
use crate::machine::{PIECE, Source};
use crate::stub::{KnownArm, KnownArm32, KnownX86, State};

/// The line before the registers of a further CPU, with its number.
const CPU: &str = "cpu ";

/// Where a file of memory lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    address: u64,
    file: PathBuf,
}

impl Place {
    /// Reads it from a command line: `ADDRESS=FILE`.
    ///
    /// # Errors
    /// What it should be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=');
        let (address, file) = parts.ok_or("expected ADDRESS=FILE, for example 0x80000=ram.bin")?;
        let address =
            number(address).ok_or("expected a hexadecimal address, for example 0x80000")?;
        let file = file.into();
        Ok(Self { address, file })
    }
}

/// Hexadecimal digits, behind `0x` or not.
fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).ok()
}

/// A machine of which somebody has read registers and memory.
#[derive(Clone, Debug)]
pub struct Raw {
    states: Vec<State>,
    memory: Segments,
}

impl Raw {
    /// Reads the files.
    ///
    /// # Errors
    /// When one cannot be read, or registers are missing without which there is no walk.
    pub fn read(registers: &Path, memory: &[Place], arch: Processor) -> Result<Self> {
        let shown = registers.display();
        let text = fs::read(registers).with_context(|| format!("cannot read {shown}"))?;
        let states = states(&String::from_utf8_lossy(&text), arch);
        let read = |place: &Place| {
            let bytes = fs::read(&place.file);
            let bytes = bytes.with_context(|| format!("cannot read {}", place.file.display()))?;
            if place.address.checked_add(bytes.len() as u64).is_none() {
                let file = place.file.display();
                bail!("{file} extends past the end of the address space");
            }
            Ok((place.address, bytes))
        };
        Ok(Self {
            states: states.with_context(|| shown.to_string())?,
            memory: Segments(memory.iter().map(read).collect::<Result<_>>()?),
        })
    }
}

/// The registers of each CPU.
fn states(text: &str, arch: Processor) -> Result<Vec<State>> {
    let mut cpus: Vec<Vec<&str>> = vec![Vec::new()];
    for line in text.lines() {
        let number = line.trim().strip_prefix(CPU).map(str::parse::<usize>);
        let last = cpus.len() - 1;
        match number {
            None => cpus[last].push(line),
            Some(Ok(0)) if last == 0 => {}
            Some(Ok(number)) if number == last + 1 => cpus.push(Vec::new()),
            Some(_) => bail!(
                "unexpected line `{found}`: expected `cpu {expected}`",
                found = line.trim(),
                expected = last + 1
            ),
        }
    }
    let cpus = cpus.iter().enumerate();
    let states = cpus.map(|(cpu, lines)| {
        let given = Given(lines);
        let state = state(&given, arch).and_then(|state| match arch {
            // Without it, they would be those behind a call.
            Processor::Armv7a => given.expect("lr").map(|_| state),
            Processor::X86_64 | Processor::Aarch64 => Ok(state),
        });
        state.with_context(|| format!("cannot use the registers of cpu {cpu}"))
    });
    states.collect()
}

/// Lines with registers, as debuggers write them: `pc 0x80000`, `pc = 0x80000`, `(32) pc (/64): 0x80000`, or with more behind the number.
struct Given<'a>(&'a [&'a str]);

impl Given<'_> {
    /// The first number behind this word.
    fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find_map(|line| {
            let words = line.split(|c: char| c.is_whitespace() || ":=".contains(c));
            let mut words = words.skip_while(|word| !word.eq_ignore_ascii_case(name));
            words.next()?;
            words.find_map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok())
        })
    }

    fn expect(&self, name: &str) -> Result<u64> {
        self.get(name).with_context(|| {
            format!("register {name} is missing: expected a line such as `{name} 0x1234`")
        })
    }
}

/// The registers in this line.
pub(super) fn state_in(line: &str, arch: Processor) -> Result<State> {
    state(&Given(&[line]), arch)
}

fn state(given: &Given<'_>, arch: Processor) -> Result<State> {
    Ok(match arch {
        Processor::X86_64 => State::from(KnownX86 {
            pc: given.expect("rip")?,
            sp: given.expect("rsp")?,
            fp: given.expect("rbp")?,
            r10: given.get("r10"),
            r11: given.get("r11"),
            flags: given.get("eflags").or_else(|| given.get("rflags")),
            cs: given.get("cs"),
            efer: given.get("efer"),
        }),
        Processor::Aarch64 => State::from(KnownArm {
            pc: given.expect("pc")?,
            sp: given.expect("sp")?,
            fp: given.expect("x29")?,
            link: given.expect("x30")?,
            x9: given.get("x9"),
            flags: given.get("cpsr"),
            elr: given.get("ELR_EL1"),
            sp_el0: given.get("SP_EL0"),
            spsr: given.get("SPSR_EL1"),
        }),
        Processor::Armv7a => State::from(KnownArm32 {
            pc: given.expect("pc")?,
            sp: given.expect("sp")?,
            fp: given.expect("r11")?,
            link: given.get("lr"),
            others: std::array::from_fn(|number| given.get(&format!("r{number}"))),
            flags: given.get("cpsr"),
        }),
    })
}

impl Source for Raw {
    fn cpus(&mut self) -> Result<Vec<bool>> {
        Ok(vec![false; self.states.len()])
    }

    fn state(&mut self, cpu: usize) -> Result<State> {
        let state = self.states.get(cpu).context("unknown CPU")?;
        Ok(*state)
    }

    /// All CPUs see the same.
    fn piece(&mut self, _: usize, address: u64) -> Option<Box<[u8; PIECE as usize]>> {
        self.memory.piece(address)
    }

    fn knows(&self, address: u64, bytes: u64) -> bool {
        self.memory.know(address, bytes)
    }
}

#[cfg(test)]
mod tests {
    use unwind::aarch64;

    use super::*;
    use crate::stub::{Level, Registers};

    #[test]
    fn registers_are_read_as_debuggers_write_them() {
        let of_openocd = "===== arm v8 registers\n(29) x29 (/64): 0x0000000000084f70\n(30) x30 (/64): 0x80123\n\
             (31) sp (/64): 0x84f60\n(32) pc (/64): 0x0000000000080100\n(33) cpsr (/32): 0x000003c5\n";
        let of_gdb = "x29            0x84f70             544624\nx30            0x80123             524579\n\
             sp             0x84f60             0x84f60\npc             0x80100             0x80100 <main+4>\n\
             cpsr           0x3c5               [ EL=1 ]\n";
        let by_hand = "PC = 0x80100\nSP = 0x84f60\nX29 = 0x84f70\nX30 = 0x80123\ncpsr=0x3c5\n";
        for text in [of_openocd, of_gdb, by_hand] {
            let states = states(text, Processor::Aarch64).expect(text);
            let mut expected = aarch64::Registers::new(0x8_0100, 0x8_4f60, 0x8_4f70, 0x8_0123);
            expected.user = false;
            let [state] = states[..] else {
                panic!("{states:?}");
            };
            assert_eq!(state.registers, Registers::Arm(expected));
            assert!(state.is_masked && state.level == Level::Kernel);
        }
        // A hypervisor's caller is not where EL1 was entered from.
        for (cpsr, is_own) in [("0x3c5", true), ("0x3c9", false)] {
            let text = by_hand.replace("0x3c5", cpsr) + "ELR_EL1 0x80200\n";
            let states = states(&text, Processor::Aarch64).expect(&text);
            let Registers::Arm(registers) = states[0].registers else {
                panic!("{states:?}");
            };
            assert_eq!(registers.elr.is_some(), is_own, "{text}");
        }
    }

    /// Whoever has read them may have named the image of another build.
    #[test]
    fn registers_do_not_show_what_image_ran() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("registers");
        fs::write(&file, "rip 0x1\nrsp 0x2\nrbp 0x3\n").expect("a file can be written");
        let raw = Raw::read(&file, &[], Processor::X86_64).expect("it is whole");
        assert!(!raw.is_of_image());
    }

    #[test]
    fn cpus_follow_each_other() {
        let one = |rip: u64| format!("rip {rip:#x}\nrsp 0x20\nrbp 0x30\ncs 0x33\n");
        let text = format!("cpu 0\n{}cpu 1\n{}", one(1), one(2));
        let read = states(&text, Processor::X86_64).expect("both are whole");
        assert_eq!(
            read.iter().map(|state| state.pc).collect::<Vec<_>>(),
            [1, 2]
        );
        assert!(read.iter().all(|state| state.level == Level::User));
        for (text, says) in [
            (
                one(1) + "cpu 2\n" + &one(2),
                "unexpected line `cpu 2`: expected `cpu 1`",
            ),
            (
                one(1) + "cpu x\n",
                "unexpected line `cpu x`: expected `cpu 1`",
            ),
            (
                "rip 0x1\nrsp 0x2\n".to_owned(),
                "cannot use the registers of cpu 0: register rbp is missing",
            ),
            (
                String::new(),
                "cannot use the registers of cpu 0: register rip is missing",
            ),
            (one(1).replace("0x1", "1"), "rip is missing"),
        ] {
            let error = states(&text, Processor::X86_64).expect_err(&text);
            assert!(format!("{error:#}").contains(says), "{error:#}");
        }
    }
}
