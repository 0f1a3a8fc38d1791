//! Steps a static program of AArch64 or 32-bit ARM in QEMU's user-mode emulator, through the stub for gdb.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use unwind::sframe::Row;

use crate::arms;
use crate::machine::{Decoded, Machine, Mapped, Memory, REGISTERS, State, Step};
use crate::modules::{Library, Modules};

/// Offset of CPSR in the stub's answer, behind 16 registers and the nine of an old floating-point unit.
const STATUS: usize = 16 * 4 + 8 * 12 + 4;
/// Bytes read at once.
const WINDOW: u64 = 64;

/// The instruction set of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// AArch64.
    A64,
    /// 32-bit ARM, ARM and Thumb code.
    A32,
}

/// A program in the emulator.
#[derive(Debug)]
pub struct Emulated {
    arm: Arm,
    child: Child,
    stub: RefCell<Stub>,
    path: PathBuf,
    state: State,
    is_thumb: bool,
    window: Cell<Option<(u64, [u8; WINDOW as usize])>>,
}

/// The connection to the stub.
#[derive(Debug)]
struct Stub {
    stream: UnixStream,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are used already.
    used: usize,
}

impl Emulated {
    /// Starts a program, up to its first instruction. `socket` is a path for the connection that does not exist yet.
    ///
    /// # Errors
    /// Returns an error if the emulator cannot be started, or does not answer.
    pub fn start(arm: Arm, path: &Path, socket: &Path) -> Result<Self> {
        let emulator = match arm {
            Arm::A64 => "qemu-aarch64",
            Arm::A32 => "qemu-arm",
        };
        let _ = std::fs::remove_file(socket);
        let mut command = Command::new(emulator);
        command
            .arg("-g")
            .arg(socket)
            .arg(path)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {emulator}"))?;
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) => {
                    if let Some(status) = child.try_wait()? {
                        bail!(
                            "{emulator} exited before the stepper could connect to it: {status}, {error}"
                        );
                    }
                    std::thread::yield_now();
                }
            }
        };
        let stub = Stub {
            stream,
            buffer: Vec::new(),
            used: 0,
        };
        let mut emulated = Self {
            arm,
            child,
            stub: RefCell::new(stub),
            path: path.to_owned(),
            state: State {
                pc: 0,
                sp: 0,
                fp: 0,
                registers: [0; REGISTERS],
            },
            is_thumb: false,
            window: Cell::new(None),
        };
        emulated.fetch()?;
        Ok(emulated)
    }

    /// Reads the registers.
    fn fetch(&mut self) -> Result<()> {
        let answer = self.stub.get_mut().ask("g")?;
        let bytes = bytes_of(&answer)
            .context("the emulator sent registers that are not hexadecimal numbers")?;
        let mut registers = [0; REGISTERS];
        let size = match self.arm {
            Arm::A64 => 8,
            Arm::A32 => 4,
        };
        for (register, bytes) in registers.iter_mut().zip(bytes.chunks(size)) {
            *register = bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        if self.arm == Arm::A32 {
            let status = bytes.get(STATUS).context("no CPSR")?;
            // Bit T.
            self.is_thumb = status & 1 << 5 != 0;
            registers[16..].fill(0);
        }
        let [fp, sp, pc] = match self.arm {
            Arm::A64 => [29, 31, 32],
            Arm::A32 => [11, 13, 15],
        };
        self.state = State {
            pc: registers[pc],
            sp: registers[sp],
            fp: registers[fp],
            registers,
        };
        Ok(())
    }
}

impl Machine for Emulated {
    fn state(&self) -> State {
        self.state
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> usize {
        let mut read = 0;
        for part in bytes.chunks_mut(0x400) {
            let question = format!("m{:x},{:x}", address + read as u64, part.len());
            let answer = self.stub.borrow_mut().ask(&question).ok();
            let Some(answer) = answer
                .filter(|answer| answer.first() != Some(&b'E'))
                .and_then(|answer| bytes_of(&answer))
            else {
                break;
            };
            let length = answer.len().min(part.len());
            part[..length].copy_from_slice(&answer[..length]);
            read += length;
            if length < part.len() {
                break;
            }
        }
        read
    }

    fn decode(&self) -> Option<Decoded> {
        let mut bytes = [0; 4];
        let length = self.read(self.state.pc, &mut bytes);
        let bytes = &bytes[..length];
        match (self.arm, self.is_thumb) {
            (Arm::A64, _) => arms::a64(bytes),
            (Arm::A32, false) => arms::a32(bytes),
            (Arm::A32, true) => arms::thumb(bytes),
        }
    }

    fn step(&mut self, _: Option<Decoded>) -> Result<Step> {
        self.window.set(None);
        let answer = self.stub.get_mut().ask("s")?;
        match answer.first() {
            Some(b'T' | b'S') => {}
            _ => {
                return Ok(Step::Ended(format!(
                    "stub: {}",
                    String::from_utf8_lossy(&answer)
                )));
            }
        }
        if !answer[1..].starts_with(b"05") {
            return Ok(Step::Ended(format!(
                "signal: {}",
                String::from_utf8_lossy(&answer)
            )));
        }
        self.fetch()?;
        Ok(Step::Executed)
    }

    fn modules(&mut self, library: &Library) -> Result<Modules> {
        Modules::of(&self.path, library)
    }

    fn mapped(&self, _: &State) -> Mapped {
        Mapped::Same
    }

    fn pushes(&self) -> bool {
        false
    }

    fn strip(&self, address: u64, row: &Row) -> u64 {
        match self.arm {
            Arm::A32 => address & !1,
            // User addresses have 48 bits.
            Arm::A64 if row.signed => address & 0xffff_ffff_ffff,
            Arm::A64 => address,
        }
    }
}

impl Memory for Emulated {
    fn word(&self, address: u64) -> Option<u64> {
        let size = match self.arm {
            Arm::A64 => 8,
            Arm::A32 => 4,
        };
        let mut window = self
            .window
            .get()
            .filter(|(start, _)| address.wrapping_sub(*start) <= WINDOW - 8);
        if window.is_none() {
            let mut bytes = [0; WINDOW as usize];
            let start = address.wrapping_sub(WINDOW / 2);
            if self.read(start, &mut bytes) == bytes.len() {
                window = Some((start, bytes));
                self.window.set(window);
            }
        }
        let mut bytes = [0; 8];
        match window {
            Some((start, all)) => {
                bytes[..size].copy_from_slice(&all[(address - start) as usize..][..size])
            }
            None if self.read(address, &mut bytes[..size]) == size => {}
            None => return None,
        }
        Some(u64::from_le_bytes(bytes))
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stub {
    /// Sends a packet, and returns the answer.
    fn ask(&mut self, question: &str) -> Result<Vec<u8>> {
        let sum = question.bytes().fold(0_u8, u8::wrapping_add);
        let mut packet = String::new();
        write!(packet, "${question}#{sum:02x}")?;
        self.stream.write_all(packet.as_bytes())?;
        loop {
            if self.byte()? == b'$' {
                break;
            }
        }
        let mut answer = Vec::new();
        loop {
            match self.byte()? {
                b'#' => break,
                b'*' => {
                    let count = self.byte()?.saturating_sub(29);
                    let last = answer.last().copied().unwrap_or_default();
                    answer.extend(std::iter::repeat_n(last, count.into()));
                }
                b'}' => {
                    let byte = self.byte()? ^ 0x20;
                    answer.push(byte);
                }
                byte => answer.push(byte),
            }
        }
        let _ = (self.byte()?, self.byte()?);
        // The stub repeats an answer until it gets this.
        self.stream.write_all(b"+")?;
        Ok(answer)
    }

    fn byte(&mut self) -> Result<u8> {
        if self.used == self.buffer.len() {
            self.buffer.resize(4096, 0);
            let read = self.stream.read(&mut self.buffer)?;
            if read == 0 {
                bail!("the emulator has closed the connection");
            }
            self.buffer.truncate(read);
            self.used = 0;
        }
        self.used += 1;
        Ok(self.buffer[self.used - 1])
    }
}

fn bytes_of(hexadecimal: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        // A register that is not known.
        [b'x', _] => Some(0),
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    };
    hexadecimal.chunks(2).map(byte).collect()
}
