//! A machine that was stopped, and is looked at from outside.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Debug;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Processor;
use super::monitor::Monitor;
use super::source::{PAGE, PIECE, Source};
use crate::stub::{Answers, Reader, State, Stub, bytes};

/// Somebody who says in words where the CPUs of a stopped machine are.
pub trait Witness: Debug + Sync {
    /// QEMU has read the image, and the machine begins: another build from now on is none of it.
    fn begins(&self);

    /// What takes long and needs no machine is done here, while it still runs.
    fn prepare(&self);

    /// Looks at the machine, which was stopped for this reason.
    fn tell(&self, stopped: &mut Stopped<'_>, reason: &str) -> String;

    /// Keeps what a later look at it takes, if somebody wants that. What it told for this reason has been shown.
    fn keep(&self, stopped: &mut Stopped<'_>, reason: &str);
}

/// Somebody who counts what the CPUs of a machine do.
pub trait Observer: Debug + Sync {
    /// How long the machine runs from one look to the next.
    fn pause(&self) -> Duration;

    /// Looks at the machine, which has run for so long since the last look, and was stopped for this one only.
    ///
    /// # Errors
    /// When it does not answer.
    fn look(&self, stopped: &mut Stopped<'_>, ran: Duration) -> Result<()>;

    /// So many looks have failed while the machine ran on.
    fn missed(&self, looks: u32);
}

/// The way into the machine.
#[derive(Debug)]
pub(super) enum Door {
    /// QEMU's end of the line to its stub; the stub is not there yet.
    Closed(UnixStream),
    /// Open, with the pages that are known to be memory.
    Open(Stub, Reader, HashSet<u64>),
}

/// A machine that stands still.
#[derive(Debug)]
pub struct Stopped<'m> {
    monitor: &'m Monitor,
    stub: &'m mut Stub,
    reader: &'m Reader,
    memory: &'m mut HashSet<u64>,
    /// The CPU that the stub reads for.
    cpu: Option<usize>,
    /// The CPU and the address of the last piece that was asked for.
    last: Option<(usize, u64)>,
    /// How many pieces were read together the last time.
    together: u64,
    /// Pieces that were read before they are asked for.
    ahead: HashMap<(usize, u64), Box<Piece>>,
}

/// Bytes that are read at once.
type Piece = [u8; PIECE as usize];

/// The most pieces that are read together. If pieces are asked for one after the other, each read has twice as many as the read before: most
/// stacks are short, and in a long one the answers of QEMU's take longer than the bytes.
const TOGETHER: u64 = 256;

impl<'m> Stopped<'m> {
    /// Stops the machine.
    pub(super) fn new(monitor: &'m Monitor, door: &'m mut Door, arch: Processor) -> Result<Self> {
        monitor.execute("stop")?;
        Self::still(monitor, door, arch)
    }

    /// The machine, which stands still already.
    pub(super) fn still(monitor: &'m Monitor, door: &'m mut Door, arch: Processor) -> Result<Self> {
        if let Door::Closed(stream) = door {
            let said = monitor.type_in(&format!("gdbserver chardev:{}", Self::LINE), 0)?;
            if !said.starts_with("Waiting for gdb") {
                bail!(
                    "QEMU cannot start its gdb stub: {answer}",
                    answer = said.trim()
                );
            }
            let stream = stream.try_clone().context("cannot duplicate a socket")?;
            let mut stub = Stub::over(stream);
            stub.limit(Some(monitor.limit()))?;
            let reader = Reader::new(arch, &mut stub)?;
            *door = Door::Open(stub, reader, HashSet::new());
        }
        let Door::Open(stub, reader, memory) = door else {
            bail!("the connection to QEMU's gdb stub is not open");
        };
        Ok(Self {
            monitor,
            stub,
            reader,
            memory,
            cpu: None,
            last: None,
            together: 1,
            ahead: HashMap::new(),
        })
    }

    /// QEMU's name for the line to its stub.
    pub(super) const LINE: &'static str = "stub";

    /// The registers of a CPU.
    ///
    /// # Errors
    /// When the stub does not answer.
    pub fn state(&mut self, cpu: usize) -> Result<State> {
        self.choose(cpu)?;
        self.reader.read(self.stub)
    }

    /// What the stub says of a CPU, word for word, for whoever reads it later.
    ///
    /// # Errors
    /// When the stub does not answer.
    pub fn answers(&mut self, cpu: usize) -> Result<Answers> {
        self.choose(cpu)?;
        self.reader.all(self.stub)
    }

    /// Has QEMU write all memory to a file, compressed: the format of makedumpfile, which `crash` reads too.
    ///
    /// # Errors
    /// When QEMU cannot, as on a full disk.
    pub fn write_memory(&self, path: &Path) -> Result<()> {
        let shown = path.display();
        let name = path.to_str();
        let name = name.with_context(|| {
            format!("the path {shown} is not valid UTF-8, but QEMU accepts only UTF-8 paths")
        })?;
        self.monitor.dump(name)
    }

    /// Reads those of these pieces that are mapped as memory, as this CPU's page tables have them. Pages that are known to be memory stay so.
    fn read(&mut self, cpu: usize, starts: &[u64]) -> Result<()> {
        let pages: BTreeSet<u64> = starts.iter().map(|start| start & !(PAGE - 1)).collect();
        let lines: Vec<_> = pages.iter().map(|at| format!("gva2gpa {at:#x}")).collect();
        let said = self.monitor.type_in_all(&lines, cpu)?;
        let physical = said.iter().map(|said| {
            let digits = said.trim().strip_prefix("gpa: 0x")?;
            u64::from_str_radix(digits, 16).ok()
        });
        let mapped = pages.into_iter().zip(physical);
        let mapped: HashMap<u64, u64> = mapped.filter_map(|(at, of)| Some((at, of?))).collect();
        let unknown = mapped.values().filter(|page| !self.memory.contains(page));
        let unknown: Vec<u64> = unknown.copied().collect();
        let lines: Vec<_> = unknown
            .iter()
            .map(|at| format!("gpa2hva {at:#x}"))
            .collect();
        let hosts = self.monitor.type_in_all(&lines, cpu)?;
        for (page, host) in unknown.into_iter().zip(hosts) {
            if host.starts_with("Host virtual address") {
                self.memory.insert(page);
            }
        }
        let is_memory = |start: &&u64| {
            let physical = mapped.get(&(**start & !(PAGE - 1)));
            physical.is_some_and(|page| self.memory.contains(page))
        };
        let starts: Vec<u64> = starts.iter().filter(is_memory).copied().collect();
        if starts.is_empty() {
            return Ok(());
        }
        self.choose(cpu)?;
        let questions: Vec<_> = starts
            .iter()
            .map(|at| format!("m{at:x},{PIECE:x}"))
            .collect();
        let questions: Vec<_> = questions.iter().map(String::as_str).collect();
        for (start, digits) in starts.into_iter().zip(self.stub.ask_all(&questions)?) {
            if let Ok(piece) = bytes(&digits).into_boxed_slice().try_into() {
                self.ahead.insert((cpu, start), piece);
            }
        }
        Ok(())
    }

    fn choose(&mut self, cpu: usize) -> Result<()> {
        if self.cpu != Some(cpu) {
            // The stub counts from 1.
            let answer = self.stub.ask(&format!("Hg{:x}", cpu + 1))?;
            if answer != b"OK" {
                bail!("QEMU's gdb stub has no CPU {cpu}");
            }
            self.cpu = Some(cpu);
        }
        Ok(())
    }
}

impl Source for Stopped<'_> {
    fn cpus(&mut self) -> Result<Vec<bool>> {
        let mut halted = Vec::new();
        let mut list = self.stub.ask("qfThreadInfo")?;
        while let Some(threads) = list.strip_prefix(b"m") {
            for thread in threads.split(|byte| *byte == b',') {
                let thread = String::from_utf8_lossy(thread);
                let said = self.stub.ask(&format!("qThreadExtraInfo,{thread}"))?;
                halted.push(String::from_utf8_lossy(&bytes(&said)).contains("halted"));
            }
            list = self.stub.ask("qsThreadInfo")?;
        }
        if halted.is_empty() {
            bail!("QEMU's gdb stub lists no CPU");
        }
        Ok(halted)
    }

    fn state(&mut self, cpu: usize) -> Result<State> {
        Stopped::state(self, cpu)
    }

    fn piece(&mut self, cpu: usize, address: u64) -> Option<Box<Piece>> {
        let start = address & !(PIECE - 1);
        let before = self.last.replace((cpu, start));
        if !self.ahead.contains_key(&(cpu, start)) {
            let follows = before == Some((cpu, start.wrapping_sub(PIECE)));
            self.together = match follows {
                true => TOGETHER.min(self.together * 2),
                false => 1,
            };
            let starts = (0..self.together).map_while(|number| start.checked_add(number * PIECE));
            self.read(cpu, &starts.collect::<Vec<_>>()).ok()?;
        }
        self.ahead.remove(&(cpu, start))
    }
}
